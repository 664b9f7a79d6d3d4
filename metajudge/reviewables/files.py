"""Sheets to files and answers from files: JSONL or CSV, by the file's name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.files.tables import unescaped, write_table
from metajudge.reading.containers.lines import Line, Source, read_lines
from metajudge.reading.containers.sheets import csv_table
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.deciding import number_in
from metajudge.reviews.review import HumanDecision, reviewer_name

_OF_REVIEW = (
    *("review_id", "subject", "subject_id", "item_id", "judge", "category"),
    *("action", "priority", "margin", "probability", "score", "confidence"),
)
TO_FILL_IN = ("reviewer", "outcome", "corrected_verdict", "scores", "reason", "decided_at")
COLUMNS = (
    *_OF_REVIEW,
    *("kind", "policy", "status", "why", "question", "labels", "responses", "reference", "criteria", "verdict"),
    *("rationale", "machine", "tips", "people", "answers", "missing"),
    *TO_FILL_IN,
)
"""What an export has; the last six are to be filled in, and are what an import reads."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A row of a file that was filled in.

    Attributes:
        where: file and line, for messages.
        decided_at: seconds since the epoch; None where the file does not say.
        blind: whether the row is of a blind export: it has the texts, and nothing that the machine said.
    """

    where: str
    review_id: str
    reviewer: str
    answer: Answer
    decided_at: float | None
    blind: bool = False


def export_rows(sheet: Sheet, decisions: Sequence[HumanDecision]) -> list[dict[str, Any]]:
    """A sheet as flat rows: one for each decision, or one to fill in where there are none, or the sheet is blind.

    Args:
        decisions: the newest of each person.
    """
    base = {**dict.fromkeys(COLUMNS), **sheet_row(sheet)}
    if sheet.blind or not decisions:
        return [base]
    found = [one.data("reviewer", "outcome", "scores", "reason", "decided_at", "verdict") for one in decisions]
    return [base | {"corrected_verdict": one.pop("verdict")} | one for one in found]


def sheet_row(sheet: Sheet) -> dict[str, Any]:
    """A sheet as one flat row; responses are by label in a blind one, else by name."""
    review, record = sheet.record["review"], sheet.record
    policy = review.get("policy")
    responses = {one.name or one.label or one.title: one.text for one in sheet.passages if one.kind in _ANSWERS}
    row = {
        **{name: review[name] for name in _OF_REVIEW if name in review},
        "kind": sheet.kind,
        "policy": None if policy is None else policy["name"],
        "status": sheet.status,
        "why": sheet.why,
        "question": _text(sheet, "question"),
        "labels": {one.label: one.name for one in sheet.passages if one.label is not None} or None,
        "responses": responses,
        "reference": _text(sheet, "reference"),
        "criteria": _text(sheet, "criteria") or (dict(sheet.criteria) or None),
        "answers": {"write": sheet.hint or None, "choices": [one.value for one in sheet.choices]},
        "missing": sheet.missing or None,
    }
    if not sheet.blind:
        rationale = (text.text for section in sheet.machine for text in section.texts if text.title == "Rationale")
        row |= {"verdict": record.get("verdict"), "rationale": next(rationale, None)}
        row["machine"] = [asdict(one) for one in sheet.machine]
        row["tips"] = list(sheet.tips)
        row["people"] = [asdict(one) for one in sheet.people]
    return row


_ANSWERS = ("response", "context", "output")


def _text(sheet: Sheet, kind: str) -> str | None:
    return next((one.text for one in sheet.passages if one.kind == kind), None)


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Writes rows as CSV (``.csv``) or JSONL; returns their number.

    Raises:
        InputError: the file cannot be written.
    """
    return write_table(rows, path, COLUMNS, lambda row: row, orjson.dumps)


def read_answers(path: Path, *, reviewer: str | None = None) -> list[AnswerRow]:
    """Reads answers given elsewhere; rows without an outcome and without a verdict are passed over.

    A verdict without an outcome is the reviewer's own, which is compared with the machine's.

    Args:
        reviewer: who decided where the file does not say.

    Raises:
        InputError: a row that is no answer, with file and line; the file is missing or contains none.
    """
    found = [
        _answer(where, row, reviewer)
        for where, row in _rows(path)
        if row.get("outcome") or row.get("corrected_verdict")
    ]
    if not found:
        raise InputError(f"{path} contains no decision: fill in its columns outcome and reviewer")
    return found


def _answer(where: str, row: Mapping[str, Any], reviewer: str | None) -> AnswerRow:
    try:
        verdict = row.get("corrected_verdict")
        written = str(verdict).lower() if isinstance(verdict, bool) else str(verdict)
        answer = Answer(
            outcome=row.get("outcome") or None,
            verdict=None if verdict is None or verdict == "" else written,
            scores=tuple(f"{name}={score}" for name, score in _scores(row.get("scores")).items()),
            reason=str(row.get("reason") or ""),
        )
        named = reviewer_name(str(row.get("reviewer") or reviewer or ""))
        blind = bool(row.get("responses")) and not row.get("machine")
        stated, at = row.get("decided_at"), None
        if stated not in (None, ""):
            at = number_in(stated) if isinstance(stated, str | int | float) else None
            if at is None or at < 0:
                raise InputError(f"decided_at: {stated!r} is not a number of seconds since 1970")
        return AnswerRow(where, str(row.get("review_id") or ""), named, answer, at, blind)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _scores(given: Any) -> dict[str, Any]:
    try:
        scores = orjson.loads(given) if isinstance(given, str) else given
    except orjson.JSONDecodeError as error:
        raise InputError(f'scores: not a JSON object such as {{"accuracy": 2}}: {error}') from None
    if scores is not None and not isinstance(scores, dict):
        raise InputError('scores: not a JSON object such as {"accuracy": 2}')
    return scores or {}


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    source = Source(path, str(path))
    table = csv_table(source) if path.suffix == ".csv" else None
    if table is not None:
        missing = {"review_id", "outcome"} - set(header := table.columns())
        if missing:
            raise InputError(f"{path}:1: no column {', '.join(sorted(missing))}; there are {list(header)}")
    for line in read_lines(source) if table is None else table.rows():
        if not isinstance(line, Line):
            raise InputError(str(line))
        row = line.data if table is None else {name: unescaped(cell) for name, cell in line.data.items() if cell}
        yield f"{path}:{line.number}", row
