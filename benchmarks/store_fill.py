"""Fills an empty PostgreSQL database by COPY with a store of an earlier layout, for measuring large stores.

    python -m metajudge.benchmarks.store_fill URL [--assessments 5000000]

Writes the rows of :mod:`store_size` into the tables as they were before lines and their facts, without indexes, and
makes the indexes in the end. The next command that opens the store brings it up to date, which can be timed.
"""

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from metajudge.store.postgres_connections import Connections, PgConnection, quoted
from metajudge.store.postgres_migrating import known_migrations
from metajudge.types.location import PostgresUrl

from .store_size import AN_ITEM, BLOCK, RUNS, rows_of

LAYOUT = 8
"""The newest step that is applied: the one before lines."""

TABLES = {
    "items": "item_digest, item_id, category, payload, redacted",
    "judgments": "judgment_digest, judgment_id, item_digest, item_id, judge, payload, redacted",
    "assessments": "assessment_id, key, run_id, created_at, judgment_digest, judgment_id, item_id, judge, status, "
    "final_score, accepted, strategy, panel_digest, payload, redacted",
    "annotations": "annotation_id, assessment_id, run_id, created_at, status, accepted, calibration, probability, "
    "policy, policy_digest, action, payload, redacted",
}


def rows(first: int, count: int, run: int, number: int) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Rows by table; versions are numbered from ``number``."""
    items, judgments, b = rows_of(first, count, f"run-{run:02}")
    at = time.time()
    yield "items", [(one.digest, one.item_id, one.category, one.payload.decode(), False) for one in items]
    yield (
        "judgments",
        [(j.digest, j.judgment_id, j.item_digest, j.item_id, j.judge, j.payload.decode(), False) for j in judgments],
    )
    columns = (b.judgment_digests, b.judgment_ids, b.item_ids, b.judges, b.statuses, b.final_scores, b.accepted)
    ends = (b.strategies, b.panel_digests, [one.decode() for one in b.payloads])
    yield (
        "assessments",
        [
            (number + i, b.keys[i], b.run_id, at, *(one[i] for one in columns), *(one[i] for one in ends), False)
            for i in range(count)
        ],
    )
    noted = b.annotations
    assert noted is not None
    said = [(i, one) for i in range(count) if (one := noted.at(i)) is not None]
    yield (
        "annotations",
        [
            (
                *(number + count + place, number + i, b.run_id, at, one.status, one.accepted, one.calibration),
                *(one.probability, one.policy, one.policy_digest, one.action, one.payload.decode(), False),
            )
            for place, (i, one) in enumerate(said)
        ],
    )


def fill(connection: PgConnection, schema: str, count: int) -> None:
    """Makes the tables, copies the rows, and makes the indexes."""
    connection.execute(f"CREATE SCHEMA {quoted(schema)}")
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
    for step in known_migrations()[:LAYOUT]:
        connection.execute(step.sql)
        connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
    indexes = _dropped(connection, TABLES)
    connection.execute("ALTER TABLE annotations DISABLE TRIGGER USER")  # these decisions send no events
    number = 1
    for run in range(RUNS):
        first, end = count * run // RUNS, count * (run + 1) // RUNS
        first, end = first - first % AN_ITEM, end - end % AN_ITEM if run < RUNS - 1 else count
        connection.execute("INSERT INTO runs VALUES ($1, 'vet', $2, '{}')", [f"run-{run:02}", time.time()])
        for start in range(first, end, BLOCK):
            for table, some in rows(start, min(BLOCK, end - start), run, number):
                with connection.cursor().copy(f"COPY {table} ({TABLES[table]}) FROM STDIN") as copy:
                    for row in some:
                        copy.write_row(row)
                number += len(some) if table in ("assessments", "annotations") else 0
    connection.execute("SELECT setval(pg_get_serial_sequence('assessments', 'assessment_id'), $1)", [number])
    connection.execute("ALTER TABLE annotations ENABLE TRIGGER USER")
    connection.execute("SET maintenance_work_mem = '512MB'")
    for statement in indexes:
        connection.execute(statement)


def _dropped(connection: PgConnection, tables: Iterable[str]) -> list[str]:
    """Drops the indexes of these tables; returns the statements that make them again."""
    again: list[str] = []
    found: Sequence[Any] = connection.execute(
        "SELECT i.tablename, i.indexname, i.indexdef, c.conname FROM pg_indexes i "
        "LEFT JOIN pg_constraint c ON c.conname = i.indexname AND c.conrelid = i.tablename::regclass "
        "WHERE i.schemaname = current_schema() AND i.tablename = ANY($1)",
        [list(tables)],
    ).fetchall()
    for table, name, definition, constraint in found:
        if constraint is None:
            connection.execute(f"DROP INDEX {name}")
            again.append(definition)
        else:
            key = definition.rpartition("(")[2].removesuffix(")")
            connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            again.append(f"ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY ({key})")
    return again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--assessments", type=int, default=5_000_000)
    given = parser.parse_args()
    started = time.perf_counter()
    connections = Connections(PostgresUrl(given.url))
    with connections.connect() as connection:
        fill(connection, connections.schema, given.assessments)
    print(f"filled: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
