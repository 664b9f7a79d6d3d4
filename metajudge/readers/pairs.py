"""The folder layout: one file of labelled pairs, one of judgments that name their pair.

The pairs are held in memory, the judgments are streamed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from metajudge.readers.lines import BadLine, Line, Reject, Source, read_lines
from metajudge.readers.reader import FoundJudgment, each
from metajudge.readers.recorded_games import FIRST, SECOND
from metajudge.types import Category, Item, Judgment


class BenchmarkLine(BaseModel):
    """One line of a benchmark's file: the fields that are read, others are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _PairRow(BenchmarkLine):
    item_id: str
    question: str
    response_a: str
    response_b: str
    label: str | None = None
    category: str | None = None
    subset: str | None = None
    response_model: str | None = None

    def item(self) -> Item:
        models = {FIRST: self.response_model, SECOND: self.response_model} if self.response_model else None
        item = Item.model_validate(
            {
                "id": self.item_id,
                "question": self.question,
                "responses": {FIRST: self.response_a, SECOND: self.response_b},
                "category": self.category or self.subset,
                "label": self.label,
                "models": models,
            }
        )
        if isinstance(item.label, Category):
            raise BadLine(f"label {self.label!r} is none of A>B, A=B, B>A")
        return item


class JudgmentRow(BenchmarkLine):
    """What every judgment line of the layout has; label and decision are in the order shown."""

    item_id: str
    judge_model: str
    decision: str | None
    label: str | None = None
    judgment_text: str | None = None
    subset: str | None = None
    has_explanation: bool | None = None


R = TypeVar("R", bound=JudgmentRow)


class PairedJudgments(Generic[R]):
    """Reads judgments that refer to pairs in another file."""

    def __init__(
        self,
        format_name: str,
        pairs: Sequence[Source],
        judgments: Source,
        row: type[R],
        judgment_of: Callable[[R, Item], Judgment],
    ) -> None:
        self.format = format_name
        self._pairs = pairs
        self._judgments = judgments
        self._row = row
        self._judgment_of = judgment_of

    def read(self) -> Iterator[FoundJudgment | Reject]:
        items: dict[str, Item] = {}
        for source in self._pairs:
            yield from _read_pairs(source, items)

        def made(line: Line) -> Judgment:
            row = self._row.model_validate(line.data)
            if row.item_id not in items:
                names = ", ".join(source.name for source in self._pairs)
                raise BadLine(f"no pair with item_id {row.item_id!r} in {names}")
            return self._judgment_of(row, items[row.item_id])

        for found in each(self._judgments, read_lines(self._judgments, nan_is_null=True, infinite_is_text=True), made):
            yield found if isinstance(found, Reject) else FoundJudgment(found[1], self._judgments.name, found[0])


def is_pair(record: dict[str, Any]) -> bool:
    return record.keys() >= {"item_id", "question", "response_a", "response_b"}


def _read_pairs(source: Source, items: dict[str, Item]) -> Iterator[Reject]:
    """Adds a file's pairs to ``items``; yields what could not be read."""

    def add(line: Line) -> None:
        item = _PairRow.model_validate(line.data).item()
        if items.setdefault(item.id, item) != item:
            raise BadLine(f"item_id {item.id!r} was already used for another pair; the first pair is kept")

    return (
        found
        for found in each(source, read_lines(source, nan_is_null=True, infinite_is_text=True), add)
        if isinstance(found, Reject)
    )
