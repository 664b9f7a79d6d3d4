"""Look-ups by key in the DuckDB file, through the 64-bit hash beside each key."""

from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.lookups import MAX_KEYS, key_hash
from metajudge.store.rows import REPLY_COLUMNS, reply_of_row
from metajudge.store.sql import only_row
from metajudge.types import Assessment, Reply

Cursor = duckdb.DuckDBPyConnection

_REPLYING: Final = "status = 'ok' AND reply_text IS NOT NULL AND NOT redacted"


def reply_hashes(cursor: Cursor) -> npt.NDArray[np.uint64] | None:
    """Hashes of the keys that have a reply, None where they are too many to hold."""
    return stored_hashes(cursor, "calls", "key_hash", _REPLYING)


def assessment_hashes(cursor: Cursor) -> npt.NDArray[np.uint64] | None:
    """Hashes of the keys that have an assessment, None where they are too many to hold."""
    return stored_hashes(cursor, "assessments", "key_hash")


def stored_hashes(cursor: Cursor, table: str, hashed: str, condition: str = "true") -> npt.NDArray[np.uint64] | None:
    """The values of a UBIGINT expression over a table, None where they are too many to hold."""
    (count,) = only_row(cursor, f"SELECT count(*) FROM {table}")  # noqa: S608 - our own names
    if count > MAX_KEYS:
        return None
    query = f"SELECT {hashed} AS hashed FROM {table} WHERE {condition}"  # noqa: S608
    return np.asarray(cursor.execute(query).fetchnumpy()["hashed"], dtype=np.uint64)


def find_replies(cursor: Cursor, keys: Sequence[str]) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    wanted = set(keys)
    hashes = ", ".join(str(key_hash(key)) for key in wanted)  # as literals, which DuckDB finds by the index
    query = f"SELECT {REPLY_COLUMNS} FROM calls WHERE key_hash IN ({hashes}) AND {_REPLYING}"  # noqa: S608
    rows = sorted(cursor.execute(query).fetchall(), key=lambda row: int(row[0]))
    return {row[1]: reply_of_row(row) for row in rows if row[1] in wanted}


def find_assessments(cursor: Cursor, keys: Sequence[str]) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    wanted = set(keys)
    hashes = [key_hash(key) for key in wanted]
    if len(hashes) == 1:
        query = "SELECT key, assessment_id FROM assessments WHERE key_hash = $1"
        rows = cursor.execute(query, hashes).fetchall()
    else:
        query = "SELECT key, assessment_id FROM assessments WHERE key_hash IN (SELECT unnest($1::UBIGINT[]))"
        rows = cursor.execute(query, [hashes]).fetchall()
    newest: dict[str, int] = {}
    for key, number in rows:
        if key in wanted:
            newest[key] = max(number, newest.get(key, 0))
    payloads = _payloads(cursor, list(newest.values()))
    return {key: Assessment.model_validate_json(payloads[number]) for key, number in newest.items()}


def _payloads(cursor: Cursor, numbers: list[int]) -> dict[int, str]:
    if not numbers:
        return {}
    if len(numbers) == 1:
        query = "SELECT assessment_id, payload FROM assessments WHERE assessment_id = $1"
        return dict(cursor.execute(query, numbers).fetchall())
    query = (
        "SELECT assessment_id, payload FROM assessments WHERE assessment_id BETWEEN $2 AND $3 "
        "AND assessment_id IN (SELECT unnest($1::BIGINT[]))"
    )
    return dict(cursor.execute(query, [numbers, min(numbers), max(numbers)]).fetchall())
