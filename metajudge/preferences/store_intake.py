"""Judgments, their assessments and people's decisions out of a store, by SQL over its payloads."""

import asyncio
import contextlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from metajudge.errors import InputError, StoreError
from metajudge.evidence.units import ITEM, QUESTION
from metajudge.preferences import decisions
from metajudge.preferences.filters import Filters, drop_unwanted, nothing_matches, prepare, require_known
from metajudge.preferences.request import ExportRequest, Kind, Rule
from metajudge.preferences.verdicts import stored_text
from metajudge.preferences.workspace import only, quoted, ranges, readable_errors
from metajudge.store import open_to_read
from metajudge.store.copying import copy_store
from metajudge.store.shared_store import SharedStore
from metajudge.store.sql import Connection
from metajudge.store.versions import versions
from metajudge.types.location import PostgresUrl, StoreLocation

NAMED: Final = 20
"""Item ids that are named where they were left out; all are counted."""
_PATHS: Final = ("threshold", "rubric", "rubric_digest", "metajudge_version")
_PROMISED: Final = (
    *("guarantee.threshold", "guarantee.target", "guarantee.delta", "guarantee.approximate"),
    *("guarantee.judges", "guarantee.unit", "guarantee.questions", "probability_marks"),
)
_VERSIONS: Final = versions("kept.")
TABLES: Final = ("items", "judgments", "assessments", "annotations", "reviews", "review_decisions", "review_events")
"""What an export reads."""
_ROW_GROUP: Final = 2_048
"""Rows in memory at most: DuckDB's vectors have as many."""
_OPTIONS: Final = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
_OF_TEXTS: Final = ("items", "judgments")
"""Whose payloads are as long as people send them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a snapshot.

    Attributes:
        folder: where they are.
        filters: of the export: the texts of other rows are neither read nor written.
    """

    folder: Path
    filters: Filters = field(default_factory=Filters)

    def write(self, connection: Connection) -> None:
        """Writes all tables of an open DuckDB store; blocks, so it belongs in a thread.

        Raises:
            DiskFullError: there is no room.
            InputError: a file cannot be written.
            duckdb.OutOfMemoryException: the connection may use too little.
        """
        assert isinstance(connection, duckdb.DuckDBPyConnection), "other stores are copied"
        everything = dict.fromkeys(_OF_TEXTS, "true")
        wanted = everything if self.filters == Filters() else self.filters.text_conditions(versions())
        with readable_errors(self.folder, memory=None):
            connection.execute("BEGIN TRANSACTION")
            try:
                prepare(connection, self.filters)
                for table in TABLES:
                    for number, rows in enumerate(_pieces(connection, table, wanted.get(table))):
                        file = quoted(self.folder / f"{table}-{number:06}.parquet")
                        connection.execute(f"COPY ({rows}) TO {file} ({_OPTIONS})")
            finally:
                connection.execute("ROLLBACK")

    def attach(self, work: duckdb.DuckDBPyConnection) -> None:
        """Makes the tables readable under the name ``kept``."""
        work.execute("CREATE SCHEMA IF NOT EXISTS kept")
        for table in TABLES:
            files = quoted(self.folder / f"{table}-*.parquet")
            work.execute(f"CREATE OR REPLACE VIEW kept.{table} AS SELECT * FROM read_parquet({files})")


def _pieces(connection: duckdb.DuckDBPyConnection, table: str, wanted: str | None) -> Iterator[str]:
    """Queries for the rows of a table; where it is one of texts, first of those whose texts are not wanted."""
    if wanted is None:
        yield f"SELECT * FROM {table}"
        return
    yield f"SELECT rowid AS rowid, * REPLACE (NULL::VARCHAR AS payload) FROM {table} WHERE NOT ({wanted})"
    ((first, last),) = connection.execute(f"SELECT min(rowid), max(rowid) FROM {table} WHERE {wanted}").fetchall()
    if first is None:
        return
    lengths = f"SELECT rowid AS place, strlen(payload) AS size FROM {table} WHERE rowid BETWEEN {first} AND {last}"
    for low, high in ranges(connection, lengths):
        yield f"SELECT rowid AS rowid, * FROM {table} WHERE rowid BETWEEN {low} AND {high} AND {wanted}"


