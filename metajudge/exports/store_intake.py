"""Judgments, their assessments and people's decisions out of a store.

One question to the store reads everything, by pages: the short columns of the versions that the filters let through,
then the payloads of those that are chosen among them. In an SQLite file it is one read transaction. On PostgreSQL each
page is a statement of its own, and what is stored meanwhile changes nothing of what was read: rows are only added, and
texts are stored before the assessments that refer to them, reviews after them.

The tables ``assessments``, ``judgments`` and ``items`` are alike from a store, from files and from objects. Short
columns come as they are, everything else in payloads as a store has them: they are parsed once, some at a time, and
split by DuckDB.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from metajudge.errors import InputError, StoreError
from metajudge.evidence.units import ITEM, QUESTION
from metajudge.exports.decisions import take_people
from metajudge.exports.filters import Filters, drop_unwanted, nothing_matches, resolved
from metajudge.exports.request import ExportRequest, Kind, Rule
from metajudge.exports.workspace import PIECE, TYPES, Work, ahead, append, fill, only
from metajudge.store import engine_of
from metajudge.store.sql import PAGE, Connection, Row
from metajudge.types.location import StoreLocation

TOLD: Final = {
    **dict.fromkeys(("rubric", "rubric_digest", "metajudge_version"), "VARCHAR"),
    "threshold": "DOUBLE",
    "agents": [{"agent": "VARCHAR", "model": "VARCHAR"}],
}
"""What is taken of an assessment's payload."""
PROMISED: Final = {
    "guarantee": {
        **dict.fromkeys(("threshold", "target", "delta"), "DOUBLE"),
        **dict.fromkeys(("judges", "unit"), "VARCHAR"),
        "approximate": "BOOLEAN",
        "questions": "BIGINT",
    },
    "probability_marks": "VARCHAR",
}
"""What is taken of the payload of an annotation, with which a calibration completes an assessment."""
FINISHES: Final = ("finish", "finish_reason", "stop_reason")
"""Fields of ``meta`` that say why a judge's reply ended; the first one that says anything counts."""


def assessments_of(told: str, promised: str) -> str:
    """SQL for the columns of ``assessments``.

    Args:
        told: what is of the structure :data:`TOLD`.
        promised: what is of the structure :data:`PROMISED`.
    """
    stamp = f"{promised}.guarantee"
    return f"""judgment_id, judgment_digest, item_id, judge, status, accepted, final_score AS score, probability,
        calibration, {stamp}.threshold AS bar, {stamp}.target AS target, {stamp}.delta AS delta,
        {stamp}.approximate AS approximate, {stamp}.judges AS promise_judges, {stamp}.unit AS promise_unit,
        {stamp}.questions AS promise_questions, {promised}.probability_marks AS marks, strategy, panel_digest,
        {told}.threshold AS threshold, {told}.rubric AS rubric, {told}.rubric_digest AS rubric_digest,
        {told}.metajudge_version AS version, action, policy,
        array_to_string(list_transform({told}.agents, lambda x: x.agent || ' (' || x.model || ')'), ', ') AS agents"""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """How a table is made of rows, a block at a time.

    Attributes:
        columns: of the rows, the payload last.
        query: makes the table's rows of those ``given``.
        payload: structure of the payload.
    """

    name: str
    columns: Sequence[str]
    query: str
    payload: Any

    def fill(self, work: Work, blocks: Iterable[Sequence[Sequence[Any]]]) -> None:
        """Makes the table anew."""
        fill(work, self.name, self.columns, blocks, self.query, self.payload)

    def add(self, work: Work, rows: Sequence[Sequence[Any]]) -> None:
        """Adds rows to it."""
        append(work, f"INSERT INTO {self.name}", self.columns, rows, self.query, self.payload)


_ITEM_TEXTS: Final = ("question", "responses", "models", "scale", "question_id", "conversation", "replies")
ITEMS: Final = Table(
    "items",
    ("item_no", "item_id", "category", "item_digest", "payload"),
    f"""SELECT item_no, item_id, category, item_digest, said(payload.label) AS label,
        {", ".join(f"payload.{name} AS {name}" for name in _ITEM_TEXTS)} FROM given""",
    {**dict.fromkeys(_ITEM_TEXTS, "VARCHAR"), "label": "JSON"},
)


