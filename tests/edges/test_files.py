"""Files that users keep: calibrations, panel files, policies, rubrics, reviews and labels as tables."""

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metajudge
from metajudge import load_policy, load_rubric
from metajudge.errors import ConfigurationError
from tests.doubles.llm_server import LLMServer, score_answer
from tests.edges.inner import load_panel_file
from tests.edges.recorded import check, numbers, steady
from tests.stored.commands import Done, inside, run

SAMPLE = Path(metajudge.__file__).parents[1] / "benchmarks" / "sample"
POLICIES = ("verdict", "verdict_score", "risk_analysis", "risk_analysis_verified")
AGENT = ("--agent", "fox=vllm:fox@http://models.test/v1")


@pytest.fixture(scope="module")
def models() -> Iterator[LLMServer]:
    with LLMServer(answer=score_answer(4)) as server:
        yield server


@pytest.fixture
def folder(models: LLMServer, tmp_path: Path) -> Iterator[Path]:
    with inside(tmp_path, models.url):
        yield tmp_path


def told(done: Done, folder: Path) -> dict[str, Any]:
    """Exit code and numbers of what a command printed."""
    return {"exit": done.code, "printed": numbers(done.stdout, folder), "notes": numbers(done.stderr, folder)}


def record(name: str, found: Any, folder: Path | None = None, tolerance: float = 1e-9) -> None:
    check(f"files/{name}", steady(found, folder), tolerance=tolerance)


def write_lines(path: Path, rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_table(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)


def crowd(questions: int, seed: int, prefix: str, judges: tuple[str, ...] = ("owl", "wren", "jay")) -> Iterator[Any]:
    """Judges of different skill on labelled questions, in both orders."""
    draw = random.Random(seed)
    for number in range(questions):
        right = draw.choice(["A>B", "B>A"])
        wrong = "B>A" if right == "A>B" else "A>B"
        item = {"id": f"{prefix}{number}", "question": f"{prefix} question {number}", "label": right}
        item["responses"] = {"A": f"four {number}", "B": f"five {number}"}
        for judge, skill in zip(judges, (0.9, 0.7, 0.6), strict=True):
            for order in (["A", "B"], ["B", "A"]):
                verdict = right if draw.random() < skill else wrong
                name = f"{prefix}{number}-{judge}-{''.join(order)}"
                yield {"id": name, "item": item, "judge": judge, "verdict": verdict, "order": order}


FIT = ("calibrate", "fit", "--data", "fit.jsonl", "--out", "cal.json")
RANDOM = ("--labels-drawn", "random")
THRESHOLD = ("calibrate", "threshold", "--calibration", "cal.json", "--data", "new.jsonl", "--target", "0.75", *RANDOM)
OF_VETTED = ("judgment_id", "probability", "probability_marks", "accepted", "guarantee", "outside_guarantee", "do")


def vetted(path: Path) -> list[dict[str, Any]]:
    return [{name: one.get(name) for name in OF_VETTED} for one in read_lines(path)]


def test_a_calibration_is_written_and_read_back(folder):
    write_lines(folder / "fit.jsonl", crowd(40, 1, "q"))
    write_lines(folder / "new.jsonl", crowd(50, 2, "n"))
    write_lines(folder / "others.jsonl", crowd(3, 3, "o", ("hen", "emu", "ibis")))
    fitted = told(run(*FIT), folder)
    written = (folder / "cal.json").read_text("utf-8")
    record("calibration_fitted", {"told": fitted, "file": json.loads(written)}, folder, 1e-6)
    again = told(run(*FIT[:-1], "again.json"), folder)
    assert again == fitted
    assert (folder / "again.json").read_text("utf-8") == written, "equal input gives equal bytes"
    out = ("--limit", "12", "--json", "--out")
    assert run("vet", "new.jsonl", "--calibration", "cal.json", *out, "before.jsonl").code == 0
    record("calibration_without_promise", vetted(folder / "before.jsonl"), folder, 1e-6)
    promised = told(run(*THRESHOLD, "--json"), folder)
    shown = json.loads(run("calibrate", "show", "cal.json", "--json").stdout)
    record("calibration_promised", {"exit": promised["exit"], "shown": shown}, folder, 1e-6)
    assert run("vet", "new.jsonl", "--calibration", "cal.json", *out, "after.jsonl").code == 0
    seen = run("vet", "fit.jsonl", "--calibration", "cal.json", *out, "seen.jsonl")
    assert seen.code == 0, seen.stderr
    record("calibration_applied", {name: vetted(folder / f"{name}.jsonl") for name in ("after", "seen")}, folder, 1e-6)
    refused = run("vet", "others.jsonl", "--calibration", "cal.json")
    assert refused.code == 2
    for name in ("jay", "owl", "wren", "hen", "emu", "ibis"):
        assert name in refused.stderr
    allowed = ("--allow-other-calibration", *out, "allowed.jsonl")
    assert run("vet", "others.jsonl", "--calibration", "cal.json", *allowed).code == 0
    record("calibration_of_others", vetted(folder / "allowed.jsonl"), folder, 1e-6)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 99}', "nothing"])
