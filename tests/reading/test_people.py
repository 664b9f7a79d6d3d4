"""Scores that people gave are labels, never a judge's verdict; those that fit no verdict are counted and listed."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments, parse_map
from metajudge.reading.inspection import inspect_input
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES
from tests.reading.conftest import Write
from tests.reading.interop_files import INTEROP

PEOPLE = "ANNOTATION"


def exported(write: Write, *scores: tuple[str, str, Any]) -> Path:
    """A Langfuse export of one trace; given are (name, source, value)."""
    rows = [
        {"id": f"s{n}", "trace_id": "t", "name": name, "value": value, "source": source, "author_user_id": f"p{n}"}
        for n, (name, source, value) in enumerate(scores)
    ]
    write("x/scores.jsonl", *rows)
    return write("x/traces.jsonl", {"id": "t", "project_id": "p", "input": "?", "output": "!"}).parent


def test_annotations_are_counted_with_names_and_place(write: Write) -> None:
    path = exported(write, ("helpful", "EVAL", 1), ("helpful", PEOPLE, 1), ("tone", PEOPLE, 1))
    source = open_judgments([path])
    assert [one.id for one in source] == ["s0"]
    (judgment,) = source  # a second pass counts nothing twice
    assert source.people.to_json() == {
        "count": 2,
        "names": {"helpful": 1, "tone": 1},
        "annotators": {"p1": 1, "p2": 1},
        "first": f"{path}/scores.jsonl:2",
        "matched": 1,
        "unmatched": [f"tone at {path}/scores.jsonl:3 (no verdict of that name on t)"],
    }
    assert [(one.value, one.annotator) for one in judgment.item.labels] == [(Grade(1), "p1")]
    (notice,) = source.notices
    assert ": 1 read as labels, 1 without a judge's verdict on the same item; the first: tone at " in notice
    assert notice.startswith("2 scores by people (helpful (1), tone (1) by p1 (1), p2 (1)")


@pytest.mark.parametrize(
    ("scores", "labels", "items", "unmatched"),
    [
        # A label of the verdict of its name. What is asked is part of the item: its labels are about one thing.
        (
            [("tone", "EVAL", 1), ("help", "EVAL", 2), ("Tone", PEOPLE, 3), ("help", PEOPLE, 4)],
            {"tone": [3.0], "help": [4.0]},
            {"t/tone", "t/help"},
            [],
        ),
        # The only name of people may differ from the judge's; of several, none is a label.
        ([("judge", "EVAL", 1), ("quality", PEOPLE, 3), ("quality", PEOPLE, 4)], {"judge": [3.0, 4.0]}, {"t"}, []),
        (
            [("judge", "EVAL", 1), ("quality", PEOPLE, 3), ("tone", PEOPLE, 4)],
            {"judge": []},
            {"t"},
            ["no verdict of "] * 2,
        ),
        (
            [("ok", "EVAL", 1), ("ok", PEOPLE, None), ("ok", PEOPLE, "long " * 20)],
            {"ok": []},
            {"t"},
            ["it has no valu", "'long long lon"],
        ),
    ],
)
def test_a_score_is_a_label_or_counted_with_its_reason(
    write: Write, scores: Any, labels: dict[str, list[float]], items: set[str], unmatched: list[str]
) -> None:
    source = open_judgments([exported(write, *scores)])
    found = list(source)
    assert {one.judge: [label.value.to_json() for label in one.item.labels] for one in found} == labels
    assert {one.item.id for one in found} == items
    assert [reason.split("(", 1)[1][:14] for reason in source.people.unmatched] == unmatched
    people = sum(kind == PEOPLE for _, kind, _ in scores)
    assert (source.people.count, source.people.matched) == (people, people - len(unmatched))


def test_an_input_of_people_alone_says_so(write: Write) -> None:
    with pytest.raises(InputError, match=r"no score by a model\. 1 score by a person .* --labels "):
        open_judgments([exported(write, ("tone", PEOPLE, 1))])


RESULT = {"label": "correct", "score": 1, "explanation": "Right."}
PHOENIX = {"span_id": "s", "name": "correctness", "input": "Why?", "output": "Because.", "result": RESULT}


def test_an_annotation_by_a_person_is_no_verdict_of_the_judge(write: Write) -> None:
    rows = [
        PHOENIX | {"annotator_kind": "LLM"},
        PHOENIX | {"annotator_kind": "HUMAN", "output": "So.", "identifier": "ann"},
        PHOENIX | {"source": {"source_type": "HUMAN", "source_id": "bob"}, "output": "No."},
    ]
    mapping = parse_map(["question=input,responses.A=output,verdict=result.score,judge=name"])
    source = open_judgments([write("p.jsonl", *rows)], mapping=mapping)
    assert [one.item.responses["A"] for one in source] == ["Because."]
    assert dict(source.people.annotators) == {"ann": 1, "bob": 1}


@pytest.mark.parametrize(
    ("row", "label"),
    [
        (PHOENIX | {"annotator_kind": "LLM"}, None),
        ({"input": "?", "label": "ok", "score": 1, "annotator_kind": "LLM"}, None),
        ({"prompt": "?", "label": 1, "score": 1, "judge": "g"}, "label"),
    ],
)
def test_inspect_never_takes_the_judges_own_label_for_the_truth(write: Write, row: Any, label: str | None) -> None:
    found = inspect_input(str(write("p.jsonl", *(row | {"output": f"{n}"} for n in range(3)))))
    assert found.mapping.columns.get("label") == label


@pytest.mark.parametrize(("name", "kind"), [("langfuse", Category), ("langsmith", lambda right: Grade(float(right)))])
def test_exports_through_the_models_of_their_sdks(name: str, kind: Any) -> None:
    source = open_judgments([INTEROP / name])
    found = {one.item.question: one for one in source}
    assert found.keys() == {case.question for case in CASES if case.judge is not None}
    for case in (case for case in CASES if case.judge is not None):
        judgment = found[case.question]
        assert judgment.verdict == kind(case.judge)
        said = {one.annotator: one.value for one in judgment.item.labels}
        assert said == {person: kind(right) for person, right in case.people.items()}
    assert (source.people.count, source.people.matched) == (8, 7)
