"""Battles of the Chatbot Arena, and MT-Bench human judgments (Zheng et al., 2023; Chiang et al., 2024).

A record has ``model_a, model_b, winner`` (``model_a``, ``model_b``, ``tie``, ``tie (bothbad)``), at times
``conversation_a, conversation_b, turn``, ``question_id`` and ``judge``. Votes in the Arena are people's whatever the
``judge`` field says, and so are those of MT-Bench's ``expert_0`` and ``author_2``; ``gpt4_pair`` is a judge, whose
``tie (inconsistent)`` are two games that contradict each other. Rows of MT-Bench are named as FastChat's pairs are.
"""

import re
from collections.abc import Iterator
from typing import Final

from metajudge.reading.containers.cells import nested
from metajudge.reading.formats.records import Get, Record, Records, Score

_PERSON: Final = re.compile(r"(?:expert|author|arena_user|user|human|annotator)s?[_ -]?\w*", re.I)


def _name(record: Record) -> str | None:
    question, turn = record.get("question_id"), record.get("turn")
    if question is None or "anony" in record or "judge" not in record:
        return None if question is None else str(question)
    later = f"/turn-{turn}" if isinstance(turn, int) and turn > 1 else ""
    return f"{question}/{record['model_a']}/{record['model_b']}{later}"


def _voted(record: Record) -> Iterator[Score]:
    by = record.get("judge")
    person = "anony" in record or by is None or _PERSON.fullmatch(str(by))
    yield Score(value="winner", judge=None if person else "judge", by="judge")


_SPOKEN: Final[dict[str, Get]] = {
    "A": lambda record: nested(record.get("conversation_a")),
    "B": lambda record: nested(record.get("conversation_b")),
}
FORMAT: Final = Records(
    name="arena battles",
    marks="model_a, model_b, winner, conversation_a|anony",
    also="judge|judge_hash",
    question=_SPOKEN["A"],
    answers=_SPOKEN,
    models={"A": "model_a", "B": "model_b"},
    id=_name,
    turn="turn",
    scores=_voted,
    meanings={"model_a": "A", "model_b": "B", "tie (inconsistent)": "tie", "tie (bothbad)": "tie"},
)
