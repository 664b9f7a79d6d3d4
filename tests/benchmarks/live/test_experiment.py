"""The whole experiment against a server of models with planted error rates, as a user runs it."""

import json

import pytest
import typer
from metajudge.benchmarks.live.folder import read_run
from metajudge.benchmarks.live.scripted import Scripted, made_judgments, planted_area
from metajudge.benchmarks.live.verifying import verify
from typer.testing import CliRunner

from metajudge.cli import bench as bench_cli
from metajudge.errors import InputError, MetajudgeError
from metajudge.report import Absent
from tests.doubles.live_runs import SETUP, made_file
from tests.doubles.llm_server import LLMServer

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app, name="bench")


def run(*words):
    return CliRunner().invoke(app, ["bench", "live", *map(str, words)])


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)


def setup_file(path, url):
    """The small experiment, asked at a server."""
    lines = [f'title = "{SETUP["title"]}"', 'one = "agent-1"', 'panel = ["agent-1", "agent-2"]']
    lines += ["[[think]]", 'name = "an analysis"', 'less = "agent-1-no-analysis"', 'more = "agent-1"']
    for name, agent in SETUP["agents"].items():
        lines += [
            f"[agents.{name}]",
            f'model = "{agent["model"]}@{url}/v1"',
            f"analysis = {str(agent['analysis']).lower()}",
        ]
        lines.append(f"max_tokens = {agent['max_tokens']}")
    path.write_text("\n".join(lines))
    return path


def findings(folder):
    return json.loads((folder / "report.json").read_text())


def answers(folder):
    return {(one["topic"], one["name"]): one for one in findings(folder)["answers"]}


def test_without_data_or_agents_the_sample_is_priced_and_nothing_is_sent_or_written(tmp_path):
    result = run("--budget-usd", "20", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "96 calls, about $0." in result.output
    assert "Dry run: nothing is sent and nothing is written." in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_plan_can_be_fixed_and_published_before_anything_is_asked(tmp_path):
    result = run("--plan-only", "--limit", "16", "--out", "run")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"plan.json", "items.jsonl", "run.json"}
    assert f"The plan is fixed in run: {read_run(tmp_path / 'run').plan.digest}" in result.output
    other = run("--plan-only", "--limit", "16", "--seed", "1", "--out", "run")
    assert isinstance(other.exception, MetajudgeError)
    assert "has the plan" in str(other.exception)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("x")
    taken = run("--plan-only", "--out", "taken")
    assert isinstance(taken.exception, InputError)
    assert "choose another --out" in str(taken.exception)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "accuracy"),
    [
        (0, {"gpt-4o-mini analysis": 0.95, "gpt-4o-mini no analysis": 0.6, "gpt-4.1-mini": 0.9}),
        (1, {"gpt-4o-mini": 0.8, "gpt-4.1-mini": 0.5}),
    ],
)
def test_planted_effects_are_recovered_and_none_is_found_where_none_is(tmp_path, seed, accuracy):
    judgments = made_judgments(100, seed=seed)
    data = made_file(tmp_path / "made.jsonl", 100, seed)
    with LLMServer(Scripted.of(judgments, accuracy, seed).answer) as server:
        done = run(data, "--setup", setup_file(tmp_path / "s.toml", server.url), "--out", "run")
        asked = server.count
    assert done.exit_code == 0, done.output
    assert asked == read_run(tmp_path / "run").plan.calls == 3 * 100  # announced calls are calls made
    assert not [one for one in verify(tmp_path / "run") if one.holds is False]
    one = accuracy.get("gpt-4o-mini analysis", accuracy.get("gpt-4o-mini"))
    without = accuracy.get("gpt-4o-mini no analysis", one)
    found = answers(tmp_path / "run")
    think, panel = found["think", "an analysis"], found["panel", "2 agents"]
    assert think["effect"]["low"] <= one - without <= think["effect"]["high"]
    planted = planted_area([one, accuracy["gpt-4.1-mini"]]) - one
    assert panel["effect"]["low"] <= planted <= panel["effect"]["high"]
    assert think["verdict"] == ("yes" if one > without else think["verdict"])
    assert one > without or think["verdict"] in ("no difference found", "too few to say")
    assert found["evidence", "one meta-judge"]["verdict"] in ("yes", "too few to say")


