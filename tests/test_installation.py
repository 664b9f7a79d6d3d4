"""What a message tells people to install."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from metajudge.installation import install_command, namesake


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


@pytest.mark.parametrize(
    "use", ["import metajudge.cli.vet", "from metajudge import voting; voting.kemeny([['a', 'b']])"]
)
def test_what_needs_no_statistics_does_not_load_them(use):
    """A quarter of a second at every start."""
    code = f"import sys; {use}; print([m for m in ('scipy', 'sklearn', 'pandas', 'duckdb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
