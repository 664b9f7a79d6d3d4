"""Outcomes as rows of a file: JSONL, or CSV by the file's name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from metajudge.files.tables import write_table
from metajudge.outcomes.model import FinalOutcome, utc

COLUMNS = (
    "event_id",
    "kind",
    "subject_id",
    "item_id",
    "outcome",
    "by",
    "decided_at",
    "policy",
    "policy_digest",
    "action",
    "judge",
    "category",
    "score",
    "probability",
    "confidence",
    "margin",
    "winner",
    "review_id",
    "reviewers",
    "corrected_verdict",
    "follows",
    "amends",
    "current",
    "subject_digest",
)
"""Columns of a CSV; JSONL has the whole event's data besides."""


def row_of(one: FinalOutcome) -> dict[str, Any]:
    """An outcome as one flat row; what it does not have is None."""
    data = one.data
    corrected = sorted({person["verdict"] for person in one.people if person["verdict"] is not None})
    flat = {
        **data,
        "decided_at": utc(one.decided_at),
        "score": data.get("score", data.get("overall_quality_score")),
        "confidence": data.get("confidence", data.get("overall_confidence")),
        "category": data.get("category", data.get("type")),
        "reviewers": ", ".join(person["reviewer"] for person in one.people) or None,
        "corrected_verdict": ", ".join(corrected) or None,
        "current": one.is_current,
    }
    return {name: flat.get(name) for name in COLUMNS}


def line_of(one: FinalOutcome) -> bytes:
    """An outcome as JSON: the data of its event, its number and whether it is current."""
    data = {**one.data, "decided_at": utc(one.decided_at), "number": one.number, "current": one.is_current}
    return orjson.dumps(data)


def write_outcomes(outcomes: Iterable[FinalOutcome], path: Path) -> int:
    """Writes outcomes as CSV (``.csv``) or JSONL; returns their number.

    Raises:
        InputError: the file cannot be written.
    """
    return write_table(outcomes, path, COLUMNS, row_of, line_of)