def test_what_is_no_calibration_is_refused(text, folder):
    (folder / "bad.json").write_text(text)
    write_lines(folder / "new.jsonl", crowd(1, 2, "n"))
    done = run("vet", "new.jsonl", "--calibration", "bad.json")
    assert done.code == 2
    assert "bad.json" in done.stderr


PANEL = """
strategy = "panel_discussion"
threshold = 4.25
rubric = "short"
prompt_version = 2
weights = "long"
seed = 1
early_exit = false
families = "ignore"
quorum = 2
average_votes = true

[[agents]]
name = "mini"
model = "vllm:mini@http://models.test/v1"
role = "critic"
weight = 2.0
temperature = 0.0
max_tokens = 3000
top_p = 0.9
seed = 7
headers = { x-team = "a" }
timeout_s = 60
price = { input = 3.0, output = 15.0, cached_input = 1.0 }

[[agents]]
name = "claude"
model = "anthropic:claude@http://models.test"
rubric = "mine.yaml"
weights = { accuracy = 2.0, evidence = 1.0 }
analysis = false
explanations = "after"
samples = 2
api_key_env = "TEAM_KEY"

[[agents]]
name = "third"
model = "vllm:third@http://models.test/v1"
explanations_first = true
effort = "low"

[discussion]
rounds = "independent_first"
aggregate = "average"
show_analysis = true

[discussion.summariser]
model = "vllm:sum@http://models.test/v1"
role = "summariser"

[routes.Math]
agents = ["mini", "third"]
strategy = "majority_vote"
rubric = "long"
threshold = 3.5
weights = "short"
agent_weights = { mini = 3.0 }
quorum = 1

[routes.Knowledge]
agents = ["mini"]
strategy = "single"
quorum = 1

[limits.vllm]
concurrency = 32
requests_per_minute = 5000
tokens_per_minute = 2000000

[limits."http://models.test/v1"]
concurrency = 2

[retry]
attempts = 3
total_s = 20
"""
RUBRIC = """
version: 1
name: code_review
title: Quality of a judgment on code
description: Whether a verdict on two patches is right and well founded.
kind: criteria
scale: {low: 1, high: 5, step: 1}
criteria:
  - name: accuracy
    title: Accuracy
    description: Whether the verdict is right.
    weight: 0.6
    levels: {1: Wrong., 2: Carried by a false claim., 3: Can be defended., 4: Right with slips., 5: Right.}
  - name: evidence
    title: Evidence
    description: Whether the rationale quotes lines.
    weight: 0.4
    judges_rationale: true
    levels: {1: No line., 2: Other lines., 3: Lines are named., 4: Most., 5: Each claim quotes its line.}
"""


