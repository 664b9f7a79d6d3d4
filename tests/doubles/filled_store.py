"""Stores of many small vetted judgments, written in SQL: seconds for a hundred thousand."""

import asyncio
from pathlib import Path

import duckdb

from metajudge.store import open_store
from metajudge.store.copying import opened_tables
from metajudge.store.gaps import rows_of
from tests.preferences.vetted import assessment, judgment

NUMBERED = "-424242"
"""Stands in the template for the record's number."""


def fill(location, count: int) -> None:
    """Fills an empty store with judgments of as many items, all of them accepted.

    Args:
        location: a store's file, which is made, or a PostgreSQL database.
        count: of judgments.
    """
    template = _template(Path(str(location) + ".template") if isinstance(location, Path) else None)
    if isinstance(location, Path):
        _fill_file(location, template, count)
        return
    with opened_tables(location) as tables:
        connection = tables._connection
        for table, (columns, values) in template.items():
            listed = ", ".join(columns)
            connection.execute(
                f"INSERT INTO {table} ({listed}) SELECT {', '.join(map(_numbered, values))} "
                f"FROM generate_series(1, {count}) AS numbers(n)"
            )


def _fill_file(path: Path, template, count: int) -> None:
    asyncio.run(_made(path))
    connection = duckdb.connect(str(path))
    for table, (columns, values) in template.items():
        expressions = [*map(_numbered, values)]
        if table == "assessments":
            columns, expressions = [*columns, "key_hash"], [*expressions, "n::UBIGINT"]
        connection.execute(
            f"INSERT INTO {rows_of(table)} ({', '.join(columns)}) SELECT {', '.join(expressions)} "
            f"FROM range(1, {count + 1}) AS numbers(n)"
        )
    connection.close()


async def _made(path: Path) -> None:
    store = await open_store(path)
    await store.close()


def _template(path: Path | None):
    """Table -> columns and the values of one row, taken from a real record."""
    import tempfile

    folder = tempfile.TemporaryDirectory()
    place = Path(folder.name) / "one.duckdb"

    async def one() -> None:
        said = judgment(0, item_id=f"item{NUMBERED}", question=f"What is {NUMBERED} times seven?",
                        responses={"A": f"It is seven times {NUMBERED}.", "B": f"I cannot say what {NUMBERED} gives!"})  # fmt: skip
        store = await open_store(place)
        await store.save_assessment(f"key{NUMBERED}", said, assessment(said), "run-1")
        await store.close()

    asyncio.run(one())
    found = {}
    connection = duckdb.connect(str(place))
    for table in ("items", "judgments", "assessments"):
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        row = dict(zip(names, cursor.fetchall()[0], strict=True))
        row.pop("key_hash", None)
        digests = {name: f"{value[:20]}{NUMBERED}" for name, value in row.items() if name.endswith("_digest")}
        row |= {name: value for name, value in digests.items() if name != "panel_digest"}
        if table == "assessments":
            row["assessment_id"] = int(NUMBERED)
        found[table] = (list(row), list(row.values()))
    connection.close()
    folder.cleanup()
    return found


def _numbered(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "n" if str(value) == NUMBERED else repr(value)
    text = str(value).replace("'", "''")
    return f"replace('{text}', '{NUMBERED}', '-' || n)"
