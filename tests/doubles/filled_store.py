"""Stores of many small vetted judgments, rows of one record with its number replaced: seconds for a hundred thousand."""

import asyncio

from metajudge.store import open_store
from tests.exports.vetted import assessment, judgment

NUMBERED = "-424242"
"""Stands in the template for the record's number."""
BATCH = 10_000
TABLES = ("items", "judgments", "assessments")


def fill(location, count: int) -> None:
    """Fills an empty store with judgments of as many items, all of them accepted.

    Args:
        location: a store's file, which is made, or a PostgreSQL database.
        count: of judgments.
    """
    asyncio.run(_filled(location, count))


async def _filled(location, count: int) -> None:
    template = await _template()
    store = await open_store(location)
    for first in range(1, count + 1, BATCH):
        numbers = range(first, min(first + BATCH, count + 1))

        def insert(connection, numbers=numbers):
            for table, row in template.items():
                rows = (tuple(_numbered(value, number) for value in row.values()) for number in numbers)
                connection.insert(table, list(row), rows)

        await store.change(insert)
    await store.close()


async def _template():
    """Table -> the columns and values of one row, taken from a real record."""
    said = judgment(0, item_id=f"item{NUMBERED}", question=f"What is {NUMBERED} times seven?",
                    responses={"A": f"It is seven times {NUMBERED}.", "B": f"I cannot say what {NUMBERED} gives!"})  # fmt: skip
    store = await open_store(":memory:")
    await store.save_assessment(f"key{NUMBERED}", said, assessment(said), "run-1")
    found = await store.ask(lambda connection: {table: _row(connection, table) for table in TABLES})
    await store.close()
    return found


def _row(connection, table):
    cursor = connection.execute(f"SELECT * FROM {table}")
    row = dict(zip([column[0] for column in cursor.description], cursor.fetchall()[0], strict=True))
    row |= {name: f"{row[name][:20]}{NUMBERED}" for name in ("item_digest", "judgment_digest") if name in row}
    return row | ({"assessment_id": int(NUMBERED)} if table == "assessments" else {})


def _numbered(value, number: int):
    if isinstance(value, str):
        return value.replace(NUMBERED, f"-{number}")
    return number if value == int(NUMBERED) else value
