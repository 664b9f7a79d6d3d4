"""SQL of a person over the results of one run: read only, without texts, on either database."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from metajudge.errors import InputError, StoreError
from metajudge.store.sql import Row
from metajudge.store.sqlite import SqliteEngine, unpack
from metajudge.store.versions import newest_of_its_run, versions
from metajudge.types.location import StoreLocation

COLUMNS: Final = {
    "judgment_id": "v.judgment_id",
    "item_id": "v.item_id",
    "judge": "v.judge",
    "category": "i.category",
    "verdict": "CASE WHEN j.redacted THEN NULL ELSE {judgment} ->> 'verdict' END",
    "label": "CASE WHEN i.redacted THEN NULL ELSE {item} ->> 'label' END",
    "status": "v.status",
    "kept": "v.accepted",
    "score": "v.final_score",
    "probability": "v.probability",
    "action": "v.action",
    "policy": "v.policy",
    "strategy": "v.strategy",
    "panel": "v.panel_digest",
    "decided_at": "v.created_at",
}
"""The columns of the view ``results``, with their SQL; verdict and label are text, times seconds since 1970."""
_FROM: Final = f"""
    FROM {versions()} v JOIN judgments j ON j.judgment_digest = v.judgment_digest
    JOIN items i ON i.item_digest = j.item_digest WHERE v.run_id = {{run}} AND {newest_of_its_run("v")}
"""
_READ: Final = {"assessments", "annotations", "judgments", "items", "lines"}
"""The tables that the view is made of."""
_ALLOWED: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FAULTS_OF_QUERY: Final = {"SQLITE_ERROR", "SQLITE_AUTH", "SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"}
_STEPS: Final = 100_000
"""Instructions of SQLite between two moments in which Ctrl-C is heard."""
_OF_SERVER: Final = re.compile(r"\b(?:pg_read_|pg_ls_|pg_stat_file|lo_|dblink|set_config)\w*\s*\(", re.IGNORECASE)
"""Functions of PostgreSQL that reach files, other servers or settings; a superuser could call them."""


class Answer(NamedTuple):
    """The rows of a query, with the names of their columns."""

    columns: list[str]
    rows: list[Row]


def query_run(location: StoreLocation, run_id: str, query: str) -> Answer:
    """Runs a query over the view ``results`` (:data:`COLUMNS`) of a run, one row for each judgment and panel.

    An SQLite file is opened with ``mode=ro`` and gives no other table; on PostgreSQL it is a read-only transaction
    with the rights of the URL's user.

    Raises:
        InputError: the query is no single SELECT over the view, or the database refuses it.
        StoreError: the store cannot be read.
    """
    query = query.strip().rstrip(";").rstrip()
    if _OF_SERVER.search(query):
        raise _refused("functions that reach files, servers or settings are not available")
    if isinstance(location, Path):
        return _of_file(location, run_id, query)
    return _of_server(location, run_id, query)


def _whole(query: str, run_id: str, texts: str) -> str:
    read = {name: texts.format(f"{name[0]}.payload") for name in ("judgment", "item")}
    columns = ", ".join(f"{sql.format(**read)} AS {name}" for name, sql in COLUMNS.items())
    run = "'" + run_id.replace("'", "''") + "'"
    return f"WITH results AS (SELECT {columns} {_FROM.format(run=run)}) SELECT * FROM (\n{query}\n) AS asked"  # noqa: S608


def _of_file(path: Path, run_id: str, query: str) -> Answer:
    engine, damage = SqliteEngine(path), list[StoreError]()

    def text(stored: bytes | str | None) -> str | None:
        try:
            return unpack(stored) if isinstance(stored, bytes) else stored
        except StoreError as error:  # SQLite passes on that a function failed, and not how
            damage.append(error)
            raise

    try:
        address, types = f"{engine.path.as_uri()}?mode=ro", sqlite3.PARSE_DECLTYPES
        with closing(sqlite3.connect(address, uri=True, detect_types=types)) as connection:
            connection.create_function("unpacked", 1, text, deterministic=True)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}

            def allow(action: int, first: str | None, *_: str | None) -> int:
                shown = first in _READ or (first not in tables and not str(first).startswith("sqlite_"))
                allowed = action in _ALLOWED or (action == sqlite3.SQLITE_READ and shown)
                return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

            connection.set_authorizer(allow)
            connection.set_progress_handler(lambda: 0, _STEPS)
            return _answered(connection.execute(_whole(query, run_id, "unpacked({})")))
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if name == "SQLITE_INTERRUPT":
            raise KeyboardInterrupt from None
        if damage:
            raise damage[0] from None
        if name not in _FAULTS_OF_QUERY:
            raise engine.store_error(error, "read from") from None
        raise _refused(str(error).rstrip(".")) from None


def _of_server(location: Any, run_id: str, query: str) -> Answer:
    import psycopg  # an extra

    from metajudge.store.postgres import PostgresEngine

    engine = PostgresEngine(location)
    with closing(engine.connect()) as connection:
        try:
            connection.execute("BEGIN TRANSACTION READ ONLY")
            return _answered(connection.execute(_whole(query, run_id, "CAST({} AS JSON)"), prepare=True))
        except psycopg.OperationalError as error:
            raise engine.store_error(error, "read from") from None
        except psycopg.Error as error:
            raise _refused(str(engine.store_error(error, "read from"))) from None


def _answered(found: Any) -> Answer:
    names: Sequence[Any] = found.description or ()
    return Answer([column[0] for column in names], found.fetchall())


def _refused(why: str) -> InputError:
    return InputError(
        f"--sql: {why}. It takes one SELECT over the view results, which has the columns {', '.join(COLUMNS)}"
    )
