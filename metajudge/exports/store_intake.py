"""Judgments, their assessments and people's decisions out of a store.

One question to the store reads everything, by pages: first the short columns of all assessments, then the texts of
those that the filters let through. In an SQLite file it is one read transaction. On PostgreSQL each page is a
statement of its own, and what is stored meanwhile changes nothing of what was read: rows are only added, and texts are
stored before the assessments that refer to them, reviews after them.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from metajudge.errors import InputError, StoreError
from metajudge.evidence.units import ITEM, QUESTION
from metajudge.exports import decisions
from metajudge.exports.filters import Filters, drop_unwanted, nothing_matches, prepare, require_known
from metajudge.exports.request import ExportRequest, Kind, Rule
from metajudge.exports.verdicts import stored_text
from metajudge.exports.workspace import PIECE, TYPES, fill, only, quoted
from metajudge.store import engine_of
from metajudge.store.sql import PAGE, Connection, Row
from metajudge.types.location import StoreLocation

NAMED: Final = 20
"""Item ids that are named where they were left out; all are counted."""
_PATHS: Final = ("threshold", "rubric", "rubric_digest", "metajudge_version")
_PROMISED: Final = (
    *("guarantee.threshold", "guarantee.target", "guarantee.delta", "guarantee.approximate"),
    *("guarantee.judges", "guarantee.unit", "guarantee.questions", "probability_marks"),
)
_COLUMNS: Final = {
    "assessments": "assessment_id run_id created_at judgment_digest judgment_id item_id judge status final_score "
    "accepted strategy panel_digest redacted",
    "annotations": "annotation_id assessment_id run_id created_at status accepted calibration probability policy "
    "action",
    "items": "item_digest rowid item_id category redacted",
    "judgments": "judgment_digest rowid judgment_id item_digest redacted",
    "reviews": "review_id payload",
    "review_decisions": "decision_id review_id reviewer payload",
    "review_events": "event_id review_id kind reviewer payload",
}
"""What is read of each table for all its rows; its key is the first."""
_VERSIONS: Final = """(
    SELECT assessment_id AS number, * FROM kept.assessments UNION ALL BY NAME
    SELECT annotation_id AS number, a.* REPLACE (n.run_id AS run_id, n.created_at AS created_at, n.status AS status,
        n.accepted AS accepted), n.calibration, n.probability, n.policy, n.action
    FROM kept.annotations n JOIN kept.assessments a USING (assessment_id))"""
"""Versions of assessments, in short columns; see :mod:`metajudge.store.versions`."""
_SOURCES: Final = {
    "judge": "SELECT judge FROM kept.assessments WHERE NOT redacted",
    "run": f"SELECT run_id FROM {_VERSIONS} v WHERE NOT redacted",
    "panel": "SELECT panel_digest FROM kept.assessments WHERE NOT redacted",
    "category": "SELECT category FROM kept.items WHERE NOT redacted",
}
"""What there is of each kind of value that a filter names."""
_TEXTS: Final = 500
"""Rows whose texts are asked for at once."""


def copy_from_store(
    work: duckdb.DuckDBPyConnection, location: StoreLocation, request: ExportRequest, where: str
) -> dict[str, Any]:
    """Fills ``assessments``, ``judgments``, ``items`` and ``people`` from a store, within an open transaction.

    Args:
        where: what messages call the store.

    Returns:
        Counts, and the ids of items that were left out; see :func:`metajudge.exports.intake.take_in`.

    Raises:
        InputError: nothing was vetted, a filter names an unknown value or matches nothing, an item id is used for two
            contents where that is to be refused.
        StoreError: the store is missing or cannot be read.
    """
    if not location.exists():
        raise StoreError(f"{location}: no such store; name it with --store, or make one with `metajudge vet`")
    engine = engine_of(location)
    try:
        with closing(engine.connect()) as connection:
            engine.migrate(connection)
        engine.open_pool()
        return engine.read(lambda connection: _Intake(work, connection, request, where).take())
    except engine.failures as error:
        raise engine.store_error(error, "read from") from error
    finally:
        engine.close()


@dataclass(frozen=True, slots=True)
class _Intake:
    """What is read of a store, from the connection to the work; a second try begins anew."""

    work: duckdb.DuckDBPyConnection
    connection: Connection
    request: ExportRequest
    where: str

    def take(self) -> dict[str, Any]:
        work, filters = self.work, self.request.filters
        prepare(work, filters)
        work.execute("CREATE SCHEMA IF NOT EXISTS kept")
        self._copy("assessments", "annotations")
        judgments, matching, forgotten = only(
            work,
            f"""SELECT count(DISTINCT judgment_id) FILTER (NOT redacted),
                count(DISTINCT assessment_id) FILTER ({filters.row_condition()}),
                count(DISTINCT judgment_digest) FILTER (redacted) FROM {_VERSIONS} v""",
        )
        if not judgments:
            raise InputError(f"{self.where} contains no vetted judgments yet: vet some into it first (`metajudge vet`)")
        self._copy("items", "judgments")
        require_known(work, _SOURCES, self.where)
        _choose(work, self.request)
        (taken,) = only(work, "SELECT count(*) FROM assessments")
        drop_unwanted(work, filters, panels=False)
        self._take_panels()
        self._take_texts()
        conflicts = _settle_contents(work, self.request, self.where)
        (left,) = only(work, "SELECT count(*) FROM assessments")
        if not left and not conflicts["conflicting_judgments"]:
            raise nothing_matches(filters, self.where, judgments)
        if self.request.ignore_decisions:
            decisions.no_people(work)
        else:
            self._copy("reviews", "review_decisions", "review_events")
            decisions.take_people(work)
        for table in _COLUMNS:
            work.execute(f"DROP TABLE IF EXISTS kept.{table}")
        return {
            "unreadable_lines": 0,
            "forgotten": forgotten,
            "superseded": matching - taken,
            "not_vetted": 0,
            "by_people": 0,
            "judgments": judgments,
            "filtered_out": judgments - left - conflicts["conflicting_judgments"],
            **conflicts,
        }

    def _copy(self, *tables: str) -> None:
        """Copies columns of all rows."""
        for table in tables:
            columns = _COLUMNS[table].split()
            fill(self.work, f"kept.{table}", columns, self._pages(table, columns))

    def _pages(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        key = columns[0]
        last: Any = 0 if key in TYPES else ""
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT {PAGE}"
        while rows := self.connection.execute(query, [last]).fetchall():
            yield rows
            last = rows[-1][0]

    def _take_panels(self) -> None:
        """Adds to the assessments what their payloads say of panel, rubric and guarantee."""
        of_panel, promised = (", ".join(quoted(f"$.{name}") for name in names) for names in (_PATHS, _PROMISED))
        self._take(
            "panels",
            ("assessment_id", "payload"),
            "SELECT assessment_id, assessment_id FROM assessments",
            f"""SELECT assessment_id, json_extract_string(payload, [{of_panel}]) AS v,
                payload->>'$.agents[*].agent' AS names, payload->>'$.agents[*].model' AS models FROM given""",
            of="assessments",
        )
        self._take(
            "promises",
            ("annotation_id", "payload"),
            "SELECT number, number FROM assessments WHERE number <> assessment_id",
            f"SELECT annotation_id AS number, json_extract_string(payload, [{promised}]) AS g FROM given",
            of="annotations",
        )
        self.work.execute("""
            CREATE OR REPLACE TABLE assessments AS
            SELECT judgment_id, judgment_digest, item_id, judge, status, accepted, final_score AS score, probability,
                calibration, g[1]::DOUBLE AS bar, g[2]::DOUBLE AS target, g[3]::DOUBLE AS delta,
                g[4]::BOOLEAN AS approximate, strategy, v[1]::DOUBLE AS threshold, v[2] AS rubric,
                v[3] AS rubric_digest, panel_digest,
                array_to_string(list_transform(list_zip(names, models), lambda x: x[1] || ' (' || x[2] || ')'), ', ')
                    AS agents, v[4] AS version, g[5] AS promise_judges, g[6] AS promise_unit,
                g[7]::BIGINT AS promise_questions, g[8] AS marks, action, policy
            FROM assessments LEFT JOIN panels USING (assessment_id) LEFT JOIN promises USING (number)""")
        for table in ("panels", "promises"):
            self.work.execute(f"DROP TABLE {table}")

    def _take_texts(self) -> None:
        request = self.request
        texts = "payload->>'$.rationale', payload->>'$.instruction'" if request.kind is Kind.JUDGMENTS else "NULL, NULL"
        field = None if request.unit in (None, QUESTION, ITEM) else f'$.meta."{request.unit}"'
        stated = "NULL" if field is None else f"json_extract_string(payload, {quoted(field)})"
        self._take(
            "judgments",
            ("rowid", "judgment_id", "judgment_digest", "item_id", "judge", "item_digest", "payload"),
            f"""SELECT judgment_digest, rowid FROM kept.judgments SEMI JOIN assessments
                USING (judgment_digest, judgment_id) WHERE item_digest IN (SELECT item_digest FROM kept.items
                    WHERE item_id IN (SELECT item_id FROM kept.items WHERE {_category(request.filters)}))""",
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
            ) t(judgment_no, judgment_id, judgment_digest, item_id, judge, item_digest, rationale, instruction,
                verdict, v, stated)""",
        )
        self._take(
            "items",
            ("rowid", "item_id", "category", "item_digest", "payload"),
            "SELECT item_digest, rowid FROM kept.items SEMI JOIN judgments USING (item_digest)",
            f"""SELECT item_no, item_id, v[1] AS question, v[2] AS responses, category,
                label, v[3] AS models, v[4] AS scale, item_digest, question_id
            FROM (
                SELECT rowid - 1 AS item_no, item_id, category, item_digest, {stored_text("$.label")} AS label,
                    json_extract_string(payload, ['$.question', '$.responses', '$.models', '$.scale']) AS v
                FROM given
            ) JOIN (SELECT item_digest, max(question_id) AS question_id FROM judgments GROUP BY 1)
                USING (item_digest)""",
        )
        self.work.execute("ALTER TABLE judgments DROP question_id")

    def _take(self, table: str, columns: Sequence[str], wanted: str, query: str, *, of: str | None = None) -> None:
        """Fills a table from rows of the store with their texts.

        Args:
            wanted: a query of the work for the keys of the rows, and for what they are ordered by.
            query: makes the table's rows from those ``given``.
            of: the store's table, where its name is another.
        """
        of = of or table
        key = _COLUMNS[of].split()[0]
        self.work.execute(f"""
            CREATE OR REPLACE TEMP TABLE due AS
            SELECT row_number() OVER (ORDER BY place) AS place, key FROM ({wanted}) found(key, place)""")
        asked = f"""SELECT {", ".join(columns)} FROM {of} WHERE NOT redacted
            AND {key} IN (SELECT unnest($1::{TYPES.get(key, "VARCHAR")}[]))"""
        fill(self.work, table, columns, self._pieces(asked), query)

    def _pieces(self, asked: str) -> Iterator[list[Row]]:
        """The rows of the keys that are due, each time about as much text as may be in memory."""
        (count,) = only(self.work, "SELECT count(*) FROM due")
        piece, size = list[Row](), 0
        for first in range(0, count, _TEXTS):
            due = "SELECT key FROM due WHERE place > $1 AND place <= $2"
            keys = [key for (key,) in self.work.execute(due, [first, first + _TEXTS]).fetchall()]
            for row in sorted(self.connection.execute(asked, [keys]).fetchall()):
                if piece and size + len(row[-1]) > PIECE:
                    yield piece
                    piece, size = [], 0
                piece.append(row)
                size += len(row[-1])
        if piece:
            yield piece


