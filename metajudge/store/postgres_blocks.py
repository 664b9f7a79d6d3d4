"""Blocks of assessments in a PostgreSQL database; see :mod:`metajudge.store.bulk`."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from metajudge.store.block_writes import (
    BlockWrite,
    CheckedBlock,
    annotation_values,
    item_values,
    judgment_values,
    merged,
)
from metajudge.store.bulk import Appended, AssessmentBlock, ItemRow, JudgmentRow, Numbers
from metajudge.store.input_caches import InputCaches
from metajudge.store.postgres_connections import PgConnection
from metajudge.store.postgres_journal import copy_annotations, copy_assessment_rows, rows_to_add, save_texts
from metajudge.store.repeats import NewRows
from metajudge.store.rows import Row
from metajudge.store.sql import Ask, Dialect

T = TypeVar("T")


class PostgresBlocks(InputCaches):
    """A :class:`~metajudge.store.bulk.BulkStore`; every change is safe to repeat.

    Args:
        change: runs a change in one transaction, after everything acknowledged.
        ask: runs a read-only query, after everything acknowledged.
    """

    def __init__(self, change: Ask, ask: Ask, dialect: Dialect) -> None:
        super().__init__(change, ask, dialect)
        self._in_transaction: Callable[[Callable[[Any], Any]], Awaitable[Any]] = change
        self._query: Callable[[Callable[[Any], Any]], Awaitable[Any]] = ask

    async def keep_texts(self, items: Sequence[ItemRow], judgments: Sequence[JudgmentRow]) -> int:
        rows = item_values(items), judgment_values(judgments)
        added: int = await self._in_transaction(lambda connection: save_texts(connection, *rows))
        return added

    async def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        missing: tuple[set[str], set[str]] = await self._query(
            lambda connection: (
                _without(connection, "items", "item_digest", items),
                _without(connection, "judgments", "judgment_digest", judgments),
            )
        )
        return missing

    async def append_block(self, block: AssessmentBlock) -> Appended:
        writes = CheckedBlock.of(block).writes()
        new: NewRows[BlockWrite] = await self._in_transaction(lambda connection: _append(connection, block, writes))
        return Appended(
            np.array(new.versions, dtype=np.int64), len(new.assessments) + len(new.annotations), new.changed
        )

    async def read_results(self, numbers: Numbers) -> list[bytes | None]:
        if not len(numbers):
            return []
        found: dict[int, Row] = await self._query(lambda connection: _read(connection, numbers.tolist()))
        nothing: Row = (None, None)
        return [merged(payload, said) for payload, said in (found.get(one, nothing) for one in numbers.tolist())]


def _without(connection: PgConnection, table: str, digest: str, asked: Sequence[str]) -> set[str]:
    query = f"SELECT {digest} FROM {table} WHERE {digest} = ANY($1::VARCHAR[]) AND NOT redacted"  # noqa: S608
    return set(asked).difference(found for (found,) in connection.execute(query, [list(asked)]).fetchall())


def _append(connection: PgConnection, block: AssessmentBlock, writes: Sequence[BlockWrite]) -> NewRows[BlockWrite]:
    # Locks the judgments' rows until the transaction ends, as saving them does: no other replica can append anything
    # about them meanwhile.
    connection.execute(
        "SELECT 1 FROM judgments WHERE judgment_digest = ANY($1::VARCHAR[]) ORDER BY judgment_digest FOR UPDATE",
        [list(block.judgment_digests)],
    )
    new = rows_to_add(connection, writes)
    now, b = time.time(), block
    copy_assessment_rows(
        connection,
        (
            (
                *(number, one.key, b.run_id, now, b.judgment_digests[i], b.judgment_ids[i], b.item_ids[i]),
                *(b.judges[i], b.statuses[i], b.final_scores[i], b.accepted[i], b.strategies[i]),
                *(b.panel_digests[i], one.payload, False),
            )
            for number, one in new.assessments
            for i in (one.place,)
        ),
    )
    copy_annotations(connection, annotation_values(block, new, now))
    return new


def _read(connection: PgConnection, numbers: Sequence[int]) -> dict[int, Row]:
    """Version -> the assessment's payload and its annotation (number, payload)."""
    rows = connection.execute(
        "SELECT a.assessment_id, a.payload, NULL FROM assessments a "
        "WHERE a.assessment_id = ANY($1::BIGINT[]) AND NOT a.redacted UNION ALL "
        "SELECT n.annotation_id, a.payload, n.payload FROM annotations n "
        "JOIN assessments a ON a.assessment_id = n.assessment_id "
        "WHERE n.annotation_id = ANY($1::BIGINT[]) AND NOT a.redacted AND NOT n.redacted",
        [list(numbers)],
    ).fetchall()
    return {number: (payload, None if said is None else (number, said)) for number, payload, said in rows}