def test_a_panel_file_with_every_setting(folder, monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "none")
    (folder / "panel.toml").write_text(PANEL)
    (folder / "mine.yaml").write_text(RUBRIC)
    record("panel", load_panel_file(folder / "panel.toml").model_dump(mode="json"), folder)
    lines = (SAMPLE / "judgments.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    chosen = [next(row for row in rows if row["item"]["category"] == name) for name in ("Knowledge", "Math", "Coding")]
    write_lines(folder / "judgments.jsonl", chosen)
    done = run("vet", "judgments.jsonl", "--config", "panel.toml", "--json", "--out", "out.jsonl")
    assert done.code == 0, done.stderr
    fields = ("judgment_id", "route", "strategy", "threshold", "rubric", "final_score", "accepted", "seed", "calls")
    found = []
    for one in read_lines(folder / "out.jsonl"):
        agents = [[each["agent"], each["weight"], each["score"], each["role"]] for each in one["agents"]]
        found.append({**{name: one[name] for name in fields}, "agents": agents})
    record("panel_routes", found, folder)


def test_a_panel_file_of_a_cascade(folder):
    (folder / "panel.toml").write_text(
        'strategy = "cascade"\n[[agents]]\nmodel = "openai:a"\n[cascade]\nplan = "p.json"\nband = [0.2, 0.8]\n'
    )
    with pytest.raises(ConfigurationError) as refused:
        load_panel_file(folder / "panel.toml")
    record(
        "panel_cascade",
        {"refused": "removed" in str(refused.value), "numbers": numbers(str(refused.value), folder)},
        folder,
    )


REFUSED_PANELS = {
    'strategy = "vote"\n': ("panel.toml", "strategy", "vote", "majority_vote"),
    'threshold = "high"\n': ("panel.toml", "threshold", "high"),
    "nothing = 1\n": ("panel.toml", "nothing", "no such setting"),
    "seed = \n": ("panel.toml", "TOML", "line 1"),
    "prompt_version = 9\n[[agents]]\nmodel = 'openai:a'\n": ("9",),
    "[[agents]]\nname = 'a'\n": ("panel.toml", "agents.0.model"),
    "[[agents]]\nmodel = 'a'\n": ("'a'",),
    "[[agents]]\nmodel = 'openai:a'\nweight = 0\n": ("agents.0.weight", "0"),
    "[[agents]]\nmodel = 'openai:a'\ntemperature = 3\n": ("agents.0.temperature", "3"),
    "[[agents]]\nmodel = 'openai:a'\nsamples = 101\n": ("agents.0.samples", "101"),
    "[[agents]]\nmodel = 'openai:a'\nheaders = { Authorization = 'secret-1' }\n": ("agents.0.headers", "Authorization"),
    "[[agents]]\nmodel = 'openai:a'\nrubric = 'absent.yaml'\n": ("absent.yaml",),
    "[[agents]]\nmodel = 'openai:a'\nrole = ''\n": ("role",),
    "[[agents]]\nmodel = 'openai:a'\n[[agents]]\nmodel = 'openai:a'\n": ("a",),
    "[[agents]]\nmodel = 'openai:a'\n[routes.Math]\nagents = ['b']\n": ("Math", "b"),
    "[discussion]\nrounds = 'all'\n": ("discussion.rounds", "all"),
    "families = 'never'\n": ("families", "never"),
    "[retry]\nattempts = 0\n": ("retry.attempts", "0"),
    "prompt_version = 1\n[[agents]]\nmodel = 'openai:a'\nexplanations = 'none'\n": ("explanations",),
}


@pytest.mark.parametrize("text", REFUSED_PANELS)
def test_a_refused_panel_file_says_which_setting(text, folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (folder / "panel.toml").write_text(text)
    write_lines(folder / "new.jsonl", crowd(1, 2, "n"))
    done = run("vet", "new.jsonl", "--config", "panel.toml")
    assert done.code == 2, done.stdout
    for word in REFUSED_PANELS[text]:
        assert word in done.stderr, done.stderr
    assert "secret-1" not in done.stderr


INIT = {
    "two": ("--agent", "openai:gpt-4o-mini", "--agent", "c=anthropic:claude-haiku-4-5"),
    "discussion": (
        *("--agent", "openai:a", "--agent", "anthropic:b", "--strategy", "panel_discussion", "--rubric", "binary"),
        *("--seed", "3", "--threshold", "4"),
    ),
    "none": ("--strategy", "signals"),
}


@pytest.mark.parametrize("name", INIT)
def test_init_writes_a_panel_file_that_loads(name, folder):
    done = run("init", "panel.toml", *INIT[name])
    assert done.code == 0, done.stderr
    record(f"init_{name}", load_panel_file(folder / "panel.toml").model_dump(mode="json"), folder)
    before = (folder / "panel.toml").read_text()
    assert run("init", "panel.toml", *INIT[name]).code == 2
    assert (folder / "panel.toml").read_text() == before, "an existing file is not changed"


@pytest.mark.parametrize("name", POLICIES)
def test_shipped_policies(name, folder):
    shown = json.loads(run("policy", "show", name, "--json").stdout)
    record(f"policy_{name}", {"shown": _brief(shown), "digest": load_policy(name).digest}, folder)


def _brief(value: Any) -> Any:
    """Plain data in which sentences are told by their numbers."""
    if isinstance(value, dict):
        return {name: _brief(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_brief(one) for one in value]
    return numbers(value) if isinstance(value, str) and len(value.split()) > 3 else value


POLICY = """
name: mine
title: Mine
description: What is used unseen.
basis: probability
bands:
  - {action: APPROVE, value: {at_least: 0.9}, justification: Good.}
  - {action: REVIEW, value: {at_least: 0.7, below: 0.9}, justification: Middling.}
  - {action: REJECT, value: {below: 0.7}, justification: Bad.}
"""
REFUSED_POLICIES = {
    "gap": (("below: 0.7", "below: 0.6"), ("gap", "[0.6, 0.7)")),
    "overlap": (("below: 0.9", "below: 0.95"), ("overlap", "[0.9, 0.95)")),
    "action": (("action: REJECT", "action: DROP"), ("bands[2].action", "DROP")),
    "basis": (("basis: probability", "basis: luck"), ("basis",)),
    "field": (("title: Mine", "title: Mine\ncolour: red"), ("colour",)),
    "beyond": (("at_least: 0.9}", "at_least: 1.9}"), ("1.9",)),
    "yaml": (("bands:", "bands: ["), ("mine.yaml",)),
}


def test_a_policy_of_your_own_is_valid(folder):
    (folder / "mine.yaml").write_text(POLICY)
    assert run("policy", "validate", "mine.yaml").code == 0
    shown = json.loads(run("policy", "show", "mine.yaml", "--json").stdout)
    record("policy_own", {"shown": _brief(shown), "digest": load_policy(folder / "mine.yaml").digest}, folder)


REFUSED_RUBRICS = {
    "weight": (("weight: 0.4", "weight: -1"), ("criteria[1].weight", "-1")),
    "level": (("3: Can be defended., ", ""), ("criteria[0].levels", "3")),
    "twice": (("name: evidence", "name: accuracy"), ("accuracy",)),
    "field": (("weight: 0.4", "wieght: 0.4"), ("wieght",)),
    "scale": (("low: 1, high: 5", "low: 5, high: 1"), ("scale",)),
    "kind": (("kind: criteria", "kind: other"), ("kind",)),
    "yaml": (("criteria:", "criteria: ["), ("mine.yaml",)),
}


def test_a_rubric_of_your_own_is_read(folder):
    (folder / "mine.yaml").write_text(RUBRIC)
    assert run("rubric", "validate", "mine.yaml").code == 0
    rubric = load_rubric(folder / "mine.yaml")
    record("rubric_own", {"rubric": rubric.model_dump(mode="json"), "digest": rubric.digest}, folder)
    (folder / "same.yaml").write_text("# a comment\n" + RUBRIC)
    assert load_rubric(folder / "same.yaml").digest == rubric.digest


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("policy", name) for name in REFUSED_POLICIES), *(("rubric", name) for name in REFUSED_RUBRICS)],
)
def test_a_refused_file_says_where(kind, name, folder):
    text, table = {"policy": (POLICY, REFUSED_POLICIES), "rubric": (RUBRIC, REFUSED_RUBRICS)}[kind]
    change, words = table[name]
    (folder / "mine.yaml").write_text(text.replace(*change, 1))
    done = run(kind, "validate", "mine.yaml")
    assert done.code == 2
    for word in words:
        assert word in done.stderr + done.stdout, done.stderr