@pytest.mark.slow
def test_a_spent_budget_stops_the_run_and_a_larger_one_continues_it_without_asking_twice(tmp_path):
    judgments = made_judgments(60)
    data = made_file(tmp_path / "made.jsonl", 60)
    with LLMServer(Scripted.of(judgments, {}).answer) as server:
        options = [data, "--setup", setup_file(tmp_path / "s.toml", server.url), "--out", "run"]
        assert run(*options, "--plan-only").exit_code == 0
        stopped = run(*options, "--budget-usd", "0.03")
        assert stopped.exit_code == 3, stopped.output
        first = server.count
        assert 0 < first < 180
        assert {one["verdict"] for one in findings(tmp_path / "run")["answers"]} == {"too few to say"}
        assert read_run(tmp_path / "run").run.spent_usd <= 0.031
        plan = (tmp_path / "run" / "plan.json").read_text()
        done = run(*options, "--budget-usd", "5")
        assert done.exit_code == 0, done.output
        assert server.count == 180
    assert (tmp_path / "run" / "plan.json").read_text() == plan
    checks = {one.name: one for one in verify(tmp_path / "run")}
    assert checks["costs"].holds, checks["costs"].words
    assert findings(tmp_path / "run")["complete"]
    assert all(not isinstance(one["effect"], Absent) for one in findings(tmp_path / "run")["answers"])


@pytest.mark.slow
def test_others_carry_out_the_same_plan_with_their_models_verify_it_and_pool_it(tmp_path):
    judgments = made_judgments(60)
    data = made_file(tmp_path / "made.jsonl", 60)
    with LLMServer(Scripted.of(judgments, {}, seed=1).answer) as server:
        setup = setup_file(tmp_path / "s.toml", server.url)
        assert run(data, "--setup", setup, "--out", "one").exit_code == 0
        specs = [f"openai:gpt-5-nano@{server.url}/v1", f"openai:gpt-4.1@{server.url}/v1"]
        agents = [word for spec in specs for word in ("--agent", spec)]
        other = run(data, "--plan", "one/plan.json", *agents, "--out", "two")
        assert other.exit_code == 0, other.output
        elsewhere = made_file(tmp_path / "other.jsonl", 60, seed=9)
        refused = run(elsewhere, "--plan", "one/plan.json", *agents, "--out", "three")
        assert "the plan is for the sample" in str(refused.exception)
    assert run("verify", "two", data).exit_code == 0
    assert run("verify", "two", elsewhere).exit_code == 1
    merged = run("merge", "one", "two", "--report", "m.html", "--json-out", "m.json")
    assert merged.exit_code == 0, merged.output
    assert "the folders have different models" in merged.output
    assert json.loads((tmp_path / "m.json").read_text())["names"] == ["one", "two"]


@pytest.mark.slow
def test_unusable_replies_are_counted_and_leave_questions_open(tmp_path):
    judgments = made_judgments(40)
    data = made_file(tmp_path / "made.jsonl", 40)
    known = Scripted.of(judgments, {})

    def answer(body):
        return "no scores from me" if body["model"] == "gpt-4.1-mini" else known.answer(body)

    with LLMServer(answer) as server:
        done = run(data, "--setup", setup_file(tmp_path / "s.toml", server.url), "--out", "run")
    assert done.exit_code == 1
    assert "Judgments without a score: 40 of agent-2." in done.output
    found = answers(tmp_path / "run")
    assert found["panel", "2 agents"]["verdict"] == "too few to say"
    assert found["think", "an analysis"]["missing"] == 0
