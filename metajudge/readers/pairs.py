"""The folder layout: one file of labelled pairs, one of judgments that name their pair.

The pairs are held in memory, the judgments are streamed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from metajudge.readers.games import FIRST, SECOND
from metajudge.readers.lines import BadLine, Reject, Source, read_lines
from metajudge.readers.reader import Found
from metajudge.readers.reasons import reason_of
from metajudge.types import Item, Judgment


class Row(BaseModel):
    """One line of a benchmark's file: the fields that are read, others are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _PairRow(Row):
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
        return Item.model_validate(
            {
                "id": self.item_id,
                "question": self.question,
                "responses": {FIRST: self.response_a, SECOND: self.response_b},
                "category": self.category or self.subset,
                "label": self.label,
                "models": models,
            }
        )


class JudgmentRow(Row):
    """What every judgment line of the layout has."""

    item_id: str


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

    def read(self) -> Iterator[Found | Reject]:
        items: dict[str, Item] = {}
        for source in self._pairs:
            yield from _read_pairs(source, items)
        for line in read_lines(self._judgments):
            if isinstance(line, Reject):
                yield line
                continue
            try:
                judgment = self._judgment(line.data, items)
            except BadLine as bad:
                yield self._judgments.reject(line.number, str(bad), line.raw)
            else:
                yield Found(judgment, self._judgments.name, line.number)

    def _judgment(self, data: dict[str, Any], items: dict[str, Item]) -> Judgment:
        try:
            row = self._row.model_validate(data)
            item = items.get(row.item_id)
            if item is None:
                names = ", ".join(source.name for source in self._pairs)
                raise BadLine(f"no pair with item_id {row.item_id!r} in {names}")
            return self._judgment_of(row, item)
        except ValidationError as error:
            raise BadLine(reason_of(error)) from None


def is_pair(record: dict[str, Any]) -> bool:
    return record.keys() >= {"item_id", "question", "response_a", "response_b"}


def _read_pairs(source: Source, items: dict[str, Item]) -> Iterator[Reject]:
    """Adds a file's pairs to ``items``; yields what could not be read."""
    for line in read_lines(source):
        if isinstance(line, Reject):
            yield line
            continue
        try:
            item = _PairRow.model_validate(line.data).item()
        except ValidationError as error:
            yield source.reject(line.number, reason_of(error), line.raw)
            continue
        if items.setdefault(item.id, item) != item:
            reason = f"item_id {item.id!r} stands for another pair further up; the first one is used"
            yield source.reject(line.number, reason, line.raw)
