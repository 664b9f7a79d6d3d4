"""Passes over an input: records given to collectors, and records that contradict each other about an item."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource, Reject, open_judgments
from metajudge.reading.passes import BLOCK
from metajudge.types import Judgment
from tests.reading.conftest import Record, Write


class Blocks:
    """Keeps every record, and how many came together."""

    def __init__(self) -> None:
        self.records: list[Judgment | Reject] = []
        self.sizes: list[int] = []

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        self.records += block
        self.sizes.append(len(block))


def row(number: int, *, item: str = "i", **changes: Any) -> dict[str, Any]:
    content = {"id": item, "question": "Q?", "responses": {"A": "x", "B": "y"}, **changes}
    return {"id": f"j{number}", "item": content, "judge": f"judge-{number}", "verdict": "A>B"}


def several() -> list[Any]:
    """Lines of more than two blocks, a bad one in each."""
    lines = [row(number, item=f"q{number // 4}") | {"judge": f"m{number % 3}"} for number in range(2 * BLOCK + 10)]
    return ["bad" if number % BLOCK == 7 else line for number, line in enumerate(lines)]


def counts(source: JudgmentSource) -> tuple[object, ...]:
    return source.judgments, source.rejects, source.duplicates, source.expected()


def read(*paths: Path, **options: Any) -> tuple[list[str], list[Reject], JudgmentSource]:
    """Ids, rejects and the source; a collector is given the same as a scan gives, before and after it."""
    source, collecting = (open_judgments(paths, **options) for _ in range(2))
    found = list(source.scan())
    assert collecting.collect(Blocks).records == found == list(collecting.scan())
    assert counts(collecting) == counts(source)
    rejects = [one for one in found if isinstance(one, Reject)]
    return [one.id for one in found if isinstance(one, Judgment)], rejects, source


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_have_the_records_of_a_scan(write: Write, packed: bool) -> None:
    file = write("x.jsonl", *several(), packed=packed)
    _, _, source = read(file, judges=["m0"])
    assert counts(source) == (2 * BLOCK + 7, 3, 0, len(list(source)))
    assert open_judgments([file]).collect(Blocks).sizes == [BLOCK, BLOCK, 10]
    steps = [len(found.records) for found in open_judgments([file]).collecting(Blocks, BLOCK)]
    assert steps == [BLOCK, 2 * BLOCK, 2 * BLOCK + 10]


@pytest.mark.parametrize("change", [{"id": "j1"}, {"item": {"id": "q1", "question": "??", "responses": {"A": "a"}}}])
def test_records_that_contradict_each_other_are_settled_as_in_a_scan(
    write: Write, record: Record, change: dict[str, Any]
) -> None:
    file = write("x.jsonl", *several(), record("last") | change, record("j1", judge="m1", verdict="B>A"))
    assert len(read(file)[1]) > 3


@pytest.mark.parametrize(
    ("files", "kept", "told"),
    [
        (  # the minority is rejected, with both places and the field that differs
            [[row(1), row(2), row(3, responses={"A": "x", "B": "z"}), row(4, item="other")]],
            [1, 2, 4],
            "0:3: item 'i' has another responses.B at 0:1: that content stands in 2 judgments, this one in 1",
        ),
        (  # the majority may come later and from another file
            [[row(1, question="Q!", category="Math")], [row(2), row(3)]],
            [2, 3],
            "0:1: item 'i' has another question, category at 1:1",
        ),
        (  # of as many the first is kept; a repeated line is no further vote
            [[row(1), row(2, question="Q!"), row(2, question="Q!"), row(3, question="Q?!")]],
            [1],
            "0:2: item 'i' has another question at 0:1: that content stands in 1 judgment, this one in 1 judgment "
            "(as many: the first one read is kept)",
        ),
    ],
)
def test_of_several_contents_the_one_of_most_judgments_is_kept(
    write: Write, files: list[list[Any]], kept: list[int], told: str
) -> None:
    paths = [write(f"{n}", *lines) for n, lines in enumerate(files)]
    ids, rejects, source = read(*paths)
    assert ids == [f"j{number}" for number in kept]
    assert str(rejects[0]).replace(f"{paths[0].parent}/", "").startswith(told)
    assert len(rejects) == sum(map(len, files)) - len(kept) == source.rejects
    assert source.duplicates == 0


def test_every_pass_gives_the_same_and_the_rejects_are_written(write: Write, tmp_path: Path) -> None:
    _, (reject,), source = read(write("x", row(1), row(2), row(3, label="A>B")))
    assert [one.id for one in source] == [one.id for one in source.all()] == ["j1", "j2"]
    assert source.write_rejects(tmp_path / "rejects") == 1
    written = json.loads((tmp_path / "rejects").read_text())
    assert (written["reason"], json.loads(written["text"])["id"]) == (reject.reason, "j3")
    assert source.line_readers is None  # no part of the file is read without the rest


def test_what_may_differ_from_record_to_record_is_no_contradiction(write: Write) -> None:
    said = [{"value": "A>B", "annotator": "ann"}]
    spelled = row(2, category=None)
    spelled["item"] = dict(reversed(spelled["item"].items()))
    path = write("x", row(1), spelled, row(3, labels=said), row(4, metadata={"A": {"tokens": 3}}))
    kept, rejects, source = read(path)
    assert (kept, rejects, len(source.line_readers)) == (["j1", "j2", "j3", "j4"], [], 1)


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
