"""Answers in short, for tests of columns."""

from typing import Any

import numpy as np

from metajudge.evidence.answers import AnswerRows, Answers, Seen, SeenItem, answers_of
from metajudge.types import AnyVerdict, parse_right, parse_verdict


def seen(judge: str, verdict: Any, order: str = "A") -> Seen:
    return Seen(judge, tuple(order), None if verdict is None else parse_verdict(verdict))


def answers(
    items: dict[str, list[Seen]],
    kind: Any,
    rule: str,
    *,
    questions: dict[str, str] | None = None,
    models: dict[str, str] | None = None,
    kin: dict[str, str] | None = None,
    scale: Any = None,
) -> tuple[Answers, AnswerRows, list[tuple[str, str, AnyVerdict | None]]]:
    """Arrays of some records with every record as a row, and each row's item, judge and verdict."""
    given = {name: SeenItem(records, (questions or {}).get(name, name), scale) for name, records in items.items()}
    made, places = answers_of(
        given, kind, parse_right(rule), models=models or {}, kin=lambda name: (kin or {}).get(name, name)
    )
    rows, who = [], []
    for name, records in items.items():
        for place, record in zip(places[name], records, strict=True):
            if made.option[place] >= 0:
                rows.append(place)
                who.append((name, record.judge, record.verdict))

    return made, AnswerRows(np.array(rows, dtype=np.intp)), who
