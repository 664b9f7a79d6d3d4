"""Records given to collectors, one by one and in blocks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import Reject, open_judgments
from metajudge.readers.item_contents import BLOCK
from metajudge.types import Judgment

Write = Callable[..., Path]
Record = Callable[..., dict[str, Any]]


class Each:
    """Keeps every record."""

    def __init__(self) -> None:
        self.records: list[Judgment | Reject] = []

    def add(self, record: Judgment | Reject) -> None:
        self.records.append(record)


class Blocks(Each):
    """Keeps them, and how many came together."""

    def __init__(self) -> None:
        super().__init__()
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
    assert source.collect(Each).records == found.records


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