def judgments_of(request: ExportRequest) -> Table:
    """The table ``judgments``; rationales and instructions are taken where they are to be exported."""
    texts = ("rationale", "instruction")
    taken = request.kind is Kind.JUDGMENTS
    units = [request.unit] if request.unit not in (None, QUESTION, ITEM) else []
    finish = ", ".join(f"nullif(payload.meta.{name}, '')" for name in FINISHES)
    stated = ", ".join([*(f'payload.meta."{unit}"' for unit in units), "payload.item.question_id"])
    return Table(
        "judgments",
        ("judgment_no", "judgment_id", "judgment_digest", "item_id", "judge", "item_digest", "payload"),
        f"""SELECT judgment_no, judgment_id, judgment_digest, item_id, judge, item_digest,
            said(payload.verdict) AS verdict, payload."order" AS shown, payload.labels AS labels,
            {", ".join(f"{f'payload.{name}' if taken else 'NULL::VARCHAR'} AS {name}" for name in texts)},
            coalesce({finish}) AS finish, CASE WHEN json_type(payload.meta.response_finish) = 'OBJECT'
                THEN payload.meta.response_finish::VARCHAR END AS response_finish,
            payload.item.labels AS people, coalesce({stated}) AS question_id,
            payload.item.conversation AS conversation FROM given""",
        {
            **{name: "VARCHAR" for name in texts if taken},
            **{name: ["VARCHAR"] for name in ("order", "labels")},
            "verdict": "JSON",
            "meta": {**dict.fromkeys([*FINISHES, *units], "VARCHAR"), "response_finish": "JSON"},
            "item": dict.fromkeys(("labels", "question_id", "conversation"), "VARCHAR"),
        },
    )


NAMED: Final = 20
"""Item ids that are named where they were left out; all are counted."""
_TEXTS: Final = 500
"""Rows whose texts are asked for at once."""
_VERSIONS: Final = {
    "a": ("assessments a", "a.assessment_id", "NULL, NULL, NULL, NULL"),
    "n": (
        "annotations n CROSS JOIN assessments a",  # in this order: SQLite begins with the first
        "n.annotation_id",
        "n.calibration, n.probability, n.policy, n.action",
    ),
}
"""Versions of assessments (:mod:`metajudge.store.versions`): where they are, their number, and what is annotated."""
_VERSION: Final = (
    *("number", "assessment_id", "judgment_digest", "judgment_id", "item_id", "judge", "final_score", "strategy"),
    *("panel_digest", "status", "accepted", "calibration", "probability", "policy", "action"),
)
_SOURCES: Final = {
    "judge": "SELECT DISTINCT judge FROM assessments WHERE NOT redacted",
    "run": "SELECT DISTINCT run_id FROM assessments WHERE NOT redacted UNION SELECT n.run_id FROM annotations n "
    "JOIN assessments a ON a.assessment_id = n.assessment_id WHERE NOT a.redacted",
    "panel": "SELECT DISTINCT panel_digest FROM assessments WHERE NOT redacted",
    "category": "SELECT DISTINCT category FROM items WHERE NOT redacted",
}
"""What there is of each kind of value that a filter names."""


