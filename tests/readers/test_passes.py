"""Passes over an input: records given to collectors, and records that contradict each other about an item."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import JudgmentSource, Reject, open_judgments
from metajudge.readers.passes import BLOCK
from metajudge.types import Judgment
from tests.readers.conftest import Record, Write


class Blocks:
    """Keeps every record, and how many came together."""

    def __init__(self) -> None:
        self.records: list[Judgment | Reject] = []
        self.sizes: list[int] = []

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        self.records += block
        self.sizes.append(len(block))


def several(record: Record) -> list[Any]:
    """Lines of more than two blocks, a bad one in each."""
    lines: list[Any] = []
    for number in range(2 * BLOCK + 10):
        item = {"id": f"q{number // 4}", "question": "?", "responses": {"A": "4", "B": f"{number // 4}"}}
        lines.append("bad" if number % BLOCK == 7 else record(f"j{number}", judge=f"m{number % 3}", item=item))
    return lines


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_have_the_records_of_a_scan(write: Write, record: Record, packed: bool) -> None:
    file = write("x.jsonl", *several(record), packed=packed)
    source, other = (open_judgments([file], judges=["m0"]) for _ in range(2))
    found = source.collect(Blocks)
    assert found.records == list(other.scan())
    assert found.sizes == [BLOCK, BLOCK, 10]
    assert (source.judgments, source.rejects, source.duplicates) == (2 * BLOCK + 7, 3, 0)
    assert source.expected() == other.expected() == len(list(source))


@pytest.mark.parametrize("change", [{"id": "j1"}, {"item": {"id": "q1", "question": "??", "responses": {"A": "a"}}}])
def test_records_that_contradict_each_other_are_settled_as_in_a_scan(
    write: Write, record: Record, change: dict[str, Any]
) -> None:
    file = write("x.jsonl", *several(record), record("last") | change, record("j1", judge="m1", verdict="B>A"))
    source, other = (open_judgments([file]) for _ in range(2))
    assert source.collect(Blocks).records == list(other.scan())
    assert (source.judgments, source.rejects, source.duplicates) == (other.judgments, other.rejects, other.duplicates)
    assert source.rejects > 3


def test_steps_are_told_once_after_so_many_records(write: Write, record: Record) -> None:
    source = open_judgments([write("x.jsonl", *several(record))])
    assert [len(found.records) for found in source.collecting(Blocks, BLOCK)] == [BLOCK, 2 * BLOCK, 2 * BLOCK + 10]


def row(number: int, *, item: str = "i", **changes: Any) -> dict[str, Any]:
    content = {"id": item, "question": "Q?", "responses": {"A": "x", "B": "y"}, **changes}
    return {"id": f"j{number}", "item": content, "judge": f"judge-{number}", "verdict": "A>B"}


def counts(source: JudgmentSource) -> tuple[object, ...]:
    return source.judgments, source.rejects, source.duplicates, source.expected()


def read(*paths: Path, **options: Any) -> tuple[list[str], list[Reject], JudgmentSource]:
    source = open_judgments(paths, **options)
    found = list(source.scan())
    collecting = open_judgments(paths, **options)
    assert collecting.collect(Blocks).records == found
    assert counts(collecting) == counts(source)
    assert list(collecting.scan()) == found
    rejects = [one for one in found if isinstance(one, Reject)]
    return [one.id for one in found if isinstance(one, Judgment)], rejects, source


def test_the_minority_is_rejected_with_both_places_and_the_field_that_differs(write: Write) -> None:
    path = write("x", row(1), row(2), row(3, responses={"A": "x", "B": "z"}), row(4, item="other"))
    kept, (reject,), source = read(path)
    assert kept == ["j1", "j2", "j4"]
    assert (reject.line, json.loads(reject.text)["id"]) == (3, "j3")
    assert f"item 'i' has another responses.B at {path}:1: that content stands in 2 judgments, this one in 1" in str(
        reject
    )
    assert (source.judgments, source.rejects, source.duplicates) == (3, 1, 0)


def test_the_majority_may_come_later_and_from_another_file(write: Write) -> None:
    first, second = write("a", row(1, question="Q!", category="Math")), write("b", row(2), row(3))
    kept, (reject,), _ = read(first, second)
    assert kept == ["j2", "j3"]
    assert str(reject).startswith(f"{first}:1: item 'i' has another question, category at {second}:1")


def test_of_as_many_the_first_is_kept_and_that_is_said(write: Write) -> None:
    lines = row(1), row(2, question="Q!"), row(2, question="Q!"), row(3, question="Q?!")
    kept, rejects, _ = read(write("x", *lines))
    assert kept == ["j1"]
    assert len(rejects) == 3, "the repeated line is no further vote"
    assert all("as many: the first one read is kept" in str(reject) for reject in rejects)


def test_every_pass_gives_the_same_and_the_rejects_are_written(write: Write, tmp_path: Path) -> None:
    _, (reject,), source = read(write("x", row(1), row(2), row(3, label="A>B")))
    assert [one.id for one in source] == [one.id for one in source.all()] == ["j1", "j2"]
    assert source.write_rejects(tmp_path / "rejects") == 1
    assert json.loads((tmp_path / "rejects").read_text())["reason"] == reject.reason
    assert source.line_readers is None  # no part of the file is read without the rest


def test_what_may_differ_from_record_to_record_is_no_contradiction(write: Write) -> None:
    said = [{"value": "A>B", "annotator": "ann"}]
    spelled = row(2, category=None)
    spelled["item"] = dict(reversed(spelled["item"].items()))
    path = write("x", row(1), spelled, row(3, labels=said), row(4, metadata={"A": {"tokens": 3}}))
    kept, rejects, source = read(path)
    assert (kept, rejects) == (["j1", "j2", "j3", "j4"], [])
    assert len(source.line_readers) == 1


def test_what_a_collector_refuses_is_refused_for_what_stays_in_the_input_alone(write: Write) -> None:
    class Picky(Blocks):
        def add_block(self, block: Sequence[Judgment | Reject]) -> None:
            super().add_block(block)
            for record in block:
                if isinstance(record, Judgment) and record.item.question == "Q!":
                    raise InputError(f"{record.id} is refused")

    left_out = open_judgments([write("x", row(1), row(2, question="Q!"), row(3))])
    assert [one.id for one in left_out.collect(Picky).records if isinstance(one, Judgment)] == ["j1", "j3"]
    with pytest.raises(InputError, match="j1 is refused"):
        open_judgments([write("y", row(1, question="Q!"), row(2, question="Q!"))]).collect(Picky)
