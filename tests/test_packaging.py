"""What is packaged, what is installed and how that is said, and what an import offers."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import metajudge
from metajudge.installation import install_command, namesake

ROOT = Path(__file__).parents[1]
MAPPED = {"api": "metajudge.api", "benchmarks": "metajudge.benchmarks", "rubrics": "metajudge.rubric_files"}


def packages_in_tree():
    for top in ("metajudge", *MAPPED):
        for init in (ROOT / top).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            yield ".".join((MAPPED.get(parts[0], parts[0]), *parts[1:]))


def setuptools():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_package_is_listed_and_the_top_level_folders_are_mapped_into_the_package():
    assert sorted(setuptools()["packages"]) == sorted(packages_in_tree())
    assert setuptools()["package-dir"] == {package: folder for folder, package in MAPPED.items()}


def test_data_files_are_found_through_the_package():
    for package, name in [
        ("metajudge.rubric_files", "short.yaml"),
        ("metajudge.rubric_files", "rubric.schema.json"),
        ("metajudge.prompts", "v1/system.md.j2"),
        ("metajudge.benchmarks.sample", "judgments.jsonl"),
        ("metajudge.store", "migrations/sqlite/0001_initial.sql"),
        ("metajudge", "py.typed"),
    ]:
        assert files(package).joinpath(name).is_file(), f"{package}/{name}"


def test_every_data_file_matches_a_package_data_pattern():
    """A file that no pattern names is missing from the wheel, and only there."""
    folders = {package: folder for folder, package in MAPPED.items()}
    patterns = [
        (ROOT / folders.get(package, package.replace("metajudge.benchmarks", "benchmarks").replace(".", "/")), glob)
        for package, globs in setuptools()["package-data"].items()
        for glob in globs
    ]
    shipped = {path for folder, glob in patterns for path in folder.glob(glob)}
    data = {
        path
        for top in ("metajudge", "api", "benchmarks", "rubrics")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and "results" not in path.parts
    }
    assert data <= shipped, sorted(str(path.relative_to(ROOT)) for path in data - shipped)


LOCKED = {
    "base": (),
    "service": ("api", "otel", "postgres"),
    "dev": ("api", "dev", "inputs", "inspect", "mcp", "otel", "postgres"),
}


@pytest.mark.parametrize("name", LOCKED)
def test_locked_versions_have_digests_and_lie_within_the_ranges(name):
    versions, every = locked(name), locked("dev")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in LOCKED[name]:
        wanted += project["optional-dependencies"][extra]
    for one in map(Requirement, wanted):
        if canonicalize_name(one.name) != "metajudge-vet":
            assert any(one.specifier.contains(version) for version in versions[canonicalize_name(one.name)]), str(one)
    assert versions.items() <= every.items()


def locked(name):
    """Package -> the versions that ``requirements/NAME.txt`` gives it, one for each kind of machine."""
    found = {}
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if not line.startswith("#"):
            package, version = re.match(r"(\S+?)==(\S+)", line).groups()
            assert "--hash=sha256:" in line, f"{package} has no digest"
            found.setdefault(canonicalize_name(package.partition("[")[0]), set()).add(version)
    return found


@pytest.fixture
def installed_from(tmp_path, monkeypatch):
    """Pretends, on disk, that this copy was installed from somewhere."""

    def pretend(direct_url):
        folder = tmp_path / "metajudge_vet-0.1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: metajudge-vet\nVersion: 0.1.0\n")
        if direct_url is not None:
            (folder / "direct_url.json").write_text(json.dumps(direct_url))
        there = metadata.Distribution.at(folder)
        monkeypatch.setattr(metadata, "distribution", lambda _name: there)

    return pretend


def test_from_an_editable_checkout_the_command_names_it(installed_from, tmp_path):
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    installed_from({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    assert install_command("api") == f"pip install -e '{checkout}[api]'"


def test_from_a_checkout_that_is_gone_the_command_speaks_of_a_checkout(installed_from, tmp_path):
    installed_from({"url": (tmp_path / "gone").as_uri(), "dir_info": {}})
    assert install_command("api") == "pip install '.[api]' in a checkout of metajudge"


def test_from_git_the_command_names_url_and_revision(installed_from):
    installed_from({"url": "https://git.example/me/metajudge", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert install_command("api") == "pip install 'metajudge-vet[api] @ git+https://git.example/me/metajudge@abc'"


@pytest.mark.parametrize("said", [None, "text", {"url": 3}, {}])
def test_where_the_origin_is_unknown_no_name_of_a_package_index_is_suggested(installed_from, said):
    installed_from(said)
    assert install_command() == "pip install '.' in a checkout of metajudge"


def test_the_other_project_with_our_import_name_is_found(tmp_path):
    assert namesake() is None
    other = tmp_path / "metajudge-0.3.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: metajudge\nVersion: 0.3.0\n")
    code = "from metajudge.vetting.readiness import check_python; print([c.finding for c in check_python() if c.state == 'error'])"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path)}
    ).stdout
    assert "metajudge 0.3.0 is another project with the same import name" in said
    assert "pip uninstall metajudge metajudge-vet" in said


def test_an_unknown_name_is_an_attribute_error():
    try:
        metajudge.nothing_of_the_kind  # noqa: B018
    except AttributeError as error:
        assert "nothing_of_the_kind" in str(error)
    else:
        raise AssertionError("no error")


def test_version_matches_the_distribution():
    from importlib.metadata import version

    assert version("metajudge-vet") == metajudge.__version__
