"""The commands as a user types them."""

import json
import re
from importlib.resources import files
from types import SimpleNamespace

import pytest
import typer
from metajudge.benchmarks.bench_report import note_lines
from metajudge.benchmarks.catalogue import BENCHMARKS, STUDIES
from typer.testing import CliRunner

from metajudge.cli import bench as bench_cli
from metajudge.cli import data as data_cli
from metajudge.errors import InputError, MetajudgeError
from tests.doubles.graded import truth, verdicts, written
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


def test_bench_prints_tables_and_writes_every_file(small, tmp_path):
    out = {name: tmp_path / name for name in ("r.html", "r.md", "f.json", "s.jsonl")}
    result = run(
        "bench", "judgebench", "--data", small, "--report", out["r.html"], "--report", out["r.md"], "--json-out",
        out["f.json"], "--scores", out["s.jsonl"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "owl: precision in %" in result.output
    assert "nothing selected" in result.output
    assert json.loads(out["f.json"].read_text())["benchmark"] == "judgebench"
    assert len(out["s.jsonl"].read_text().splitlines()) == 36
    assert all(path.stat().st_size for path in out.values())


@pytest.mark.slow
def test_a_file_is_measured_in_place_of_a_benchmark_with_labels_from_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "v.jsonl", verdicts(30, labelled=False))
    labels = "".join(f"q{number},{truth(number)}\n" for number in range(30))
    (tmp_path / "people.csv").write_text(f"item_id,label\n{labels}")
    result = run("bench", "v.jsonl", "--labels", "people.csv", "--scores", "s.jsonl", "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "What counts as right: category: equal." in result.output
    assert "majority of peers agrees" in result.output
    assert "30 of 30 labels" in result.output
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert len(lines) == 120
    assert {type(line["probability"]) for line in lines} == {float}
    # Options may come before the file, and the command has a name of its own.
    assert run("bench", "--seeds", "0", "--labels", "people.csv", "v.jsonl").exit_code == 0
    assert run("bench", "file", "--seeds", "0", "--labels", "people.csv", "v.jsonl").exit_code == 0


def test_a_benchmarks_name_comes_before_a_file_of_the_same_name(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "judgebench", verdicts(3))
    assert "give --data DIR" in refused("bench", "judgebench")


def test_own_judges_are_measured_beside_those_of_the_benchmark(small, tmp_path):
    item = {"id": "p1", "question": "What is 1 + 1?", "responses": {"A": "2", "B": "3"}}
    mine = written(tmp_path / "mine.jsonl", [{"id": "m", "item": item, "judge": "mine", "verdict": "A>B"}])
    result = run("bench", "judgebench", "--data", small, mine)
    assert result.exit_code == 0, result.output
    assert "1 judgments of your own by mine are on recorded items" in result.output


def test_list_needs_no_data():
    result = run("bench", "list")
    assert result.exit_code == 0
    assert "judgebench" in result.output
    assert "MIT" in result.output


def test_every_benchmark_and_study_has_a_command():
    commands = typer.main.get_command(bench_cli.app).commands
    assert set(commands) == {"list", "file", "perf", *BENCHMARKS, *STUDIES}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("list", set()),
        ("agent_clash", {"--data", "--json", "--json-out", "--report"}),
        (
            "reliability",
            {"--data", "--judge", "--config", "--runs", "--targeted-third", "--third-size", "--criteria-model"}
            | {"--sample", "--limit", "--seed", "--records", "--store", "--concurrency", "--budget-usd", "--strict"}
            | {"--dry-run", "--json", "--json-out", "--report"},
        ),
    ],
)
def test_a_study_takes_its_own_options_and_no_others(name, options):
    command = typer.main.get_command(bench_cli.app).commands[name]
    assert {option for parameter in command.params for option in parameter.opts} == options


def test_the_published_grid_is_priced_without_a_key_or_a_call(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pairs = [pair(number, response_model="gpt-4o-2024-05-13") for number in range(4)]
    place = folder(pairs, [game(number, "AB", "A>B") for number in range(4)])
    result = run("bench", "judgebench", "--data", place, "--grid", "published", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "25 configurations" in result.output
    assert "in their place" in result.output
    assert "$" in result.output


def test_a_dry_run_without_agents_says_that_nothing_is_asked(small):
    assert "nothing would be asked" in run("bench", "judgebench", "--data", small, "--dry-run").output


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


def test_what_a_guarantee_promises_is_printed_not_only_written():
    notes = ("Keep scores of 0.9 and above",)
    judge = SimpleNamespace(judge="owl", notes=notes)
    findings = SimpleNamespace(notes=("few judgments",), judges=(judge,))
    assert list(note_lines(findings)) == ["Note: few judgments.", "Note on owl: Keep scores of 0.9 and above"]


def test_fetch_without_a_network_leaves_nothing(tmp_path):
    result = run("data", "fetch", "judgebench", "--out", tmp_path / "jb", "--source", "http://127.0.0.1:9/none")
    assert isinstance(result.exception, InputError)
    assert list(tmp_path.iterdir()) == []


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