def copy_from_store(work: Work, location: StoreLocation, request: ExportRequest, where: str) -> dict[str, Any]:
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

    work: Work
    connection: Connection
    request: ExportRequest
    where: str

    def take(self) -> dict[str, Any]:
        work = self.work
        judgments, forgotten = self.connection.row(
            "SELECT count(DISTINCT judgment_id) FILTER (WHERE NOT redacted), "
            "count(DISTINCT judgment_digest) FILTER (WHERE redacted) FROM assessments"
        )
        if not judgments:
            raise InputError(f"{self.where} contains no vetted judgments yet: vet some into it first (`metajudge vet`)")
        filters = resolved(self.request.filters, self.connection.execute, _SOURCES, self.where)
        fill(work, "versions", _VERSION, ahead(self._versions(filters)))
        _choose(work, self.request)
        matching, taken = only(
            work, "SELECT count(DISTINCT assessment_id), (SELECT count(*) FROM assessments) FROM versions"
        )
        work.execute("DROP TABLE versions")
        drop_unwanted(work, filters)
        self._take_texts(filters)
        conflicts = _settle_contents(work, filters, self.request, self.where)
        (left,) = only(work, "SELECT count(*) FROM assessments")
        if not left and not conflicts["conflicting_judgments"]:
            raise nothing_matches(self.request.filters, self.where, judgments)
        self._take_payloads()
        take_people(work, None if self.request.ignore_decisions else self.connection)
        return {
            "forgotten": forgotten,
            "superseded": matching - taken,
            "judgments": judgments,
            "filtered_out": judgments - left - conflicts["conflicting_judgments"],
            **conflicts,
        }

    def _versions(self, filters: Filters) -> Iterator[list[Row]]:
        """The versions of the runs, panels and dates that are wanted, in short columns."""
        for table, (place, number, annotated) in _VERSIONS.items():
            conditions, values = [f"{number} > $1 AND NOT a.redacted"], list[Any]()
            if table == "n":
                conditions.append("a.assessment_id = n.assessment_id")
            for condition, value in (
                # An index of runs would be no help to pages in the order of numbers.
                (f"{table}.run_id || '' IN (SELECT unnest(${{}}::VARCHAR[]))", list(filters.runs)),
                ("a.panel_digest IN (SELECT unnest(${}::VARCHAR[]))", list(filters.panels)),
                (f"{table}.created_at >= ${{}}", filters.since and filters.since.timestamp()),
                (f"{table}.created_at < ${{}}", filters.until and filters.until.timestamp()),
            ):
                if value not in (None, []):
                    values.append(value)
                    conditions.append(condition.format(len(values) + 1))
            own = ", ".join([*(f"a.{name}" for name in _VERSION[1:9]), f"{table}.status", f"{table}.accepted"])
            query = f"""SELECT {number}, {own}, {annotated} FROM {place} WHERE {" AND ".join(conditions)}
                ORDER BY {number} LIMIT {PAGE}"""
            last = 0
            while rows := self.connection.rows(query, [last, *values]):
                yield rows
                last = rows[-1][0]

    def _take_texts(self, filters: Filters) -> None:
        work = self.work
        wanted = ""
        if filters.categories:
            rows = self.connection.rows(
                "SELECT item_id FROM items WHERE NOT redacted AND category IN (SELECT unnest($1::VARCHAR[]))",
                [list(filters.categories)],
            )
            fill(work, "wanted_items", ("item_id",), [rows])
            wanted = "WHERE item_id IN (SELECT item_id FROM wanted_items)"
        for table, due in (
            (judgments_of(self.request), f"SELECT judgment_digest FROM assessments {wanted} ORDER BY assessment_id"),
            (ITEMS, "SELECT item_digest FROM judgments GROUP BY 1 ORDER BY min(judgment_no)"),
        ):
            table.fill(work, self._rows(table.name, table.columns, due))
        work.execute("""
            UPDATE items SET question_id = stated.question_id FROM (
                SELECT item_digest, max(question_id) AS question_id FROM judgments WHERE question_id IS NOT NULL
                GROUP BY 1) stated
            WHERE stated.item_digest = items.item_digest""")
        work.execute("""
            UPDATE items SET conversation = j.conversation FROM (
                SELECT item_digest, arg_max(conversation, judgment_no) AS conversation FROM judgments
                WHERE conversation IS NOT NULL GROUP BY 1) j
            WHERE j.item_digest = items.item_digest""")

    def _take_payloads(self) -> None:
        """Adds to the assessments what their payloads say of panel, rubric and guarantee."""
        annotated = "SELECT number AS annotation_id FROM assessments WHERE number <> assessment_id ORDER BY 1"
        for table, of, key, payload, due in (
            ("told", "assessments", "assessment_id", TOLD, "SELECT assessment_id FROM assessments ORDER BY 1"),
            ("promised", "annotations", "annotation_id", PROMISED, annotated),
        ):
            rows = self._rows(of, (key, "payload"), due)
            fill(self.work, table, ("number", "payload"), rows, payload=payload)
        self.work.execute(f"""
            CREATE OR REPLACE TABLE assessments AS
            SELECT {assessments_of("t.payload", "p.payload")} FROM assessments a
            LEFT JOIN told t ON t.number = a.assessment_id LEFT JOIN promised p ON p.number = a.number""")
        for table in ("told", "promised"):
            self.work.execute(f"DROP TABLE {table}")

    def _rows(self, table: str, columns: Sequence[str], due: str) -> Iterator[list[Row]]:
        """Rows of a table of the store with their payloads, each time about as much text as may be in memory.

        Args:
            due: a query of the work for the keys of the rows.
        """
        ((key, found),) = self.work.execute(due).fetchnumpy().items()
        keys = found.tolist()
        names = [{"judgment_no": "rowid", "item_no": "rowid - 1"}.get(name, name) for name in columns]
        asked = f"""SELECT {", ".join(names)} FROM {table} WHERE NOT redacted
            AND {key} IN (SELECT unnest($1::{TYPES.get(key, "VARCHAR")}[]))"""

        def pieces() -> Iterator[list[Row]]:
            piece, size = list[Row](), 0
            for first in range(0, len(keys), _TEXTS):
                for row in sorted(self.connection.rows(asked, [keys[first : first + _TEXTS]])):
                    if piece and size + len(row[-1]) > PIECE:
                        yield piece
                        piece, size = [], 0
                    piece.append(row)
                    size += len(row[-1])
            if piece:
                yield piece

        return ahead(pieces())


