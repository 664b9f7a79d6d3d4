"""Argilla's records: suggestions of an agent as verdicts, people's responses as labels.

Read are what ``dataset.records.to_json(path)`` writes (argilla 2.8; the shape of ``Record.to_dict()``), and the tables
of ``to_datasets()`` (``QUESTION.suggestion``, ``QUESTION.responses`` and their users) and of version 1
(``QUESTION-suggestion`` beside a list of responses). Each question that an agent answered makes an item. The judge is
``AGENT/QUESTION``. Drafts and discarded answers are no labels, suggestions by ``metajudge push`` no verdicts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from metajudge.reading.containers.cells import nested, object_in, objects_in
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.conversations import text_of
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import OF_RUN, Row, Spec, get
from metajudge.reading.own_notes import AGENT
from metajudge.types import digest

_NOT_SUBMITTED = ("draft", "discarded")
_SIDE = re.compile(r"(?:response|output|answer|completion|generation|candidate)s?[\s_.-]?([a-h]|[1-8])", re.I)
_QUESTIONS = (*(key for key in runs.QUESTION_KEYS if key not in ("messages", "text")), "instruction", "context")
_SUGGESTED = re.compile(r"(.+)[.-]suggestion")
_PARTS = re.compile(r".+[.-](?:suggestion|responses)(?:[.-]\w+)?")


def _is_record(record: Row) -> bool:
    if record.keys() >= {"fields", "responses", "suggestions"}:
        return isinstance(record["fields"], dict)
    named = [found[1] for name in record if (found := _SUGGESTED.fullmatch(name))]
    return any(name in record or f"{name}.responses" in record for name in named)


def _opened(row: Row) -> Row:
    """A record; of a row of a table the columns of its questions as suggestions and responses."""
    if "fields" in row:
        return row
    found: dict[str, dict[str, Any]] = {"suggestions": {}, "responses": {}}
    for column in row:
        if (named := _SUGGESTED.fullmatch(column)) is None:
            continue
        question, more = named[1], object_in(nested(row.get(f"{column}-metadata")))
        scored = {key: row.get(f"{column}.{key}", more.get(key)) for key in ("agent", "score")}
        found["suggestions"][question] = {"value": nested(row[column]), **scored}
        answers, users, states = (
            nested(row.get(f"{question}.responses{end}")) or [] for end in ("", ".users", ".status")
        )
        found["responses"][question] = objects_in(nested(row.get(question))) or [
            {"value": value, "user_id": dict(enumerate(users)).get(at), "status": dict(enumerate(states)).get(at)}
            for at, value in enumerate(answers)
        ]
    others = {"id", "status", "_server_id", "external_id", "metadata", *found["responses"]}
    fields = {name: one for name, one in row.items() if name not in others and not _PARTS.fullmatch(name)}
    return {**row, **found, "fields": fields}


def _each(record: Row) -> Iterator[Row]:
    for question, one in (record.get("suggestions") or {}).items():
        if isinstance(one, Mapping) and one.get("value") is not None and not str(one.get("agent")).startswith(AGENT):
            yield {**one, "question": question, "by": one.get("agent") or "suggestion"}
    for question, given in (record.get("responses") or {}).items():
        for one in given or ():
            if one.get("status") not in _NOT_SUBMITTED:
                yield {**one, "question": question, "by_person": True}


def _value(row: Row) -> Any:
    """A ranking as groups of values, best first; anything else as it is."""
    value = row.get("value")
    ranked = isinstance(value, list) and value and all(isinstance(one, Mapping) and "rank" in one for one in value)
    if not isinstance(value, list) or not ranked:
        return value
    places = sorted({one["rank"] for one in value})
    return [[str(one["value"]) for one in value if one["rank"] == place] for place in places]


def parts_of(fields: Row) -> tuple[str, dict[str, str]]:
    """The field of the question, and those of the responses by their ids.

    Raises:
        BadLine: they are no question with one response, or with several that are numbered.
    """
    given = [key for key, value in fields.items() if value is not None]
    asked = next((key for wanted in _QUESTIONS for key in given if key.lower() == wanted), next(iter(given), None))
    others = [key for key in given if key != asked]
    sides = {found[1].upper(): key for key in others if (found := _SIDE.fullmatch(key))}
    if asked is not None and len(sides) > 1:
        return asked, {dict(zip("12345678", "ABCDEFGH", strict=True)).get(side, side): sides[side] for side in sides}
    answer = next((key for wanted in runs.ANSWER_KEYS for key in others if key.lower() == wanted), None)
    answer = others[0] if answer is None and len(others) == 1 else answer
    if asked is None or answer is None:
        raise BadLine(f"fields: {', '.join(fields)} are no question with one response, or with numbered ones")
    return asked, {"A": answer}


def run_of_fields(name: Any, fields: Row) -> runs.RecordedRun:
    """The fields of a record as a run; raises what :func:`parts_of` does."""
    asked, answers = parts_of(fields)
    if len(answers) == 1:
        return runs.RecordedRun(str(name), **runs.asked_and_answered(fields[asked], fields[answers["A"]]))
    texts = {side: text_of(fields[key], answer=True) for side, key in answers.items()}
    return runs.RecordedRun(str(name), text_of(fields[asked]), None, answers=texts)


SPEC = Spec(
    name="Argilla records",
    marks="fields|id|_server_id|status|external_id",
    test=_is_record,
    opened=_opened,
    run=lambda row: run_of_fields(get(row, "id|_server_id|external_id") or digest(row["fields"])[:16], row["fields"]),
    each=_each,
    score={
        "name": "question",
        "by": "by",
        "value": _value,
        "id": lambda row: f"{row[OF_RUN]}/{row['question']}/{row['by']}",
    },
    meta={"judge_model": "agent", "source": "=suggestion", "score": "score", "time": "updated_at"},
    people={"annotator": "user_id"},
)
