"""Look-ups by key in the DuckDB file: by the row's number, or, where that is not known, by the hash beside the key."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.lookups import MAX_KEYS, KnownKeys, key_hash
from metajudge.store.rows import REPLY_COLUMNS, reply_of_row
from metajudge.store.sql import only_row
from metajudge.types import Assessment, Reply

Cursor = duckdb.DuckDBPyConnection
Pairs = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]

_REPLYING: Final = "status = 'ok' AND reply_text IS NOT NULL AND NOT redacted"


def reply_rows(cursor: Cursor) -> Pairs | None:
    """Hashes and row numbers of the keys that have a reply, None where they are too many to hold."""
    return pairs(cursor, "calls", "key_hash", "call_id", _REPLYING)


def assessment_rows(cursor: Cursor) -> Pairs | None:
    """Hashes and row numbers of the keys that have an assessment, None where they are too many to hold."""
    return pairs(cursor, "assessments", "key_hash", "assessment_id")


def pairs(cursor: Cursor, table: str, first: str, second: str, condition: str = "true") -> Pairs | None:
    """The values of two whole, not negative expressions over a table, by the second; None where they are too many."""
    (count,) = only_row(cursor, f"SELECT count(*) FROM {table}")  # noqa: S608 - our own names
    if count > MAX_KEYS:
        return None
    query = f"SELECT {first} AS a, ({second})::UBIGINT AS b FROM {table} WHERE {condition}"  # noqa: S608
    found = cursor.execute(query).fetchnumpy()
    a, b = (np.asarray(found[name], dtype=np.uint64) for name in ("a", "b"))
    order = b.argsort(kind="stable")
    return a[order], b[order]


def find_replies(cursor: Cursor, keys: Sequence[str], known: KnownKeys) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    rows = _newest_rows(cursor, "calls", "call_id", REPLY_COLUMNS, keys, known, _REPLYING)
    return {row[1]: reply_of_row(row) for row in rows}


def find_assessments(cursor: Cursor, keys: Sequence[str], known: KnownKeys) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    columns = "assessment_id, key, payload"
    rows = _newest_rows(cursor, "assessments", "assessment_id", columns, keys, known)
    return {key: Assessment.model_validate_json(payload) for _, key, payload in rows}


def _newest_rows(
    cursor: Cursor,
    table: str,
    number: str,
    columns: str,
    keys: Sequence[str],
    known: KnownKeys,
    condition: str = "true",
) -> list[Any]:
    """The newest row of each key; the columns begin with number and key."""
    wanted = {key: known.row(key_hash(key)) for key in keys}
    numbers = [row for row in wanted.values() if row is not None]
    query = f"SELECT {columns} FROM {table} WHERE ({condition}) AND"  # noqa: S608 - our own names
    rows: list[Any] = []
    if len(numbers) == 1:
        rows = cursor.execute(f"{query} {number} = $1", numbers).fetchall()
    elif numbers:
        of_these = f"{number} BETWEEN $2 AND $3 AND {number} IN (SELECT unnest($1::BIGINT[]))"
        rows = cursor.execute(f"{query} {of_these}", [numbers, min(numbers), max(numbers)]).fetchall()
    hashes = [] if known.complete else [key_hash(key) for key, row in wanted.items() if row is None]
    if hashes:
        rows += cursor.execute(f"{query} key_hash IN (SELECT unnest($1::UBIGINT[]))", [hashes]).fetchall()
    return list({row[1]: row for row in sorted(rows, key=lambda row: int(row[0])) if row[1] in wanted}.values())
