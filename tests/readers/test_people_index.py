"""Which verdict a person's score is a label of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metajudge.readers import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]


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


def test_human_rows_of_a_mapped_table_are_labels_of_its_other_rows(write: Write) -> None:
    row = {"input": "?", "output": "!", "name": "ok", "annotator_kind": "LLM", "label": "yes"}
    path = write("t.jsonl", row, row | {"annotator_kind": "HUMAN", "label": "no", "identifier": "ann"})
    from metajudge.readers import parse_map

    mapping = parse_map(["question=input,responses.A=output,verdict=label,judge=name"])
    (one,) = open_judgments([path], mapping=mapping)
    assert [(label.value, label.annotator) for label in one.item.labels] == [(Category("no"), "ann")]
    assert json.loads(one.item.model_dump_json())["labels"] == [{"value": "no", "annotator": "ann"}]
