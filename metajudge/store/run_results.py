"""Results and labels without texts, read in bulk."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.store.sql import Connection, only_row
from metajudge.store.texts import rows_of
from metajudge.store.versions import CURRENT, versions

_SPAN: Final = 16_384
"""Numbers of versions that one query reads."""

_QUERY: Final = f"""
    SELECT assessment_id, number, judgment_id, item_id, judgment_digest, panel_digest, accepted, final_score, annotation
    FROM {versions()} found WHERE {{}} AND number BETWEEN $2 AND $3 ORDER BY number
"""  # noqa: S608 - our own text
_OF_RUN: Final = "run_id = $1"
_NOW: Final = (
    f"number IN (SELECT number FROM {CURRENT} WHERE ($1::VARCHAR IS NULL OR panel_digest = $1) "  # noqa: S608
    "AND number BETWEEN $2 AND $3)"
)


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
    for one in _read(cursor, _OF_RUN, run_id, f"{versions()} found WHERE {_OF_RUN}", [run_id]):
        subject = one.judgment_digest, one.panel_digest
        newest[subject] = max(newest.get(subject, one), one, key=lambda version: version[:2])
    return sorted(newest.values(), key=lambda one: one.number)


def current_results(cursor: Connection, panel: str | None) -> list[RunResult]:
    """The current version of each judgment by each panel, or by one, by its number, ascending."""
    return list(_read(cursor, _NOW, panel, CURRENT, []))


def _read(cursor: Connection, which: str, about: str | None, among: str, values: Sequence[Any]) -> Iterator[RunResult]:
    first, last = only_row(cursor, f"SELECT min(number), max(number) FROM {among}", values)  # noqa: S608 - our own text
    for start in range(first, last + 1, _SPAN) if first is not None else ():
        for *columns, said in cursor.execute(_QUERY.format(which), [about, start, start + _SPAN - 1]).fetchall():
            whole = said is not None and '"final_score":' in said  # an earlier version kept a whole assessment there
            yield _whole(columns[0], columns[1], orjson.loads(said)) if whole else RunResult(*columns)


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


def verdicts_of(cursor: Connection, digests: Sequence[str]) -> dict[str, Said]:
    """Those of the judgments with these different digests whose texts are kept, by digest."""
    rows = [row for row in rows_of(cursor, "judgment", "item_digest, redacted", digests) if not row[2]]
    items = {
        digest: orjson.loads(payload)
        for digest, redacted, payload in rows_of(cursor, "item", "redacted", {row[1] for row in rows})
        if not redacted
    }
    return {digest: _said(orjson.loads(payload), items[item]) for digest, item, _, payload in rows if item in items}


def _said(judgment: dict[str, Any], item: dict[str, Any]) -> Said:
    beside = judgment.get("item") or {}
    people = beside["labels"] if "labels" in beside else item.get("labels")
    asked = (item.get("question"), item.get("reference"), beside.get("question_id"), beside.get("conversation"))
    question, reference, stated, turns = map(_json, asked)
    return Said(
        _json(judgment.get("verdict")), _json(item.get("label")), _json(people), (question, reference, stated, turns)
    )


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
