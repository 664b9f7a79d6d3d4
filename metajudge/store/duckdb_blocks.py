"""Blocks of assessments in a DuckDB file; see :mod:`metajudge.store.bulk`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.block_columns import Added
from metajudge.store.block_writes import CheckedBlock, item_values, judgment_values, merged
from metajudge.store.bulk import Appended, AssessmentBlock, ItemRow, JudgmentRow, Numbers
from metajudge.store.input_caches import InputCaches
from metajudge.store.journal import Journal
from metajudge.store.lookups import KnownKeys, RecentAssessments
from metajudge.store.rows import Row
from metajudge.store.sql import Ask, Dialect

Cursor = duckdb.DuckDBPyConnection


PORTION: Final = 8_000_000
"""Characters of texts that are written in one transaction, which must fit into DuckDB's memory several times."""


_PAYLOAD: Final = -2
"""Place of the texts in rows of items and judgments."""


def _portions(items: Sequence[Row], judgments: Sequence[Row]) -> Iterator[tuple[list[Row], list[Row]]]:
    """Items and then judgments, of at most so many characters together; one longer text is a portion of its own."""
    portion: tuple[list[Row], list[Row]] = [], []
    size = 0
    for kind, rows in enumerate((items, judgments)):
        for row in rows:
            length = len(row[_PAYLOAD])
            if size + length > PORTION and size:
                yield portion
                portion, size = ([], []), 0
            portion[kind].append(row)
            size += length
    yield portion


def _kept(items: Sequence[Row], judgments: Sequence[Row]) -> Callable[[Journal], int]:
    return lambda journal: journal.keep_texts(items, judgments)


def read_results(cursor: Cursor, numbers: Numbers) -> list[bytes | None]:
    """Versions as JSON; see :meth:`metajudge.store.bulk.BulkStore.read_results`."""
    if not len(numbers):
        return []
    said = _columns(cursor, "annotation_id, assessment_id, payload", "annotations", numbers)
    annotations = dict(zip(said[0].tolist(), zip(said[1].tolist(), said[2], strict=True), strict=True))
    wanted = np.array([annotations[n][0] if n in annotations else n for n in numbers.tolist()], dtype=np.int64)
    ids, payloads = _columns(cursor, "assessment_id, payload", "assessments", wanted)
    if not annotations and np.array_equal(ids, wanted):
        return [payload.encode() for payload in payloads]
    found = dict(zip(ids.tolist(), payloads, strict=True))
    return [
        merged(found.get(of), annotations.get(number))
        for number, of in zip(numbers.tolist(), wanted.tolist(), strict=True)
    ]


def _columns(cursor: Cursor, columns: str, table: str, numbers: Numbers) -> list[npt.NDArray[Any]]:
    """Columns of the rows with these numbers, the number first, by number; without forgotten ones."""
    number = columns.partition(",")[0]
    low, high = int(numbers.min()), int(numbers.max())
    condition = f"{number} BETWEEN $1 AND $2 AND NOT redacted"
    values: list[Any] = [low, high]
    if high - low >= 2 * len(numbers):
        condition += f" AND {number} IN (SELECT unnest($3::BIGINT[]))"
        values.append(numbers.tolist())
    query = f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {number}"  # noqa: S608 - our own names
    return [np.asarray(one) for one in cursor.execute(query, values).fetchnumpy().values()]


class DuckDBBlocks(InputCaches):
    """A :class:`~metajudge.store.bulk.BulkStore`.

    Args:
        write: runs a function with the journal in the writer thread, after everything acknowledged.
        read: runs a function with a cursor in a reading thread.
        caches: for :class:`InputCaches`.
    """

    def __init__(
        self,
        write: Callable[[Callable[[Journal], Any]], Any],
        read: Callable[[Callable[[Cursor], Any]], Any],
        keys: KnownKeys,
        recent: RecentAssessments,
        caches: tuple[Ask, Ask, Dialect],
    ) -> None:
        super().__init__(*caches)
        self._write = write
        self._read = read
        self._keys = keys
        self._recent = recent

    async def keep_texts(self, items: Sequence[ItemRow], judgments: Sequence[JudgmentRow]) -> int:
        rows = item_values(items), judgment_values(judgments)
        added = 0
        for some in _portions(*rows):
            added += await self._write(_kept(*some))
        return added

    async def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        missing: tuple[set[str], set[str]] = await self._write(lambda journal: journal.without_texts(items, judgments))
        return missing

    async def append_block(self, block: AssessmentBlock) -> Appended:
        checked = CheckedBlock.of(block)
        await self._read(lambda _: self._keys.load())
        added: Added = await self._write(lambda journal: self._append(journal, checked))
        self._recent.clear()
        return Appended(added.versions, added.count, added.changed)

    def _append(self, journal: Journal, checked: CheckedBlock) -> Added:
        added = journal.append_block(checked, self._keys.numbers(checked.hashes))
        self._keys.add(checked.hashes[added.places].tolist(), added.numbers.tolist())
        return added

    async def read_results(self, numbers: Numbers) -> list[bytes | None]:
        found: list[bytes | None] = await self._read(lambda cursor: read_results(cursor, numbers))
        return found
