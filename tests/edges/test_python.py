"""The Python surface: what can be imported, with which arguments, and what the functions return."""

import asyncio
import dataclasses
import inspect
import json
import re
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import metajudge
from metajudge import (
    Engine,
    Judgment,
    ScriptedModel,
    Session,
    clash,
    grade,
    judge,
    judge_case,
    load_policy,
    load_rubric,
    open_judgments,
    rank,
    run_peers,
    vet,
)
from tests.edges import inner
from tests.edges.method import CRITERIA
from tests.edges.recorded import check, numbers, steady

SAMPLE = Path(metajudge.__file__).parents[1] / "benchmarks" / "sample" / "judgments.jsonl"
ITEM = {"id": "i-9", "question": "Which is larger, 9.11 or 9.9?", "responses": {"A": "9.11", "B": "9.9"}}
JUDGMENT = {"id": "j-1", "judge": "some-judge", "verdict": "B>A", "rationale": "B compares decimals.", "item": ITEM}
CASE = {
    "id": "case-1",
    "type": "climate",
    "stages": [
        {"name": "relevance_check", "output": "The drought concerns the plant."},
        {"name": "risk_analysis", "output": "Yields fall by a tenth."},
    ],
}
ANSWERS = ("responses.A", "responses.B")
UNSTEADY = re.compile(r"_s$|^metajudge_version$")
"""Names of durations and versions."""
RULES = (
    *("kemeny", "borda", "copeland", "schulze", "ranked_pairs", "median_rank", "plurality", "bradley_terry"),
    *("plackett_luce", "agreement_weighted_borda"),
)
BALLOTS = [
    *([["a"], ["b"], ["c"], ["d"]], [["b"], ["a"], ["d"], ["c"]], [["c"], ["a", "b"], ["d"]]),
    *([["d"], ["b"], ["a"], ["c"]], [["a"], ["c"], ["d"], ["b"]]),
]


def text_of(annotation: Any) -> str:
    """An annotation without the modules in which its names are defined, which may move."""
    text = inspect.formatannotation(annotation) if not isinstance(annotation, str) else annotation
    text = re.sub(r" at 0x[0-9a-f]+", "", text).replace("'", "").replace('"', "")
    return re.sub(r"\b(?:[A-Za-z_][A-Za-z_0-9]*\.)+(?=[A-Za-z_<])", "", text)


def signature_of(found: Any) -> Any:
    """Names, kinds, defaults and annotations of a callable's parameters, and what it returns."""
    try:
        signature = inspect.signature(found)
    except ValueError:
        return None
    parameters = [
        {
            "name": one.name,
            "kind": one.kind.name,
            "default": None if one.default is one.empty else text_of(repr(one.default)),
            "annotation": None if one.annotation is one.empty else text_of(one.annotation),
        }
        for one in signature.parameters.values()
    ]
    back = signature.return_annotation
    return {"parameters": parameters, "returns": None if back is signature.empty else text_of(back)}