def _choose(work: Work, request: ExportRequest) -> None:
    """Makes ``assessments``: of each judgment the newest version, and the newest action of a policy.

    Where the rule needs a probability the newest version that has one is taken. A policy's action may be on an older
    version: a judgment that a policy rejected does not become one that no policy has seen by vetting it again without a
    policy.
    """
    probable = request.selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE)
    order = f"{'probability IS NULL, ' if probable else ''}assessment_id DESC, number DESC"
    work.execute(f"""
        CREATE OR REPLACE TABLE assessments AS
        WITH newest AS (
            SELECT number FROM versions QUALIFY row_number() OVER (PARTITION BY judgment_id ORDER BY {order}) = 1
        ), actions AS (
            SELECT judgment_id, judgment_digest, arg_max(action, number) AS action, arg_max(policy, number) AS policy
            FROM versions WHERE action IS NOT NULL GROUP BY judgment_id, judgment_digest
        )
        SELECT v.* EXCLUDE (action, policy), actions.action, actions.policy
        FROM versions v SEMI JOIN newest USING (number) LEFT JOIN actions USING (judgment_id, judgment_digest)""")


def _settle_contents(work: Work, filters: Filters, request: ExportRequest, where: str) -> dict[str, Any]:
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
        SELECT item_id, item_digest, item_no, category, last_value(item_no) OVER same AS chosen,
            last_value(category) OVER same AS newest
        FROM items WINDOW same AS (
            PARTITION BY item_id, hash(question, responses) ORDER BY item_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)""")
    if filters.categories:
        work.execute(
            "DELETE FROM contents WHERE NOT coalesce(newest IN (SELECT unnest($1::VARCHAR[])), false)",
            [list(filters.categories)],
        )
    twice = "SELECT item_id FROM contents GROUP BY item_id HAVING count(DISTINCT chosen) > 1"
    ids = [row[0] for row in work.execute(f"{twice} ORDER BY 1").fetchall()]
    if ids and request.conflicts == "refuse":
        raise InputError(
            f"{len(ids)} item ids of {where} stand for two different contents, the first {ids[0]!r}: narrow the export "
            "with a filter (one run, say), let it leave these items out, or give each content its own item id"
        )
    (lost,) = only(
        work,
        f"""SELECT count(*) FROM judgments WHERE item_digest IN (
            SELECT item_digest FROM contents WHERE item_id IN ({twice}))""",
    )
    work.execute(f"DELETE FROM contents WHERE item_id IN ({twice})")
    work.execute("DELETE FROM judgments WHERE item_digest NOT IN (SELECT item_digest FROM contents)")
    work.execute("DELETE FROM items WHERE item_no NOT IN (SELECT chosen FROM contents)")
    work.execute("DELETE FROM assessments WHERE judgment_id NOT IN (SELECT judgment_id FROM judgments)")
    work.execute("DROP TABLE contents")
    return {"conflicting_items": len(ids), "conflicting_judgments": lost, "conflicting_item_ids": ids[:NAMED]}
