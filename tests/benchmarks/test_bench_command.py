"""The commands as a user types them."""

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli import bench as bench_cli
from metajudge.cli import systems as data_cli
from metajudge.errors import MetajudgeError
from tests.doubles.graded import verdicts, written

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app, name="bench")
app.add_typer(data_cli.app, name="data")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    """The message of the error that ends the command with exit code 2."""
    result = run(*words)
    if isinstance(result.exception, MetajudgeError):
        return str(result.exception)
    assert result.exit_code == 2, result.output
    return result.output


def test_a_benchmarks_name_comes_before_a_file_of_the_same_name(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "judgebench", verdicts(3))
    assert "give --data DIR" in refused("bench", "judgebench")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bench", "mmlu", "--data", "."], "No such command 'mmlu'"),
        (["bench", "judgbench", "--data", "."], "Did you mean 'judgebench'"),
        (["bench", "no-such-file.jsonl"], "or a file or folder of labelled judgments"),
        (["bench", "file"], "give at least one file or folder"),
        (["bench", "judgebench"], "give --data DIR"),
        (["bench", "judgebench", "--data", "SMALL", "--labels", "SMALL"], "give FILE, too"),
        (["bench", "judgebench", "--data", "SMALL", "--calibration", "c.json", "--seeds", "2"], "not both"),
        (["bench", "judgebench", "--data", "SMALL", "--limit", "0"], "--limit"),
        (["bench", "judgebench", "--data", "SMALL", "--judge", "wren"], "the judges here are hawk, owl"),
        (["bench", "judgebench", "--data", "SMALL", "--rubric", "long"], "apply to agents"),
        (["bench", "judgebench", "--data", "SMALL", "--families", "forbid"], "apply to agents"),
        (["bench", "judgebench", "--data", "SMALL", "--agent", "openai:gpt-5", "--families", "all"], "families"),
        (["bench", "agent_clash", "--data", "SMALL", "--families", "forbid"], "--families"),
        (["bench", "judgebench", "--data", "SMALL", "--report", "r.pdf"], "a report ends in"),
        (["bench", "judgebench", "--data", "SMALL", "--scores", "no/such/s.jsonl"], "there is no folder"),
        (["bench", "judgebench", "--data", "SMALL", "--grid", "published"], "is in the population: the first game"),
        (["bench", "judgebench", "--data", "SMALL", "--grid", "ours"], "no judgments by the grid's judges"),
        (["bench", "judgebench", "--data", "SMALL", "--limit", "2"], "give at least 4"),
        (["bench", "llmbar", "--data", "SMALL"], "use `metajudge bench judgebench`"),
        (["data", "fetch", "mmlu", "--out", "x"], "no benchmark is named 'mmlu'"),
    ],
)
def test_wrong_input_is_refused_with_exit_code_2_and_what_to_do(small, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(*[small if word == "SMALL" else word for word in words])


def test_a_second_folder_does_not_replace_the_first_in_silence(small):
    assert "give one path" in refused("bench", "judgebench", "--data", small, "--data", small)


def test_options_that_only_a_calibration_uses_are_refused_without_one(small, tmp_path):
    for option in (("--agent-scores", tmp_path / "none.jsonl"), ("--allow-other-calibration",)):
        assert "need --calibration" in refused("bench", "judgebench", "--data", small, *option)