def members_of(found: type) -> dict[str, Any]:
    """Public methods and properties of a class and of those it inherits from, without those of pydantic."""
    members: dict[str, Any] = {}
    for base in reversed(found.__mro__):
        if not base.__module__.startswith("metajudge"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in getattr(found, "model_fields", {}):
                continue
            if isinstance(member, property) or type(member).__name__ in {"cached_property", "PydanticDescriptorProxy"}:
                members[name] = "property"
            elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
                members[name] = signature_of(getattr(found, name))
    return members


def bare_schema(schema: Any) -> Any:
    """A JSON Schema without titles and descriptions, whose words may change."""
    if isinstance(schema, list):
        return [bare_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: bare_schema(one)
        for name, one in schema.items()
        if not (name in {"title", "description", "examples"} and isinstance(one, str | list))
    }


def plain(value: Any) -> Any:
    """A result as plain data: sentences by their numbers, without durations and names that begin with an underscore."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return plain({name: one for name, one in fields.items() if not name.startswith("_")})
    if isinstance(value, Mapping):
        found = {str(name): plain(one) for name, one in value.items()}
        return {name: "*" if UNSTEADY.search(name) and one is not None else one for name, one in found.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value.split()) < 4 else numbers(value)
    return value if isinstance(value, int | bool | None) else type(value).__name__


def record(name: str, found: Any) -> None:
    check(f"python/{name}", steady(plain(found)))


def verdicts(*texts: str, name: str = "first") -> ScriptedModel:
    """A judge of pairs that gives these verdicts in turn, for ever."""
    asked = iter(texts * 1000)
    return ScriptedModel(lambda _request: json.dumps({"reasoning": "So.", "verdict": next(asked)}), name=name)


def scoring(score: int, name: str) -> ScriptedModel:
    """A meta-judge with one score for everything."""

    def answer(request: Any) -> str:
        names = [one for one in request.schema.schema["properties"] if one != "analysis"]
        entry = {"explanation": "Checked.", "score": score}
        return json.dumps({"analysis": "9.9 is larger.", **dict.fromkeys(names, entry)})

    return ScriptedModel(answer, name=name)


def ranking(name: str, *, longest: bool) -> ScriptedModel:
    """A judge of a clash that ranks by the length of the answers."""

    def answer(request: Any) -> str:
        properties = request.schema.schema["properties"]
        rows = properties["scores"]["properties"]
        found = dict(re.findall(r"## Response (\w+)\n\n⟦[^⟧]*⟧\n(.*?)\n⟦", request.messages[-1].text, re.DOTALL))
        order = sorted(found, key=lambda label: len(found[label]), reverse=longest)
        scores = {label: {one: {"reason": "", "score": 4} for one in row["properties"]} for label, row in rows.items()}
        return json.dumps({"analysis": "They differ.", "ranking": " > ".join(order), "scores": scores})

    return ScriptedModel(answer, name=name)


def peer(name: str, text: str) -> ScriptedModel:
    """A peer that answers with its text and ranks the longest answer first."""

    def answer(request: Any) -> str:
        if request.schema is None:
            return text
        found = dict(re.findall(r"## Response (\w+)\n\n⟦[^⟧]*⟧\n(.*?)\n⟦", request.messages[-1].text, re.DOTALL))
        order = sorted(found, key=lambda label: (-len(found[label]), label))
        return json.dumps({"analysis": "They differ.", "ranking": " > ".join(order)})

    return ScriptedModel(answer, name=name)


def case_scores(request: Any) -> str:
    entry = {"comment": "Fine.", "evidence": ["by a tenth"], "weaknesses": [], "score": 9, "confidence": 0.9}
    return json.dumps(dict.fromkeys(request.schema.schema["properties"], entry))


def sample(count: int = 24) -> list[Judgment]:
    return [one for one in open_judgments([SAMPLE], limit=count) if isinstance(one, Judgment)]


def test_names_signatures_and_methods():
    found: dict[str, Any] = {"__all__": list(metajudge.__all__)}
    for name in metajudge.__all__:
        one = getattr(metajudge, name)
        if isinstance(one, type):
            found[name] = {"methods": members_of(one)}
            if not issubclass(one, BaseModel | Exception):
                found[name]["signature"] = signature_of(one)
        elif callable(one):
            found[name] = signature_of(one)
        else:
            found[name] = type(one).__name__
    check("python/surface", found)


def test_callables_that_are_documented_elsewhere():
    found = {}
    for one in inner.DOCUMENTED:
        found[one.__name__] = {"signature": signature_of(one)}
        if isinstance(one, type):
            found[one.__name__]["methods"] = members_of(one)
    check("python/documented", found)


@pytest.mark.parametrize("name", ["Assessment", "Decision", "Item", "Judgment", "Policy", "Rubric"])
def test_fields_of_records(name):
    model = getattr(metajudge, name)
    fields = {
        field: {
            "required": one.is_required(),
            "default": None if one.is_required() else text_of(repr(one.get_default(call_default_factory=True))),
        }
        for field, one in model.model_fields.items()
    }
    check(f"python/fields_{name}", {"fields": fields, "schema": bare_schema(model.model_json_schema())})


def test_vet_one_judgment_and_several():
    one = vet(JUDGMENT, [scoring(5, "meta")], rubric="baseline")
    models = [scoring(5, "a"), scoring(4, "b"), scoring(5, "c")]
    several = vet([JUDGMENT, {**JUDGMENT, "id": "j-2", "rationale": ""}], models, policy="verdict_score")
    voted = vet([JUDGMENT], models, strategy="majority_vote", threshold=3.5, early_exit=False, seed=4)
    failed = vet(JUDGMENT, [ScriptedModel(lambda _request: "no", name="broken")], rubric="baseline")
    record("vet", {"one": one, "several": several, "voted": voted, "failed": failed})


def test_vet_by_free_evidence():
    record("vet_free", [{name: one[name] for name in _OF_FREE} for one in map(plain, vet(sample()))])


_OF_FREE = (
    *("judgment_id", "status", "final_score", "accepted", "failure", "signals", "strategy", "threshold", "do"),
    *("judgment_digest", "panel_digest"),
)


def test_judge_and_grade():
    both = judge(ITEM, [verdicts("A>B")], rule="agree")
    given = judge([ITEM, {**ITEM, "id": "i-8"}], [verdicts("A>>B"), verdicts("A=B", name="other")], orders="given")
    grades = grade(ITEM, [ScriptedModel(lambda _request: '{"reasoning": "So.", "grade": 7}', name="mini")])
    record("judge", {"both": both, "given": given, "grades": grades})


def test_clash_of_given_answers_and_of_candidates():
    judges = [ranking("one", longest=True), ranking("two", longest=True), ranking("three", longest=False)]
    given = clash(ITEM, judges, seed=1)
    candidates = [ScriptedModel(lambda _r: "9.9", name="brief"), ScriptedModel(lambda _r: "It is 9.9.", name="polite")]
    answered = clash("Which is larger, 9.11 or 9.9?", judges, candidates=candidates, seed=1)
    record("clash", {"given": given, "answered": answered})
    record("standings", inner.standings_of(answered.records))


def test_judge_case():
    one = judge_case(CASE, [ScriptedModel(case_scores, name="mini")])
    two = judge_case([CASE, {**CASE, "id": "case-2", "type": "regulatory"}], [ScriptedModel(case_scores, name="mini")])
    record("judge_case", {"one": one, "actions": [[c.case_id, c.action, c.overall_quality_score] for c in two]})


def test_run_peers_and_their_consensus():
    models = [peer("brief", "9.9"), peer("polite", "It is 9.9."), peer("long", "The larger one is 9.9.")]
    found = run_peers(["Which is larger?", {"id": "q2", "question": "Why?", "domain": "reasons"}], models, seed=2)
    options = inner.Options(resamples=0)
    findings = inner.analyse(found.ballots, options)
    record("peers", {"ballots": found.ballots, "totals": found.totals, "overall": findings.overall})


@pytest.mark.parametrize("rule", RULES)
def test_rank(rule):
    ballots = [one for one in BALLOTS if all(len(group) == 1 for group in one)] if rule == "plackett_luce" else BALLOTS
    record(f"rank_{rule}", rank(ballots, rule=rule).to_json())


def test_voting_functions():
    votes = [["a", "b"]] * 30 + [["b", "a"]] * 10 + [["b", "c"]] * 20 + [["c", "b"]] * 15 + [[["a", "c"]]] * 4
    fit = inner.bradley_terry(votes)
    items, voters = [f"q{n}" for n in range(1, 5) for _ in range(3)], ["x", "y", "z"] * 4
    crowd = inner.dawid_skene(items, voters, list("AABBBBAABBBA"), model="one_coin")
    kemeny = inner.kemeny(BALLOTS)
    panel = inner.panel_ablation(
        [{"x": "A", "y": "A", "z": "B"}, {"x": "B", "y": "A", "z": "B"}, {"x": "A", "y": None, "z": "A"}],
        ["A", "B", "A"],
        ["x", "y", "z"],
    )
    record(
        "voting",
        {
            "bradley_terry": {
                "scores": fit.scores,
                "errors": fit.standard_errors,
                "win": fit.win_probability("a", "b"),
            },
            "dawid_skene": {"decisions": crowd.decisions(), "accuracy": {v: crowd.voters[v].accuracy for v in "xyz"}},
            "kemeny": {"ranking": kemeny.ranking, "cost": kemeny.cost, "n_optima": kemeny.n_optima},
            "borda": {"scores": inner.borda(BALLOTS).scores},
            "panels": panel,
        },
    )


def test_rubrics_and_policies():
    rubrics = {
        f"{name} {prompt_set}": load_rubric(name, prompt_set=prompt_set)
        for name in ("short", "long", "binary", "baseline")
        for prompt_set in (1, 2)
    }
    weighted = load_rubric("short", weights={name: 2.0 - (name == "clarity") for name in CRITERIA})
    policies = ("verdict", "verdict_score", "risk_analysis", "risk_analysis_verified")
    found = {
        "rubrics": {name: {"digest": one.digest, "criteria": one.scored_names} for name, one in rubrics.items()},
        "weights": {one.name: one.weight for one in weighted.criteria},
        "long for short": {one.name: one.weight for one in load_rubric("long", "short").criteria},
        "policies": {name: {"digest": load_policy(name).digest, "basis": load_policy(name).basis} for name in policies},
    }
    record("rubrics_and_policies", found)


def test_judgments_are_read(tmp_path):
    source = open_judgments([SAMPLE])
    records = list(source)
    first = {"first": records[0], "ids": [one.id for one in records if isinstance(one, Judgment)]}
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text(SAMPLE.read_text("utf-8").split("\n", 1)[0] + '\n{"id": 1}\nnothing\n', "utf-8")
    record("read", {**first, "mixed": [type(one).__name__ for one in open_judgments([mixed])]})


def test_tables_of_other_libraries():
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    judgments = sample(6)
    assessed = vet(judgments)
    frame, table = metajudge.to_pandas(judgments), metajudge.to_arrow(assessed)
    assert metajudge.from_pandas(frame) == judgments
    assert metajudge.from_arrow(metajudge.to_arrow(judgments)) == judgments
    columns = {"judgments": list(frame.columns), "assessments": {f.name: str(f.type) for f in table.schema}}
    scored = [row["score"] for row in table.to_pylist()]
    again = metajudge.from_pandas(
        frame.rename(columns={"verdict": "winner", "question": "prompt"})[["id", "winner", "prompt", *ANSWERS]],
        {"id": "id", "verdict": "winner", "question": "prompt", **{name: name for name in ANSWERS}},
        judge="owl",
    )
    record("tables", {**columns, "scores": scored, "verdicts": [str(one.verdict) for one in again]})


def test_rows_of_datasets():
    rows = {"id": ["a", "b"], "question": ["2 + 2?", "3 + 3?"], "one": ["4", "6"], "two": ["5", "7"], "winner": [1, 2]}
    mapping = {"verdict": "winner", "question": "question", "responses.A": "one", "responses.B": "two"}
    vetted = inner.vetted_rows(mapping, judge="owl", values={1: "A", 2: "B"}, agents=[scoring(5, "m")], rubric="short")
    columns = vetted(rows)
    cells = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    record("dataset_rows", {"columns": columns, "kept": [inner.kept_rows()(row) for row in cells]})


def test_an_assertion_of_promptfoo():
    context = {
        "vars": {"question": "2 + 2?", "one": "4", "two": "5"},
        "config": {"responses": {"A": "one", "B": "two"}},
    }
    found = inner.get_assert("The first is right. [[A>B]]", {**context, "config": {**context["config"], "agents": []}})
    answered = inner.call_api(json.dumps({"id": "no judgment"}), {"config": {}})
    record(
        "promptfoo", {"assert": sorted(found), "pass": found["pass"], "score": found["score"], "api": sorted(answered)}
    )


def test_audit():
    record("audit", inner.audit_judgments(sample(24)))


def test_a_guaranteed_threshold():
    questions = [f"q{n}" for n in range(120)]
    scores = [n / 120 for n in range(120)]
    correct = [n >= 30 or n % 3 == 0 for n in range(120)]
    found = inner.guaranteed_threshold(scores, correct, questions, target=0.8, delta=0.1)
    none = inner.guaranteed_threshold(scores[:12], correct[:12], questions[:12], target=0.95, delta=0.1)
    record("guarantee", {"found": found, "none": none, "kinds": [type(found).__name__, type(none).__name__]})


def test_preferences_are_exported_and_checked(tmp_path):
    store = tmp_path / "store.duckdb"
    vet([JUDGMENT, {**JUDGMENT, "id": "j-2", "item": {**ITEM, "id": "i-2"}}], [scoring(5, "meta")], store=str(store))
    request = inner.ExportRequest(selection=inner.Selection(rule="accepted"))
    result = inner.export(str(tmp_path / "pairs"), request, store=str(store))
    faults = inner.check(str(tmp_path / "pairs")).faults
    record("export", {"rows": result.rows, "steps": [one.to_json() for one in result.steps], "faults": faults})


def test_an_engine_and_a_session_do_several_tasks():
    async def work() -> dict[str, Any]:
        seen: list[Any] = []
        async with Engine([scoring(5, "meta")], rubric="baseline") as engine:
            one = await engine.vet(JUDGMENT)
            whole = await engine.vet_all([JUDGMENT], on_result=lambda n, _, found: seen.append([n, found.accepted]))
        models = [verdicts("A>B")]
        async with Session(models, seed=3) as session:
            games = await inner.judge_items(session, [ITEM], orders="given")
            grading = ScriptedModel(lambda _r: '{"reasoning": "", "grade": 3}', name="mini")
            grades = await inner.grade_items(session, [ITEM], judges=[grading])
        async with Session([ScriptedModel(case_scores, name="mini")]) as session:
            cases = await inner.judge_cases(session, [CASE])
        return {
            "one": one.accepted,
            "seen": seen,
            "end": whole.end.value,
            "games": [str(j.verdict) for j in games.judgments],
            "grades": [str(j.verdict) for j in grades.judgments],
            "cases": {"actions": dict(cases.actions), "ids": [c.case_id for c in cases.results]},
        }

    record("session", asyncio.run(work()))


REFUSED = {
    "no judgment": lambda: vet({"id": "x"}, [scoring(5, "m")]),
    "no agent": lambda: judge(ITEM, []),
    "two of one name": lambda: vet(JUDGMENT, [scoring(5, "m"), scoring(4, "m")]),
    "no rubric": lambda: load_rubric("nothing"),
    "no policy": lambda: load_policy("nothing"),
    "one response": lambda: judge({**ITEM, "responses": {"A": "x"}}, [verdicts("A>B")]),
    "no case": lambda: judge_case({"id": "c"}, [ScriptedModel(case_scores, name="m")]),
    "one peer": lambda: run_peers(["Why?"], [peer("a", "x")]),
    "no rule": lambda: rank(BALLOTS, rule="nothing"),
    "no ranking": lambda: rank([[["a"], ["a"]]]),
    "no setting": lambda: inner.panel_config({"agents": [], "nothing": 1}),
    "a script that ended": lambda: vet(JUDGMENT, [ScriptedModel([], name="m")], rubric="baseline"),
    "a rule without both orders": lambda: judge(ITEM, [verdicts("A>B")], orders="given", rule="agree"),
}


def test_refusals_are_errors_of_the_kind_that_docs_name():
    found = {}
    for name, call in REFUSED.items():
        with pytest.raises(metajudge.MetajudgeError) as refused:
            call()
        kinds = [one.__name__ for one in type(refused.value).__mro__]
        found[name] = kinds[: kinds.index("MetajudgeError") + 1]
    record("refused", found)
