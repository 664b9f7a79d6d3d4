"""Look-ups by key in the DuckDB file, by the number of the newest row of each key."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb
import numpy as np

from metajudge.store.annotations import annotated
from metajudge.store.lookups import KnownKeys, key_hash
from metajudge.store.rows import REPLY_COLUMNS, reply_of_row
from metajudge.store.stored_map import Pairs
from metajudge.types import Assessment, Reply

Cursor = duckdb.DuckDBPyConnection

_REPLYING: Final = "status = 'ok' AND reply_text IS NOT NULL AND NOT redacted"


def reply_rows(cursor: Cursor) -> Pairs:
    """Hashes and row numbers of the keys that have a reply."""
    return _pairs(cursor, f"SELECT key_hash AS a, call_id::UBIGINT AS b FROM calls WHERE {_REPLYING}")  # noqa: S608


def assessment_rows(cursor: Cursor) -> Pairs:
    """Hashes and row numbers of the keys that have an assessment."""
    return _pairs(cursor, "SELECT key_hash AS a, assessment_id::UBIGINT AS b FROM assessments")


def _pairs(cursor: Cursor, query: str) -> Pairs:
    """Two columns of whole numbers, by the second."""
    found = cursor.execute(query).fetchnumpy()
    a, b = (np.asarray(found[name], dtype=np.uint64) for name in ("a", "b"))
    order = b.argsort(kind="stable")
    return a[order], b[order]


def find_replies(cursor: Cursor, keys: Sequence[str], known: KnownKeys) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    rows = _newest_rows(cursor, f"SELECT {REPLY_COLUMNS} FROM calls WHERE {_REPLYING} AND call_id", keys, known)  # noqa: S608
    return {row[1]: reply_of_row(row) for row in rows}


def find_assessments(cursor: Cursor, keys: Sequence[str], known: KnownKeys) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    query = "SELECT assessment_id, key, payload FROM assessments WHERE assessment_id"
    return {key: annotated(payload, None) for _, key, payload in _newest_rows(cursor, query, keys, known)}


def _newest_rows(cursor: Cursor, query: str, keys: Sequence[str], known: KnownKeys) -> list[Any]:
    """The newest row of each key.

    Args:
        query: of columns that begin with number and key; it ends with the name of the number's column.
    """
    wanted = {key: known.row(key_hash(key)) for key in keys}
    numbers = [row for row in wanted.values() if row is not None]
    if len(numbers) == 1:
        rows = cursor.execute(f"{query} = $1", numbers).fetchall()
    elif numbers:
        number = query.rsplit(" ", 1)[1]
        of_these = f"{query} BETWEEN $2 AND $3 AND {number} IN (SELECT unnest($1::BIGINT[]))"
        rows = cursor.execute(of_these, [numbers, min(numbers), max(numbers)]).fetchall()
    else:
        return []
    return [row for row in rows if row[1] in wanted]
