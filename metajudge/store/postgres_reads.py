"""Look-ups by key in PostgreSQL, and its differences in dialect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metajudge.store.postgres_journal import copy_rows, next_numbers
from metajudge.store.rows import REPLY_COLUMNS, reply_of_row
from metajudge.store.sql import PAGE, Connection, add_by_lists
from metajudge.types import Assessment, Reply


class PostgresDialect:
    """A :class:`~metajudge.store.sql.Dialect`: several processes change rows, so rows are locked."""

    skip_locked: Final = "FOR UPDATE OF kept SKIP LOCKED"
    keep_lines: Final = "FOR KEY SHARE OF lines"

    def lock_reviews(self, connection: Connection, names: Sequence[str]) -> None:
        connection.execute(
            "SELECT 1 FROM reviews WHERE review_id IN (SELECT unnest($1::VARCHAR[])) ORDER BY review_id FOR UPDATE",
            [list(names)],
        )

    def overwrite(self, table: str) -> str:
        return f"UPDATE {table} SET payload = $1, redacted = true"  # noqa: S608 - our own names

    def lock_facts(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('metajudge facts ' || current_schema(), 0))")

    def pages(
        self, connection: Connection, table: str, key: str, values: Sequence[str]
    ) -> Iterator[tuple[str, list[Any]]]:
        for start in range(0, len(values), PAGE):
            yield f"{key} = ANY($1::VARCHAR[])", [values[start : start + PAGE]]

    def append(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        copy_rows(connection, f"COPY {table} ({', '.join(columns)}) FROM STDIN", rows)

    def add_missing(
        self, connection: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        return add_by_lists(connection, table, types, rows)

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        return next_numbers(connection, table, column, count)


def find_replies(connection: Connection, keys: Sequence[str]) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT DISTINCT ON (key) {REPLY_COLUMNS} FROM calls WHERE key = ANY($1::VARCHAR[]) "  # noqa: S608 - our own names
        "AND status = 'ok' AND reply_text IS NOT NULL AND NOT redacted ORDER BY key, call_id DESC",
        [list(keys)],
    ).fetchall()
    return {row[1]: reply_of_row(row) for row in rows}


def find_assessments(connection: Connection, keys: Sequence[str]) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    rows = connection.execute(
        "SELECT DISTINCT ON (key) key, payload FROM assessments WHERE key = ANY($1::VARCHAR[]) "
        "ORDER BY key, assessment_id DESC",
        [list(keys)],
    ).fetchall()
    return {key: Assessment.model_validate_json(payload) for key, payload in rows}
