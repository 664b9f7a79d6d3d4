"""Copies a store into another in batches: existing rows are compared, missing ones added.

Every batch is one transaction, so an interrupted copy resumes where it stopped, and a complete one copies
nothing. A target with rows the source lacks, or with other content under the same key, is not changed.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from metajudge.errors import StoreError
from metajudge.store.tables import CHILD, TABLES, Insertion, Row, Table, Tables
from metajudge.types.location import PostgresUrl, StoreLocation

BATCH: Final = 1_000
Watch = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class TableCopy:
    """Result for a table: its rows now, and how many of them this copy added."""

    table: str
    rows: int
    added: int


def copy_store(
    source: StoreLocation,
    target: StoreLocation,
    *,
    watch: Watch = lambda *_: None,
    only: frozenset[str] | None = None,
) -> list[TableCopy]:
    """Copies the contents of a store to another; either may be a file or a PostgreSQL database.

    Args:
        target: created if missing.
        watch: called with table, rows done and rows in total.
        only: names of the tables to copy, None for all.

    Raises:
        StoreError: a store cannot be opened; the target has other content; or the counts differ in the end.
    """
    if str(source) == str(target):
        raise StoreError(f"{source} cannot be copied into itself: name another target")
    if not source.exists():
        raise StoreError(f"{source}: no such store to copy from")
    tables = [table for table in TABLES if only is None or table.name in only]
    with opened_tables(source) as old, opened_tables(target) as new:
        copy = _Copy(old, new, str(source), str(target), watch)
        for table in tables:
            copy.compare(table)
        return [copy.add(table) for table in tables]


def opened_tables(location: StoreLocation) -> AbstractContextManager[Tables]:
    """A store's rows; the store is migrated first and stays open meanwhile.

    Raises:
        StoreError: it cannot be opened.
    """
    if isinstance(location, PostgresUrl):
        from metajudge.store.postgres_tables import opened_tables as opened_postgres

        return opened_postgres(location)
    from metajudge.store.duckdb_store import opened_tables as opened_duckdb

    return opened_duckdb(location)


class _Copy:
    def __init__(self, old: Tables, new: Tables, source: str, target: str, watch: Watch) -> None:
        self._old, self._new = old, new
        self._source, self._target = source, target
        self._watch = watch
        self._before: dict[str, int] = {}

    def compare(self, table: Table) -> None:
        """Refuses a target with anything but a part of the source."""
        columns = self._columns(table.name)
        there = self._before[table.name] = self._new.count(table.name)
        if not there:
            return
        key, met = columns.index(table.key), 0
        for batch in self._old.batches(table, columns, BATCH):
            found = {row[key]: row for row in self._new.find(table.name, table.key, columns, [r[key] for r in batch])}
            met += len(found)
            for row in batch:
                if row[key] in found:
                    self._compare_rows(table, columns, row, found[row[key]])
        if met < there:
            raise StoreError(
                f"{self._target} has {there - met} rows of {table.name} that {self._source} does not: it is another "
                "store. Nothing was copied; choose an empty target"
            )

    def _compare_rows(self, table: Table, columns: list[str], old: Row, new: Row) -> None:
        if old == new:
            return
        one, other = dict(zip(columns, old, strict=True)), dict(zip(columns, new, strict=True))
        if other.get("redacted") and not one.get("redacted"):
            return  # forgotten in the target: do not restore it
        if one.get("redacted") and not other.get("redacted"):
            about = f"item {one['item_id']!r}" if "item_id" in one else f"{table.key} {one[table.key]}"
            raise StoreError(
                f"{self._source} has redacted what {self._target} still has ({table.name}, {about}): forget it "
                "there too (`metajudge forget ITEM --store ...`), then copy again. Nothing was copied"
            )
        raise StoreError(
            f"{self._target} has other content than {self._source} under the same {table.key} of {table.name} "
            f"({one[table.key]}): it is another store. Nothing was copied; choose an empty target"
        )

    def add(self, table: Table) -> TableCopy:
        """Adds the rows that the target lacks. Raises StoreError: it does not have all of them in the end."""
        columns = self._columns(table.name)
        key, done, added, total = columns.index(table.key), 0, 0, self._old.count(table.name)
        for batch in self._old.batches(table, columns, BATCH):
            present: set[Any] = set()
            if self._before[table.name]:
                wanted = [row[key] for row in batch]
                present = {row[0] for row in self._new.find(table.name, table.key, [table.key], wanted)}
            lacking = [row for row in batch if row[key] not in present]
            if lacking:
                number = table.key if table.numbered else None
                self._new.insert(
                    [Insertion(table.name, columns, lacking, number), *self._children(table, key, lacking)]
                )
            done += len(batch)
            added += len(lacking)
            self._watch(table.name, done, max(done, total))
        return self._verified(table, done, added)

    def _children(self, table: Table, key: int, rows: list[Row]) -> list[Insertion]:
        if table.name != "assessments":
            return []
        columns = self._columns(CHILD)
        found = self._old.find(CHILD, table.key, columns, [row[key] for row in rows])
        place = [columns.index(name) for name in ("assessment_id", "position")]
        return [Insertion(CHILD, columns, sorted(found, key=lambda row: [row[n] for n in place]))] if found else []

    def _verified(self, table: Table, expected: int, added: int) -> TableCopy:
        for name in (table.name, *((CHILD,) if table.name == "assessments" else ())):
            wanted = expected if name == table.name else self._old.count(name)
            there = self._new.count(name)
            if there != wanted:
                raise StoreError(
                    f"{self._target} has {there} rows of {name} in the end, {self._source} has {wanted}: something "
                    "else wrote to one of them meanwhile. Stop it, and copy again"
                )
        return TableCopy(table.name, expected, added)

    def _columns(self, table: str) -> list[str]:
        columns = self._old.columns(table)
        if columns != self._new.columns(table):
            raise StoreError(
                f"{self._source} and {self._target} have different columns in {table}: open both once with this "
                "version of metajudge"
            )
        return columns
