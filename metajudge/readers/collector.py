"""What takes the records of an input as they are read."""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from metajudge.readers.lines import Reject
from metajudge.types import Judgment


class Collector(Protocol):
    """Takes records one by one."""

    def add(self, record: Judgment | Reject, /) -> None: ...


@runtime_checkable
class BlockCollector(Protocol):
    """Takes some records at a time: steps that are done for all of them, one after the other, cost less."""

    def add_block(self, block: Sequence[Judgment | Reject], /) -> None: ...


C = TypeVar("C", bound=Collector)


def give(collector: Collector, block: Sequence[Judgment | Reject]) -> None:
    """Gives some records to a collector."""
    if isinstance(collector, BlockCollector):
        collector.add_block(block)
        return
    for record in block:
        collector.add(record)
