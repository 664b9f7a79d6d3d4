"""``metajudge bench reliability`` as a user types it, against a real server."""

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli import bench as bench_cli
from metajudge.errors import MetajudgeError
from tests.doubles.reliability import pair

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(pair(n).model_dump_json(exclude_none=True) + "\n" for n in range(8)))
    return path


def test_what_makes_no_sense_is_refused_before_any_call(run, data, tmp_path):
    def refused(*words):
        result = run("reliability", *words)
        assert isinstance(result.exception, MetajudgeError) or result.exit_code == 2, result.output
        return str(result.exception) + result.output

    assert "give --data" in refused()
    assert "give --judge" in refused("--data", data)
    assert "--targeted-third needs" in refused("--data", data, "--judge", "openai:x", "--runs", "1", "--targeted-third")
    (tmp_path / "other.jsonl").write_text('{"prompt": "x"}\n')
    assert "no labelled pairs" in refused("--data", "other.jsonl", "--judge", "openai:x")
    assert "is a folder: name one file" in refused("--data", tmp_path, "--judge", "openai:x")
    assert "sample of 99" in refused("--data", data, "--judge", "openai:x", "--sample", "99")
    assert "No such option: --threshold" in refused("--data", data, "--judge", "openai:x", "--threshold", "4")
    assert "no folder" in refused("--data", data, "--judge", "openai:x", "--records", "nowhere/r.jsonl")
    other = run("agent_clash", "--data", data, "--judge", "openai:x")
    assert (other.exit_code, "No such option: --judge" in other.output) == (2, True)
    assert "cannot read" in refused("--data", "nowhere.jsonl", "--judge", "openai:x")
