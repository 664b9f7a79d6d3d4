"""The tables ``assessments``, ``judgments`` and ``items``, alike from a store, from files and from objects.

Short columns come as they are, everything else in payloads as a store has them: they are parsed once, some at a time,
and split by DuckDB.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from metajudge.evidence.units import ITEM, QUESTION
from metajudge.exports.request import ExportRequest, Kind
from metajudge.exports.workspace import append, fill

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

    def fill(self, work: duckdb.DuckDBPyConnection, blocks: Iterable[Sequence[Sequence[Any]]]) -> None:
        """Makes the table anew."""
        fill(work, self.name, self.columns, blocks, self.query, self.payload)

    def add(self, work: duckdb.DuckDBPyConnection, rows: Sequence[Sequence[Any]]) -> None:
        """Adds rows to it."""
        append(work, f"INSERT INTO {self.name}", self.columns, rows, self.query, self.payload)


_ITEM_TEXTS: Final = ("question", "responses", "models", "scale", "question_id")
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
            payload.item.labels AS people, coalesce({stated}) AS question_id FROM given""",
        {
            **{name: "VARCHAR" for name in texts if taken},
            **{name: ["VARCHAR"] for name in ("order", "labels")},
            "verdict": "JSON",
            "meta": {**dict.fromkeys([*FINISHES, *units], "VARCHAR"), "response_finish": "JSON"},
            "item": {"labels": "VARCHAR", "question_id": "VARCHAR"},
        },
    )