@contextlib.contextmanager
def attached(work: duckdb.DuckDBPyConnection, source: StoreLocation | Snapshot | None, scratch: Path) -> Iterator[None]:
    """Makes the store's tables readable under the name ``kept``; a PostgreSQL store's as a copy in a file.

    Args:
        scratch: an existing folder for the copy, which is removed at the end.

    Raises:
        StoreError: the store is missing or in use.
    """
    match source:
        case None:
            yield
        case Snapshot():
            source.attach(work)
            yield
        case PostgresUrl():
            copy = scratch / "copy.duckdb"
            _remove_copy(copy)  # an attempt that was killed left it
            try:
                copy_store(source, copy, only=frozenset(TABLES))
                with attached(work, copy, scratch):
                    yield
            finally:
                _remove_copy(copy)
        case Path():
            if not source.exists():
                raise StoreError(f"{source}: no such store; name it with --store, or make one with `metajudge vet`")
            copy = scratch / "snapshot.duckdb"
            _remove_copy(copy)
            try:
                work.execute(f"ATTACH {quoted(_settled(source, copy))} AS kept (READ_ONLY)")
                try:
                    yield
                finally:
                    work.execute("DETACH kept")
            finally:
                _remove_copy(copy)


def _remove_copy(copy: Path) -> None:
    for path in copy.parent.glob(f"{copy.name}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _settled(path: Path, copy: Path) -> Path:
    """The file with what a killed process left behind; a copy of it while another process has the store open."""

    async def settled() -> Path:
        store = await open_to_read(path)
        try:
            if not isinstance(store, SharedStore):
                return path
            await store.copy_to(copy)
            return copy
        finally:
            await store.close()

    # In a thread of its own, so that it also works where an event loop runs already (a notebook, the service).
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, settled()).result()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Counts of the store's rows.

    Attributes:
        judgments: vetted judgments whose texts are kept.
        matching: assessments that meet the conditions on rows.
        forgotten: judgments whose texts were forgotten.
    """

    judgments: int
    matching: int
    forgotten: int


def copy_from_store(work: duckdb.DuckDBPyConnection, request: ExportRequest, where: str) -> dict[str, Any]:
    """Fills ``assessments``, ``judgments``, ``items`` and ``people`` from the attached store.

    Args:
        where: what messages call the store.

    Returns:
        Counts, and the ids of items that were left out; see :func:`metajudge.preferences.intake.take_in`.

    Raises:
        InputError: nothing was vetted, a filter names an unknown value or matches nothing, an item id is used for two
            contents where that is to be refused.
    """
    filters = request.filters
    prepare(work, filters)
    rows = _counted(work, filters)
    if not rows.judgments:
        raise InputError(f"{where} contains no vetted judgments yet: vet some into it first (`metajudge vet`)")
    _check_filters(work, filters, where)
    _take_assessments(work, request)
    (taken,) = only(work, "SELECT count(*) FROM assessments")
    drop_unwanted(work, filters, panels=False)
    _take_texts(work, request)
    conflicts = _settle_contents(work, request, where)
    (left,) = only(work, "SELECT count(*) FROM assessments")
    if not left and not conflicts["conflicting_judgments"]:
        raise nothing_matches(filters, where, rows.judgments)
    if request.ignore_decisions:
        decisions.no_people(work)
    else:
        decisions.take_people(work)
    return {
        "unreadable_lines": 0,
        "forgotten": rows.forgotten,
        "superseded": rows.matching - taken,
        "not_vetted": 0,
        "by_people": 0,
        "judgments": rows.judgments,
        "filtered_out": rows.judgments - left - conflicts["conflicting_judgments"],
        **conflicts,
    }


def _counted(work: duckdb.DuckDBPyConnection, filters: Filters) -> _Rows:
    return _Rows(
        *only(
            work,
            f"""SELECT count(DISTINCT judgment_id) FILTER (NOT redacted),
                count(DISTINCT assessment_id) FILTER ({filters.row_condition()}),
                count(DISTINCT judgment_digest) FILTER (redacted) FROM {_VERSIONS} v""",
        )
    )


def _check_filters(work: duckdb.DuckDBPyConnection, filters: Filters, where: str) -> None:
    vetted = "FROM kept.assessments WHERE NOT redacted"
    for kind, values, there in (
        ("judge", filters.judges, f"SELECT DISTINCT judge {vetted}"),
        ("run", filters.runs, f"SELECT DISTINCT run_id FROM {_VERSIONS} v WHERE NOT redacted"),
        ("panel", filters.panels, f"SELECT DISTINCT panel_digest {vetted}"),
        ("category", filters.categories, "SELECT DISTINCT category FROM kept.items WHERE NOT redacted"),
    ):
        if values:
            require_known(work, kind, there, where)


def _take_assessments(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> None:
    """One version a judgment: the newest of its panels' newest, and the newest action of a policy.

    Where the rule needs a probability the newest version that has one is taken. A policy's action may be on an older
    version: a judgment that a policy rejected does not become one that no policy has seen by vetting it again without a
    policy.
    """
    condition = request.filters.row_condition()
    probable = request.selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE)
    order = f"{'probability IS NULL, ' if probable else ''}assessment_id DESC, number DESC"
    of_panel, promised = (", ".join(quoted(f"$.{name}") for name in names) for names in (_PATHS, _PROMISED))
    work.execute(f"""
        CREATE OR REPLACE TABLE newest AS
        WITH by_panel AS (
            SELECT judgment_id, judgment_digest, assessment_id, number, probability FROM {_VERSIONS} v WHERE {condition}
            QUALIFY row_number() OVER (PARTITION BY judgment_id, judgment_digest, panel_digest ORDER BY {order}) = 1
        )
        SELECT judgment_id, judgment_digest, number FROM by_panel
        QUALIFY row_number() OVER (PARTITION BY judgment_id ORDER BY {order}) = 1""")
    work.execute(f"""
        CREATE OR REPLACE TABLE actions AS
        SELECT judgment_id, judgment_digest, arg_max(action, number) AS action, arg_max(policy, number) AS policy
        FROM {_VERSIONS} v WHERE {condition} AND action IS NOT NULL
        GROUP BY judgment_id, judgment_digest""")
    work.execute(f"""
        CREATE OR REPLACE TABLE assessments AS
        WITH read AS (
            SELECT a.*, json_extract_string(payload, [{of_panel}]) AS v,
                json_extract_string(annotation, [{promised}]) AS g, payload->>'$.agents[*].agent' AS names,
                payload->>'$.agents[*].model' AS agent_models
            FROM {_VERSIONS} a SEMI JOIN newest USING (number)
        )
        SELECT judgment_id, judgment_digest, item_id, judge, status, accepted, final_score AS score,
            probability, calibration, g[1]::DOUBLE AS bar, g[2]::DOUBLE AS target,
            g[3]::DOUBLE AS delta, g[4]::BOOLEAN AS approximate, strategy, v[1]::DOUBLE AS threshold, v[2] AS rubric,
            v[3] AS rubric_digest, panel_digest,
            array_to_string(list_transform(list_zip(names, agent_models), lambda x: x[1] || ' (' || x[2] || ')'), ', ')
                AS agents,
            v[4] AS version, g[5] AS promise_judges, g[6] AS promise_unit, g[7]::BIGINT AS promise_questions,
            g[8] AS marks, actions.action, actions.policy
        FROM read LEFT JOIN actions USING (judgment_id, judgment_digest)""")
    for table in ("newest", "actions"):
        work.execute(f"DROP TABLE {table}")


def _take_texts(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> None:
    judging = request.kind is Kind.JUDGMENTS
    texts = "payload->>'$.rationale', payload->>'$.instruction'" if judging else "NULL, NULL"
    field = None if request.unit in (None, QUESTION, ITEM) else f'$.meta."{request.unit}"'
    stated = "NULL" if field is None else f"json_extract_string(payload, {quoted(field)})"
    _take(
        work,
        "judgments",
        "SEMI JOIN assessments a ON t.judgment_digest = a.judgment_digest AND t.judgment_id = a.judgment_id",
        f"""SELECT judgment_no, judgment_id, judgment_digest, item_id, judge, verdict,
            from_json(v[1], '["VARCHAR"]') AS shown, from_json(v[2], '["VARCHAR"]') AS labels,
            rationale, instruction, coalesce(v[3], v[4], v[5]) AS finish, v[6] AS response_finish, v[7] AS people,
            item_digest, coalesce(stated, v[8]) AS question_id
        FROM (
            SELECT rowid, judgment_id, judgment_digest, item_id, judge, item_digest, {texts},
                {stored_text("$.verdict")}, json_extract_string(payload, ['$.order', '$.labels', '$.meta.finish',
                    '$.meta.finish_reason', '$.meta.stop_reason', '$.meta.response_finish', '$.item.labels',
                    '$.item.question_id']), {stated}
            FROM given
        ) t(judgment_no, judgment_id, judgment_digest, item_id, judge, item_digest, rationale, instruction, verdict,
            v, stated)""",
    )
    _take(
        work,
        "items",
        "SEMI JOIN judgments USING (item_digest)",
        f"""SELECT item_no, item_id, v[1] AS question, v[2] AS responses, category,
            label, v[3] AS models, v[4] AS scale, item_digest, question_id
        FROM (
            SELECT rowid AS item_no, item_id, category, item_digest, {stored_text("$.label")} AS label,
                json_extract_string(payload, ['$.question', '$.responses', '$.models', '$.scale']) AS v
            FROM given
        ) JOIN (SELECT item_digest, max(question_id) AS question_id FROM judgments GROUP BY 1) USING (item_digest)""",
    )
    work.execute("ALTER TABLE judgments DROP question_id")


def _take(work: duckdb.DuckDBPyConnection, table: str, wanted: str, query: str) -> None:
    """Fills a table from the store's of the same name, some texts at a time."""
    lengths = f"SELECT rowid AS place, strlen(payload) AS size FROM kept.{table} WHERE payload IS NOT NULL"
    for low, high in [(0, -1), *ranges(work, lengths)]:
        given = (
            f"SELECT t.rowid, * FROM kept.{table} t {wanted} WHERE NOT redacted AND t.rowid BETWEEN {low} AND {high}"
        )
        how = f"INSERT INTO {table}" if low <= high else f"CREATE OR REPLACE TABLE {table} AS"
        work.execute(f"{how} WITH given AS ({given}) {query}")


