"""The commands as a user types them."""

import pytest

from metajudge.errors import MetajudgeError
from tests.doubles.graded import verdicts, written
from tests.doubles.reliability import pair


@pytest.fixture
def refused(run):
    """The message of the error that ends a command with exit code 2."""

    def _refused(*words):
        try:
            done = run(*words)
        except MetajudgeError as error:
            return str(error)
        assert done.exit_code == 2, done.output
        return done.output

    return _refused


def test_a_benchmarks_name_comes_before_a_file_of_the_same_name(refused, tmp_path):
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
def test_wrong_input_is_refused_with_exit_code_2_and_what_to_do(refused, small, words, message):
    assert message in refused(*[small if word == "SMALL" else word for word in words])


def test_a_second_folder_does_not_replace_the_first_in_silence(refused, small):
    assert "give one path" in refused("bench", "judgebench", "--data", small, "--data", small)


def test_options_that_only_a_calibration_uses_are_refused_without_one(refused, small, tmp_path):
    for option in (("--agent-scores", tmp_path / "none.jsonl"), ("--allow-other-calibration",)):
        assert "need --calibration" in refused("bench", "judgebench", "--data", small, *option)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(pair(n).model_dump_json(exclude_none=True) + "\n" for n in range(8)))
    return path


def test_what_makes_no_sense_is_refused_before_any_call(refused, data, tmp_path):
    def reliability(*words):
        return refused("bench", "reliability", *words)

    assert "give --data" in reliability()
    assert "give --judge" in reliability("--data", data)
    assert "--targeted-third needs" in reliability(
        "--data", data, "--judge", "openai:x", "--runs", "1", "--targeted-third"
    )
    (tmp_path / "other.jsonl").write_text('{"prompt": "x"}\n')
    assert "no labelled pairs" in reliability("--data", "other.jsonl", "--judge", "openai:x")
    assert "is a folder: name one file" in reliability("--data", tmp_path, "--judge", "openai:x")
    assert "sample of 99" in reliability("--data", data, "--judge", "openai:x", "--sample", "99")
    assert "No such option: --threshold" in reliability("--data", data, "--judge", "openai:x", "--threshold", "4")
    assert "no folder" in reliability("--data", data, "--judge", "openai:x", "--records", "nowhere/r.jsonl")
    assert "No such option: --judge" in refused("bench", "agent_clash", "--data", data, "--judge", "openai:x")
    assert "cannot read" in reliability("--data", "nowhere.jsonl", "--judge", "openai:x")
