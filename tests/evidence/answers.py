"""Answers in short, for tests of columns."""

from typing import Any

import numpy as np

from metajudge.evidence.answers import Answers, answers_of
from metajudge.stats.arrays import Indices
from metajudge.types import AnyVerdict, parse_right
from tests.evidence.verdicts import Said, said, table


def seen(judge: str, verdict: Any, order: str = "A") -> Said:
    return said(judge, order, verdict)


def answers(
    items: dict[str, list[Said]],
    kind: Any,
    rule: str,
    *,
    questions: dict[str, str] | None = None,
    models: dict[str, str] | None = None,
) -> tuple[Answers, Indices, list[tuple[str, str, AnyVerdict | None]]]:
    """Arrays of some records with every record as a row, and each row's item, judge and verdict."""
    facts = table(items, models, question_id=questions or {})
    made, places = answers_of(facts, kind, parse_right(rule))
    who = [(name, one.judge, one.verdict) for name, records in items.items() for one in records]
    rows = np.flatnonzero(made.option[places] >= 0)
    return made, places[rows], [who[row] for row in rows]
