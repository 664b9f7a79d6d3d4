"""The package list of pyproject.toml against the tree, and what the package ships."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