def _choose(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> None:
    """Makes ``assessments``: of each judgment the newest of its panels' newest, and the newest action of a policy.

    Where the rule needs a probability the newest version that has one is taken. A policy's action may be on an older
    version: a judgment that a policy rejected does not become one that no policy has seen by vetting it again without a
    policy.
    """
    condition = request.filters.row_condition()
    probable = request.selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE)
    order = f"{'probability IS NULL, ' if probable else ''}assessment_id DESC, number DESC"
    work.execute(f"""
        CREATE OR REPLACE TABLE assessments AS
        WITH by_panel AS (
            SELECT judgment_id, assessment_id, number, probability FROM {_VERSIONS} v WHERE {condition}
            QUALIFY row_number() OVER (PARTITION BY judgment_id, judgment_digest, panel_digest ORDER BY {order}) = 1
        ), newest AS (
            SELECT number FROM by_panel
            QUALIFY row_number() OVER (PARTITION BY judgment_id ORDER BY {order}) = 1
        ), actions AS (
            SELECT judgment_id, judgment_digest, arg_max(action, number) AS action, arg_max(policy, number) AS policy
            FROM {_VERSIONS} v WHERE {condition} AND action IS NOT NULL
            GROUP BY judgment_id, judgment_digest
        )
        SELECT v.* EXCLUDE (action, policy), actions.action, actions.policy
        FROM {_VERSIONS} v SEMI JOIN newest USING (number) LEFT JOIN actions USING (judgment_id, judgment_digest)""")


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