def _settle_contents(work: duckdb.DuckDBPyConnection, request: ExportRequest, where: str) -> dict[str, Any]:
    """One item id, one content: where only category, label or models changed, the newest record counts.

    An id that is used for two questions or two sets of responses is left out with all its judgments: none of them tells
    which of the texts is meant.

    Returns:
        How many items and judgments were left out, and the first ids.

    Raises:
        InputError: there are such items, and they are to be refused.
    """
    work.execute("""
        CREATE OR REPLACE TABLE contents AS
        SELECT item_id, item_digest, hash(question, responses) AS content, item_no, category FROM items""")
    work.execute(f"""
        CREATE OR REPLACE TABLE chosen_items AS
        SELECT item_id, content, item_no FROM (
            SELECT * FROM contents QUALIFY row_number() OVER (PARTITION BY item_id, content ORDER BY item_no DESC) = 1
        ) WHERE {_category(request.filters)}""")
    twice = "SELECT item_id FROM chosen_items GROUP BY item_id HAVING count(*) > 1"
    ids = [row[0] for row in work.execute(f"{twice} ORDER BY 1").fetchall()]
    if ids and request.conflicts == "refuse":
        raise InputError(
            f"{len(ids)} item ids of {where} stand for two different contents, the first {ids[0]!r}: narrow the export "
            "with a filter (one run, say), let it leave these items out, or give each content its own item id"
        )
    (lost,) = only(
        work,
        f"""SELECT count(*) FROM judgments SEMI JOIN ({twice}) USING (item_id)
        SEMI JOIN (SELECT item_digest FROM contents SEMI JOIN chosen_items USING (item_id, content))
            USING (item_digest)""",
    )
    work.execute(f"DELETE FROM chosen_items WHERE item_id IN ({twice})")
    work.execute("""
        DELETE FROM judgments WHERE item_digest NOT IN (
            SELECT item_digest FROM contents SEMI JOIN chosen_items USING (item_id, content))""")
    work.execute("DELETE FROM items WHERE item_no NOT IN (SELECT item_no FROM chosen_items)")
    work.execute("DELETE FROM assessments WHERE judgment_id NOT IN (SELECT judgment_id FROM judgments)")
    for table in ("contents", "chosen_items"):
        work.execute(f"DROP TABLE {table}")
    for table in ("judgments", "items"):
        work.execute(f"ALTER TABLE {table} DROP item_digest")
    return {"conflicting_items": len(ids), "conflicting_judgments": lost, "conflicting_item_ids": ids[:NAMED]}


def _category(filters: Filters) -> str:
    if not filters.categories:
        return "true"
    return "category IN (SELECT value FROM wanted WHERE kind = 'category')"