def reviewed(folder: Path) -> None:
    """A queue of four reviews."""
    lines = (SAMPLE / "judgments.jsonl").read_text("utf-8").splitlines()[:4]
    rows = [json.loads(line) for line in lines]
    rows[3]["item"] = {**rows[3]["item"], "id": "formula", "question": "=1+2"}
    write_lines(folder / "judgments.jsonl", rows)
    done = run("vet", "judgments.jsonl", *AGENT, "--policy", "verdict_score", "--json")
    assert done.code == 0, done.stderr


def by_subject(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in the order of what they are about, which does not depend on when they were written."""
    return sorted(rows, key=lambda row: (str(row["subject_id"]), str(row["review_id"])))


def test_reviews_are_exported_decided_elsewhere_and_imported(folder):
    reviewed(folder)
    for words in (("--out", "r.csv"), ("--out", "r.jsonl"), ("--out", "blind.jsonl", "--blind")):
        assert run("review", "export", *words).code == 0
    rows = by_subject(read_table(folder / "r.csv"))
    blind = by_subject(read_lines(folder / "blind.jsonl"))
    record("reviews_csv", {"columns": list(rows[0]), "rows": rows}, folder)
    record("reviews_jsonl", by_subject(read_lines(folder / "r.jsonl")), folder)
    record("reviews_blind", blind, folder)
    answers = [("approve", ""), ("reject", "wrong"), ("modify", ""), ("", "")]
    for row, (outcome, reason) in zip(rows, answers, strict=True):
        row |= {"outcome": outcome, "reason": reason, "reviewer": "ada" if outcome else ""}
    rows[2]["corrected_verdict"] = "A=B"
    write_table(folder / "filled.csv", rows)
    first, again = run("review", "import", "filled.csv"), run("review", "import", "filled.csv")
    assert (first.code, numbers(first.stdout)) == (0, ["3", "0"]), first.stderr
    assert (again.code, numbers(again.stdout)) == (0, ["0", "3"]), again.stderr
    assert run("review", "export", "--out", "done.jsonl", "--status", "decided").code == 0
    stats = json.loads(run("review", "stats", "--json").stdout)
    record("reviews_decided", {"rows": by_subject(read_lines(folder / "done.jsonl")), "stats": stats}, folder)


def test_of_a_file_with_a_bad_row_no_review_is_imported(folder):
    reviewed(folder)
    assert run("review", "export", "--out", "r.csv").code == 0
    rows = read_table(folder / "r.csv")
    for row in rows:
        row |= {"outcome": "approve", "reviewer": "ada"}
    rows[2]["outcome"] = "perhaps"
    write_table(folder / "filled.csv", rows)
    done = run("review", "import", "filled.csv")
    assert done.code == 2
    assert "filled.csv" in done.stderr
    assert "perhaps" in done.stderr
    assert run("review", "export", "--out", "none.jsonl", "--status", "decided").code == 0
    assert read_lines(folder / "none.jsonl") == []


def test_items_to_label_are_written_and_read_back_as_labels(folder):
    grades = read_table(SAMPLE / "audit" / "grades.csv")[:48]
    people = [row for row in read_table(SAMPLE / "audit" / "people.csv") if row["item_id"] < "item-00012"]
    for row in grades:
        row["question"] = "=1+2" if row["item_id"] == grades[-1]["item_id"] else row["question"]
    write_table(folder / "grades.csv", grades)
    write_table(folder / "people.csv", people)
    done = run("audit", "grades.csv", "--labels", "people.csv", "--out", "audit", "--json")
    assert done.code == 0, done.stderr
    rows = read_table(folder / "audit" / "to-label.csv")
    record("to_label", {"columns": list(rows[0]), "rows": rows}, folder)
    for number, row in enumerate(rows):
        row |= {"label": str(1 + number % 5), "annotator": "zoe"}
    write_table(folder / "audit" / "to-label.csv", rows)
    labels = ("--labels", "people.csv", "--labels", "audit/to-label.csv")
    more = run("audit", "grades.csv", *labels, "--out", "audit", "--json")
    assert more.code == 0, more.stderr
    assert read_table(folder / "audit" / "to-label.csv") == rows, "labels that were filled in are kept"
    before, after = json.loads(done.stdout), json.loads(more.stdout)
    record("to_label_audit", {"before": _holdings(before), "after": _holdings(after)}, folder)
    labelled = [one["item"]["labels"] for one in read_lines(folder / "audit" / "judgments.jsonl")]
    assert any(label["annotator"] == "zoe" for given in labelled for label in given)


def _holdings(document: dict[str, Any]) -> Any:
    judges = [{name: _brief(one.get(name)) for name in ("judge", "accuracy", "n")} for one in document["judges"]]
    return {"names": sorted(document), "judges": judges}
