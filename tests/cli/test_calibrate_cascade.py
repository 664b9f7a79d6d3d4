"""From scores to a plan to a cascade, as a user types it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli import calibrate as calibrate_cli
from metajudge.cli import vet as vet_cli
from metajudge.errors import MetajudgeError
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(calibrate_cli.app, name="calibrate")
app.command("vet")(vet_cli.vet)

N = 60


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    rows = [judgment(f"j{n}", label="A>B" if n % 3 else "B>A") for n in range(N)]
    (tmp_path / "in.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows))
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def answer(body):
    """The cheap model is unsure of every second judgment; the strong one knows."""
    number = int(json.dumps(body).partition("(j")[2].partition(")")[0])
    right = number % 3 != 0
    if body["model"] == "cheap" and number % 2:
        return score_answer(3)(body)
    wrong_once = number in {1, 3} and body["model"] == "strong"
    return score_answer(5 if right is not wrong_once else 1)(body)


def panel(server, **more):
    lines = [f"{name} = {json.dumps(value)}" for name, value in more.items() if not isinstance(value, dict)]
    for name, price in (("cheap", 0.1), ("strong", 5.0)):
        lines += ["[[agents]]", f'name = "{name}"', f'model = "openai:{name}@{server.url}"']
        lines.append(f"price = {{ input = {price}, output = {price} }}")
    for table, values in more.items():
        if isinstance(values, dict):
            lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines) + "\n"


PLAN = ("calibrate", "cascade", "--data", "in.jsonl", "--agent-scores", "all.jsonl", "--out", "plan.json")


@pytest.mark.slow
def test_a_plan_saves_the_strong_model_what_the_cheap_one_is_sure_of(place):
    with LLMServer(answer=answer) as server:
        (place / "all.toml").write_text(panel(server, strategy="majority_vote"))
        assert run("vet", "in.jsonl", "--config", "all.toml", "--no-early-exit", "--out", "all.jsonl").exit_code == 0
        done = run(*PLAN, "--stage", "cheap", "--stage", "strong")
        assert done.exit_code == 0, done.output
        assert f"Stage 1, cheap: asked about {N} of {N}" in done.output
        (place / "cascade.toml").write_text(panel(server, strategy="cascade", cascade={"plan": "plan.json"}))
        before = server.count
        done = run("vet", "in.jsonl", "--config", "cascade.toml", "--store", "c.duckdb", "--out", "c.jsonl", "--json")
        assert done.exit_code == 0, done.output
        strong = sum(request.body["model"] == "strong" for request in server.requests[before:])
        assert strong == N // 2
    rows = [json.loads(line) for line in (place / "c.jsonl").read_text().splitlines()]
    decided = [row["cascade"]["decided_by"] for row in rows]
    assert (decided.count(0), decided.count(1)) == (N // 2, N // 2)
    assert all((row["final_score"] > row["threshold"]) is row["accepted"] for row in rows)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["assessed"] == N


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "strategy cascade needs a plan"),
        ({"cascade": {"plan": "nowhere.json"}}, "no plan of a cascade can be read"),
        ({"cascade": {"plan": "plan.json", "band": [0.9, 0.95]}}, "must contain the cut"),
        (
            {"cascade": {"plan": "other.json"}},
            "its stages ask missing, but the panel has cheap, strong",
        ),
        ({"cascade": {"plan": "model.json"}}, "cheap was gpt-x, here it is cheap"),
    ],
)
def test_a_cascade_without_its_plan_or_for_other_agents_is_refused(place, change, said):
    stages = [{"agents": [name], "intercept": -6, "slope": 2} for name in ("cheap", "strong")]
    plan = {"format": 1, "stages": stages, "band": [0.2, 0.8], "cut": 0.5}
    (place / "plan.json").write_text(json.dumps(plan))
    (place / "model.json").write_text(json.dumps({**plan, "agents": {"cheap": "gpt-x"}}))
    stages[1]["agents"] = ["missing"]
    (place / "other.json").write_text(json.dumps(plan))
    with LLMServer() as server:
        (place / "p.toml").write_text(panel(server, strategy="cascade", **change))
        result = run("vet", "in.jsonl", "--config", "p.toml")
    assert isinstance(result.exception, MetajudgeError)
    assert said in str(result.exception)
    assert server.count == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--stage", "cheap"), "at least two stages"),
        (("--stage", "cheap", "--stage", "nobody"), "no scores by nobody"),
    ],
)
def test_plans_of_nothing_are_refused(place, arguments, said):
    row = {"agent": "cheap", "model": "m", "weight": 1, "score": 3}
    line = {"judgment_id": "j0", "item_id": "i", "judge": "owl", "status": "assessed", "agents": [row]}
    line |= {"strategy": "single", "threshold": 4.5, "panel_digest": "p", "judgment_digest": "j"}
    (place / "all.jsonl").write_text(json.dumps({**line, "metajudge_version": "0"}) + "\n")
    result = run(*PLAN, *arguments)
    assert isinstance(result.exception, MetajudgeError)
    assert said in str(result.exception)
