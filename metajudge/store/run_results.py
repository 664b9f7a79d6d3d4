"""Results and labels without texts, read in bulk. SQL for both databases."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.store.sql import Connection, in_file, only_row
from metajudge.store.texts import Neighbours

_SPAN: Final = 65_536
"""Numbers of versions that one query reads."""

_OF_PANEL: Final = "a.judgment_id, a.item_id, a.judgment_digest, a.panel_digest"
_OWN: Final = "CASE WHEN strpos(n.payload, '\"final_score\":') > 0 THEN n.payload END"
"""An annotation that an earlier version kept as a whole assessment; NULL for others."""

_BARE: Final = f"""
    SELECT a.assessment_id, a.assessment_id AS number, {_OF_PANEL}, a.accepted, a.final_score, NULL::VARCHAR AS own
    FROM assessments a WHERE a.run_id = $1 AND a.assessment_id BETWEEN $2 AND $3
"""  # noqa: S608 - our own text
_ANNOTATED: Final = f"""
    SELECT n.assessment_id, n.annotation_id AS number, {_OF_PANEL}, n.accepted, a.final_score, {_OWN} AS own
    FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id
    WHERE n.run_id = $1 AND n.annotation_id BETWEEN $2 AND $3
"""  # noqa: S608 - our own text
_CURRENT: Final = f"""
    SELECT l.assessment_id, l.number, {_OF_PANEL}, l.accepted, a.final_score, {_OWN} AS own
    FROM lines l JOIN assessments a ON a.assessment_id = l.assessment_id
        LEFT JOIN annotations n ON n.annotation_id = l.number
    WHERE ($1::VARCHAR IS NULL OR l.panel_digest = $1) AND l.number BETWEEN $2 AND $3
"""  # noqa: S608 - our own text


class RunResult(NamedTuple):
    """One version of an assessment, its texts left out."""

    assessment_id: int
    number: int
    judgment_id: str
    item_id: str
    judgment_digest: str
    panel_digest: str
    accepted: bool | None
    final_score: float | None


def run_results(cursor: Connection, run_id: str) -> list[RunResult]:
    """A run's own newest version of each judgment and panel, by its number, ascending.

    The same versions as :func:`metajudge.store.queries.run_assessments` has.
    """
    newest: dict[tuple[str, str], RunResult] = {}
    for table, number, query in (
        ("assessments", "assessment_id", _BARE),
        ("annotations", "annotation_id", _ANNOTATED),
    ):
        ends = f"SELECT min({number}), max({number}) FROM {table} WHERE run_id = $1"  # noqa: S608 - our own names
        for one in _read(cursor, query, run_id, ends, [run_id]):
            subject = one.judgment_digest, one.panel_digest
            earlier = newest.get(subject)
            if earlier is None or one[:2] > earlier[:2]:
                newest[subject] = one
    return sorted(newest.values(), key=lambda one: one.number)


def current_results(cursor: Connection, panel: str | None) -> list[RunResult]:
    """The current version of each judgment by each panel, or by one, by its number, ascending."""
    found = _read(cursor, _CURRENT, panel, "SELECT min(number), max(number) FROM lines", [])
    return sorted(found, key=lambda one: one.number)


def _read(cursor: Connection, query: str, about: str | None, ends: str, values: Sequence[Any]) -> Iterator[RunResult]:
    first, last = only_row(cursor, ends, values)
    for start in range(first, last + 1, _SPAN) if first is not None else ():
        for *columns, own in cursor.execute(query, [about, start, min(last, start + _SPAN - 1)]).fetchall():
            yield RunResult(*columns) if own is None else _whole(columns[0], columns[1], orjson.loads(own))


def _whole(assessment_id: int, number: int, said: dict[str, Any]) -> RunResult:
    values: list[Any] = [said.get(name) for name in RunResult._fields[2:]]
    return RunResult(assessment_id, number, *values)


class Said(NamedTuple):
    """A verdict and the labels of its item, as JSON; None for what is not given.

    Attributes:
        people: what people say, a list with a ``value`` each.
        asked: the item's question, its reference, its stated question id and its conversation.
    """

    verdict: str | None
    label: str | None
    people: str | None
    asked: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)


class KeptVerdicts:
    """Verdicts and labels whose texts are kept, read some at a time in about the order in which they came."""

    def __init__(self) -> None:
        self._judgments: Neighbours | None = None
        self._items: Neighbours | None = None

    def among(self, cursor: Connection, digests: Sequence[str]) -> dict[str, Said]:
        """Those of the judgments with these different digests, by digest."""
        if self._judgments is None or self._items is None:
            beside = ", ".join(_part(cursor, "item", name) for name in ("labels", "question_id", "conversation"))
            said = f"{_part(cursor, 'verdict')}, {beside}"
            self._judgments = Neighbours("judgment", f"item_digest, {said}")
            own = ", ".join(_part(cursor, name) for name in ("label", "labels", "question", "reference"))
            self._items = Neighbours("item", own)
        rows = self._judgments.rows(cursor, digests, "NOT redacted")
        items = {
            digest: own for digest, *own in self._items.rows(cursor, sorted({row[1] for row in rows}), "NOT redacted")
        }
        return {
            digest: Said(verdict, items[item][0], people or items[item][1], (*items[item][2:], stated, turns))
            for digest, item, verdict, people, stated, turns in rows
            if item in items
        }


def _part(cursor: Connection, *names: str) -> str:
    """A part of the column ``payload``, as JSON text."""
    if in_file(cursor):
        return f"json_extract(payload, '$.{'.'.join(names)}')::VARCHAR"
    return f"(payload::json #> '{{{','.join(names)}}}')::VARCHAR"
