"""Reviews to files and decisions from files: JSONL or CSV, by the file's name."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Source, read_lines
from metajudge.reviews.review import HumanDecision, Review, ReviewState, reviewer_name
from metajudge.types import Judgment

COLUMNS = (
    "review_id",
    "subject",
    "subject_id",
    "item_id",
    "judge",
    "category",
    "action",
    "priority",
    "margin",
    "probability",
    "score",
    "question",
    "responses",
    "verdict",
    "rationale",
    "reviewer",
    "outcome",
    "corrected_verdict",
    "scores",
    "reason",
    "decided_at",
)
"""What an export has; the last six are to be filled in, and are what an import reads."""

CLASH = "clash"
"""The content of a clash: its whole record, with names, votes and verdict. A blind reviewer sees none of it."""
HIDDEN_WHEN_BLIND = ("action", "priority", "margin", "probability", "score", "verdict", "rationale", "judge")


def export_row(state: ReviewState, judgment: Judgment | None, *, blind: bool = False) -> list[dict[str, Any]]:
    """A review as flat rows: one for each decision, or one to fill in where there are none.

    Args:
        judgment: what there is to see, None where it was forgotten (or for a case).
        blind: leave out the automatic result.
    """
    review = state.review
    shown = _shown(review, judgment, blind)
    base = dict.fromkeys(COLUMNS) | {
        name: value for name, value in shown.items() if not (blind and name in HIDDEN_WHEN_BLIND)
    }
    if not state.decisions:
        return [base]
    return [base | _decided(one) for one in state.decisions]


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Writes rows as CSV (``.csv``) or JSONL; returns their number.

    Raises:
        InputError: the file cannot be written.
    """
    count = 0
    try:
        with path.open("w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS) if path.suffix == ".csv" else None
            if table is not None:
                table.writeheader()
            for row in rows:
                count += 1
                if table is None:
                    stream.write(orjson.dumps(row).decode() + "\n")
                else:
                    table.writerow({name: _cell(value) for name, value in row.items()})
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return count


def read_decisions(path: Path, *, now: float, reviewer: str | None = None) -> list[HumanDecision]:
    """Reads decisions made elsewhere; rows without an outcome are passed over.

    Args:
        now: when a decision counts as made where the file does not say.
        reviewer: who decided where the file does not say.

    Raises:
        InputError: a row that is no decision, with file and line; the file is missing or contains none.
    """
    decisions = []
    for where, row in _rows(path):
        if not row.get("outcome"):
            continue
        decisions.append(_decision(where, row, now, reviewer))
    if not decisions:
        raise InputError(f"{path} contains no decision: fill in its columns outcome and reviewer")
    return decisions


def _shown(review: Review, judgment: Judgment | None, blind: bool) -> dict[str, Any]:
    shown: dict[str, Any] = review.model_dump(
        mode="json",
        include={
            *("review_id", "subject", "subject_id", "item_id", "judge", "category"),
            *("action", "priority", "margin", "probability", "score"),
        },
    )
    if judgment is not None:
        shown |= {
            "question": judgment.item.question,
            "responses": dict(judgment.item.responses),
            "verdict": None if judgment.verdict is None else str(judgment.verdict),
            "rationale": judgment.rationale,
        }
    elif review.content is not None and not (blind and CLASH in review.content):
        shown["responses"] = review.content
    return shown


def _decided(decision: HumanDecision) -> dict[str, Any]:
    return {
        "reviewer": decision.reviewer,
        "outcome": decision.outcome.value,
        "corrected_verdict": None if decision.verdict is None else str(decision.verdict),
        "scores": decision.scores,
        "reason": decision.reason,
        "decided_at": decision.decided_at,
    }


def _cell(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix == ".csv":
        yield from _csv_rows(path)
        return
    for line in read_lines(Source(path, str(path))):
        if not isinstance(line, Line):
            raise InputError(str(line))
        yield f"{path}:{line.number}", line.data


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path} as UTF-8 text: {error}") from error
    table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        missing = {"review_id", "outcome"} - set(table.fieldnames or ())
        if missing:
            raise InputError(f"{path}:1: no column {', '.join(sorted(missing))}; there are {table.fieldnames}")
        for row in table:
            yield f"{path}:{table.line_num}", {name: value for name, value in row.items() if value not in (None, "")}
    except csv.Error as error:
        raise InputError(f"{path}:{max(table.line_num, 1)}: not valid CSV: {error}") from None


def _decision(where: str, row: Mapping[str, Any], now: float, reviewer: str | None) -> HumanDecision:
    try:
        scores = row.get("scores")
        data = {
            "review_id": row.get("review_id"),
            "reviewer": row.get("reviewer") or reviewer,
            "outcome": row.get("outcome"),
            "verdict": row.get("corrected_verdict"),
            "scores": orjson.loads(scores) if isinstance(scores, str) else scores,
            "reason": row.get("reason") or "",
            "decided_at": row.get("decided_at") or now,
            "origin": "import",
        }
        made = HumanDecision.model_validate(data)
        return made.model_copy(update={"reviewer": reviewer_name(made.reviewer)})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f'{where}: scores: not a JSON object such as {{"accuracy": 2}}: {error}') from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: {at + ': ' if at else ''}{first['msg']}") from None
