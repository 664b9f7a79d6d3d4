"""Scores that people gave are labels, never a judge's verdict; those that fit no verdict are counted and listed."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, parse_map
from metajudge.readers.inspection import inspect_input
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES
from tests.readers.conftest import Write
from tests.readers.interop_files import INTEROP

TRACE = {"id": "t1", "timestamp": "2026-05-29", "project_id": "p", "input": "Why?", "output": "Because."}


def score(id: str, source: str = "EVAL", **more: Any) -> dict[str, Any]:
    row = {"id": id, "trace_id": "t1", "name": "helpful", "value": 1, "source": source, "data_type": "NUMERIC"}
    return row | more


@pytest.fixture
def langfuse(write: Write) -> Path:
    people = [score("s2", "ANNOTATION", author_user_id="ann"), score("s3", "ANNOTATION", name="tone")]
    write("x/scores/1.jsonl", score("s1"), *people)
    return write("x/traces/1.jsonl", TRACE).parent.parent


def test_langfuse_annotations_are_counted_with_names_and_place(langfuse: Path) -> None:
    source = open_judgments([langfuse])
    assert [one.id for one in source] == ["s1"]
    list(source)  # a second pass counts nothing twice
    assert source.people.to_json() == {
        "count": 2,
        "names": {"helpful": 1, "tone": 1},
        "annotators": {"ann": 1},
        "first": f"{langfuse}/scores/1.jsonl:2",
        "matched": 1,
        "unmatched": [f"tone at {langfuse}/scores/1.jsonl:3 (no verdict of that name on t1)"],
    }
    (judgment,) = source
    assert [(one.value, one.annotator) for one in judgment.item.labels] == [(Grade(1), "ann")]
    (notice,) = source.notices
    assert ": 1 read as labels, 1 without a judge's verdict on the same item; the first: tone at " in notice
    assert notice.startswith("2 scores by people (helpful (1), tone (1) by ann")


PHOENIX = {
    "span_id": "s",
    "name": "correctness",
    "input": "Why?",
    "output": "Because.",
    "result": {"label": "correct", "score": 1, "explanation": "Right."},
}


def test_an_annotation_by_a_person_is_no_verdict_of_the_judge(write: Write) -> None:
    rows = [
        PHOENIX | {"annotator_kind": "LLM"},
        PHOENIX | {"annotator_kind": "HUMAN", "output": "So.", "identifier": "ann"},
        PHOENIX | {"source": {"source_type": "HUMAN", "source_id": "bob"}, "output": "No."},
    ]
    path = write("p.jsonl", *rows)
    mapping = parse_map(["question=input,responses.A=output,verdict=result.score,judge=name"])
    source = open_judgments([path], mapping=mapping)
    assert [one.item.responses["A"] for one in source] == ["Because."]
    assert dict(source.people.annotators) == {"ann": 1, "bob": 1}


def test_inspect_never_takes_the_judges_own_label_for_the_truth(write: Write) -> None:
    annotated = PHOENIX | {"annotator_kind": "LLM"}
    flat = {"input": "?", "label": "ok", "score": 1, "annotator_kind": "LLM"}
    own = {"prompt": "?", "label": 1, "score": 1, "judge": "g"}
    for row, label in ((annotated, None), (flat, None), (own, "label")):
        found = inspect_input(str(write("p.jsonl", *(row | {"output": f"{n}"} for n in range(3)))))
        assert found.mapping.columns.get("label") == label


def test_an_input_of_people_alone_says_so(write: Write) -> None:
    write("x/scores/1.jsonl", score("s2", "ANNOTATION"))
    path = write("x/traces/1.jsonl", TRACE).parent.parent
    with pytest.raises(InputError, match=r"no score by a model\. 1 score by a person .* --labels "):
        open_judgments([path])


def folder(write: Write, *given: tuple[str, str, Any]) -> Path:
    """A Langfuse export of one trace; given are (name, source, value)."""
    rows = [
        {"id": f"s{n}", "trace_id": "t", "name": name, "value": value, "source": source, "author_user_id": f"p{n}"}
        for n, (name, source, value) in enumerate(given)
    ]
    write("x/scores.jsonl", *rows)
    return write("x/traces.jsonl", {"id": "t", "project_id": "p", "input": "?", "output": "!"}).parent


def labels(path: Path) -> dict[str, list[Any]]:
    return {one.judge: [label.value.to_json() for label in one.item.labels] for one in open_judgments([path])}


def test_a_score_is_a_label_of_the_verdict_of_its_name(write: Write) -> None:
    path = folder(write, ("tone", "EVAL", 1), ("help", "EVAL", 2), ("Tone", "ANNOTATION", 3), ("help", "ANNOTATION", 4))
    assert labels(path) == {"tone": [3.0], "help": [4.0]}
    # What is asked is part of the item: labels of one item are never about two things.
    assert {one.item.id for one in open_judgments([path])} == {"t/tone", "t/help"}


def test_the_only_name_of_people_may_differ_from_the_judges(write: Write) -> None:
    path = folder(write, ("llm-judge", "EVAL", 1), ("quality", "ANNOTATION", 3), ("quality", "ANNOTATION", 4))
    assert labels(path) == {"llm-judge": [3.0, 4.0]}
    assert [one.item.id for one in open_judgments([path])] == ["t"]


def test_several_names_of_people_of_which_none_is_a_judges_are_no_labels(write: Write) -> None:
    path = folder(write, ("judge", "EVAL", 1), ("quality", "ANNOTATION", 3), ("tone", "ANNOTATION", 4))
    assert labels(path) == {"judge": []}
    source = open_judgments([path])
    list(source)
    assert (source.people.count, source.people.matched) == (2, 0)


def test_a_score_without_a_value_or_with_a_text_is_counted_with_its_reason(write: Write) -> None:
    path = folder(write, ("ok", "EVAL", 1), ("ok", "ANNOTATION", None), ("ok", "ANNOTATION", "long " * 20))
    source = open_judgments([path])
    list(source)
    assert source.people.matched == 0
    assert [reason.split("(", 1)[1][:14] for reason in source.people.unmatched] == ["it has no valu", "'long long lon"]


def test_langfuse_and_langsmith_through_the_models_of_their_sdks() -> None:
    for name, kind in (("langfuse", Category), ("langsmith", lambda right: Grade(float(right)))):
        source = open_judgments([INTEROP / name])
        found = {one.item.question: one for one in source}
        for case in CASES:
            if case.judge is None:
                assert case.question not in found
                continue
            judgment = found[case.question]
            assert judgment.verdict == kind(case.judge)
            said = {one.annotator: one.value for one in judgment.item.labels}
            assert said == {person: kind(right) for person, right in case.people.items()}
        assert (source.people.count, source.people.matched) == (8, 7)
