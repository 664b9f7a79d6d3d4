"""Argilla's records: suggestions of an agent as verdicts, people's responses as labels.

Read is what ``dataset.records.to_json(path)`` writes (argilla 2.8; the shape is that of ``Record.to_dict()``): one
JSON list of ``{"id", "fields", "metadata", "suggestions": {QUESTION: {"value", "agent"}}, "responses": {QUESTION:
[{"value", "user_id"}]}}``. Each question that an agent answered makes an item; the answers of people to it are its
labels. The judge is ``AGENT/QUESTION``. The field named ``prompt``, ``question``, ``instruction`` or the like is the
question, else the first one; the other fields are the responses. Records that ``metajudge pull argilla`` writes say
also when a person answered, and whether it was submitted: drafts and discarded answers are no labels. Suggestions by
``metajudge push`` are no verdicts.
"""

import re
from collections.abc import Mapping
from typing import Any

from metajudge.reading.containers.cells import text_in
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.conversations import text_of
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.own_notes import AGENT
from metajudge.reading.people import PersonScore

FORMAT = "Argilla records"
_NOT_SUBMITTED = ("draft", "discarded")
_SIDE = re.compile(r"(?:response|output|answer|completion|generation|candidate)s?[\s_.-]?([a-h]|[1-8])", re.I)
_QUESTIONS = (*(key for key in runs.QUESTION_KEYS if key not in ("messages", "text")), "instruction", "context")


def is_record(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {"fields", "responses", "suggestions"} and isinstance(record.get("fields"), dict)


def record_of(row: Mapping[str, Any]) -> runs.AssessedRun:
    """A record with what an agent and people answered.

    Raises:
        BadLine: its fields are no question with one response, or with several that are numbered.
    """
    name = str(row.get("id") or row.get("_server_id"))
    scores = [
        _suggested(name, str(question), one)
        for question, one in (row.get("suggestions") or {}).items()
        if isinstance(one, Mapping) and one.get("value") is not None and not str(one.get("agent")).startswith(AGENT)
    ]
    people = [
        PersonScore(str(question), text_in(one.get("user_id")), None, _value(one.get("value")), one.get("updated_at"))
        for question, given in (row.get("responses") or {}).items()
        for one in given or ()
        if one.get("status") not in _NOT_SUBMITTED
    ]
    return runs.AssessedRun(run_of_fields(name, row["fields"]), scores, people)


def _suggested(record: str, question: str, one: Mapping[str, Any]) -> runs.RecordedScore:
    agent, by = one.get("agent"), one.get("agent") or "suggestion"
    meta = {"source": "suggestion", "judge_model": agent, "score": one.get("score"), "time": one.get("updated_at")}
    name, value = f"{record}/{question}/{by}", _value(one.get("value"))
    return runs.RecordedScore(id=name, judge=f"{by}/{question}", value=value, meta=meta, name=question)


def run_of_fields(name: str, fields: Mapping[str, Any]) -> runs.RecordedRun:
    """The fields of a record as question and answers.

    Raises:
        BadLine: they are no question with one response, or with several that are numbered.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    asked = next((key for wanted in _QUESTIONS for key in given if key.lower() == wanted), next(iter(given), None))
    others = {key: value for key, value in given.items() if key != asked}
    sides = {found[1].upper(): value for key, value in others.items() if (found := _SIDE.fullmatch(key))}
    if len(sides) > 1:
        ids = dict(zip("12345678", "ABCDEFGH", strict=True))
        answers = {ids.get(side, side): text_of(value, answer=True) for side, value in sides.items()}
        return runs.RecordedRun(name, text_of(given[asked]) if asked else None, None, answers=answers)
    answer = next((key for wanted in runs.ANSWER_KEYS for key in others if key.lower() == wanted), None)
    if answer is None and len(others) == 1:
        answer = next(iter(others))
    if asked is None or answer is None:
        raise BadLine(f"fields: {', '.join(fields)} are no question with one response, or with numbered ones")
    return runs.RecordedRun(name, **runs.asked_and_answered(given[asked], others[answer]))


def _value(value: Any) -> Any:
    """A ranking as groups of values, best first; anything else as it is."""
    ranked = isinstance(value, list) and value and all(isinstance(one, Mapping) and "rank" in one for one in value)
    if not ranked:
        return value
    places = sorted({one["rank"] for one in value})
    return [[str(one["value"]) for one in value if one["rank"] == place] for place in places]
