"""The commands as a user types them."""

import json
import re
from importlib.resources import files

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli import bench as bench_cli
from metajudge.cli import data as data_cli
from metajudge.errors import MetajudgeError
from tests.doubles.graded import verdicts, written
from tests.doubles.judgebench import game, pair
from tests.doubles.llm_server import LLMServer

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


def local(text, server):
    """A grid whose agents are asked on a local server, at a made-up price."""
    agents = re.sub(
        r'(\[agents\.[\w.-]+\]\nmodel = ")(?:openai|openrouter):([^"]+)"',
        rf'\1openai:\2@{server.url}"\nprice = {{ input = 1.0, output = 2.0 }}',
        text,
    )
    assert agents.count(server.url) == text.count("[agents.")
    return agents


@pytest.mark.slow
def test_the_published_grid_runs_end_to_end_against_a_server(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    pairs = [pair(number, response_model="gpt-4o-2024-05-13") for number in range(8)]
    games = [
        game(number, "AB", "A=B" if number == 7 else "A>B", judge=judge)
        for number in range(8)
        for judge in ("gpt-4o-mini-2024-07-18", "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo")
    ]
    place = folder(pairs, games)
    published = files("metajudge.benchmarks").joinpath("published.toml").read_text("utf-8")
    sizes = "category_sizes = { Knowledge = 2, Reasoning = 2, Math = 2, Coding = 2 }"
    text = re.sub("category_sizes = .*", sizes, published)
    with LLMServer() as server:
        (tmp_path / "grid.toml").write_text(local(text, server))
        words = ("bench", "judgebench", "--data", place, "--grid", "grid.toml", "--store", "s.duckdb")
        priced = run(*words, "--dry-run")
        result = run(*words, "--report", "r.html", "--report", "r.md", "--json-out", "r.json")
        assert result.exit_code == 0, result.output
        most = int(re.search(r"together at most ([\d,]+) calls", priced.output)[1].replace(",", ""))
        assert server.count == most  # no reply was repaired, so the price was exact
        for request in server.requests:
            assert (request.body["temperature"], request.body["max_tokens"]) == (0, 1024)
            assert "analysis" not in json.dumps(request.body["response_format"])
        again = run(*words)
        assert server.count == most
    grid = json.loads((tmp_path / "r.json").read_text())["grid"]
    assert [table["name"] for table in grid["tables"]] == ["table 3", "table 4", "table 5", "table 6", "figure 5"]
    rows = {row["configuration"]: row for table in grid["tables"] for row in table["rows"]}
    # The server gives the best scores, so everything is kept, the tie too: 7 of 8 right.
    cell = rows["majority vote, two agents"]["cells"]["Overall"]
    assert (cell["n"], cell["selected"], cell["selected_right"]) == (8, 8, 7)
    assert rows["majority vote, two agents"]["not_compared"] == ""
    assert rows["majority vote, two agents"]["by_size"]["share"] == pytest.approx(7 / 8)
    cost = rows["panel discussion, two agents, summariser"]["cost"]
    assert (cost["formula"], cost["calls"], cost["paid_calls"]) == ("2 sum + summariser", 40, 8)
    assert cost["cost_usd"] > 2 * cost["once_usd"] > 0
    for output in (result.output, again.output):
        assert "77.26" in output
        assert "inferred from the authors' code" in " ".join(output.split())
        assert output.count("models favour their own family's work") == 1
    assert "Table 5. Two agents together" in (tmp_path / "r.html").read_text()
