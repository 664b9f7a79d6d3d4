"""What a table leaves open, as questions with the flags that answer them, and answers as a mapping."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from metajudge.errors import InputError
from metajudge.reading.guessed_values import example_ranges, suggested
from metajudge.reading.inspection import Inspection
from metajudge.reading.mapping import FieldMap, did_you_mean, parse_map, parse_values
from metajudge.types import letters

Kind = Literal["column", "judge", "responses", "value", "numbers", "turn"]

MOST_ASKED: Final = 12
"""Values that are asked about one by one; a column with more of them is no column of verdicts."""
LAST: Final = "last"


@dataclass(frozen=True, slots=True)
class Question:
    """Something that a person has to say before a table can be read.

    Attributes:
        kind: what is asked for: a column, the judge (a column or a name), the columns of the responses, what a value
            means, what numbers mean, or which turn was judged.
        about: the field, or the value.
        text: the question, for people.
        flag: what answers it on the command line.
        default: the answer if there is none; None where there must be one.
    """

    kind: Kind
    about: str
    text: str
    flag: str
    default: str | None = None


_FIELDS: Final = {
    "verdict": Question("column", "verdict", "Which column has the verdict?", "--map verdict=COLUMN"),
    "question": Question("column", "question", "Which column has the question?", "--map question=COLUMN"),
    "responses.A": Question(
        "responses",
        "responses",
        "Which columns have the responses (two, with a comma between; one for grades)?",
        "--map responses.A=COLUMN,responses.B=COLUMN",
    ),
    "judge": Question("judge", "judge", "Who judged: a column, or a name for all rows?", "--judge NAME"),
}


def questions_of(found: Inspection) -> list[Question]:
    """What is still open, in the order in which it should be asked; empty where every row can be read."""
    mapping = found.mapping
    if mapping is None:
        return []
    asked = [_FIELDS[name] for name in _FIELDS if name in mapping.missing()] or _about_values(found, mapping)
    if found.turns is not None and not asked:
        text = f"Responses have up to {found.turns} turns. Which one was judged: a number, a column, or {LAST}?"
        asked.append(Question("turn", "turn", text, "--map turn=COLUMN, or --map turn:=1", LAST))
    return asked


def _about_values(found: Inspection, mapping: FieldMap) -> list[Question]:
    ids = mapping.response_ids
    if not found.unknown:
        return []
    if found.numbers is not None:
        low, high = found.numbers
        example = example_ranges(low, high, ids)
        means = f"What do they mean (LOW..HIGH=MEANING, high numbers for {ids[0]} would be {example})?"
        text = f"Verdicts are numbers from {low:g} to {high:g}. {means}"
        return [Question("numbers", "verdict", text, f"--map-values {shlex.quote(example)}")]
    if len(found.unknown) > MOST_ASKED:
        many = f"{mapping.columns['verdict']!r} has {len(found.unknown)} different values that are no verdicts."
        return [replace(_FIELDS["verdict"], text=f"{many} {_FIELDS['verdict'].text}")]
    mean = f"mean ({', '.join(ids)}, {ids[0]}>{ids[1]}, tie or none)?"
    flags = {value: f"--map-values {shlex.quote(f'{value}=MEANING')}" for value in found.unknown}
    return [
        Question("value", value, f"What does {value!r} {mean}", flag, suggested(value, ids))
        for value, flag in flags.items()
    ]


def answered(mapping: FieldMap, question: Question, text: str, columns: Sequence[str]) -> FieldMap:
    """The mapping with an answer in it.

    Args:
        columns: of the table; a name that is none of them is a name only where one is asked for.

    Raises:
        InputError: the answer names no column, or is no meaning.
    """
    text = text.strip()
    match question.kind:
        case "value":
            return mapping.updated(values=parse_values([f"{question.about}={text}"]))
        case "numbers":
            return mapping.updated(values=parse_values([text]))
        case "responses":
            names = [_column(part, columns) for part in text.split(",") if part.strip()]
            if not names:
                raise InputError("say at least one column")
            return mapping.updated({f"responses.{letters(place)}": name for place, name in enumerate(names)})
        case "column":
            return mapping.updated({question.about: _column(text, columns)})
        case "turn" if text in ("", LAST):
            return mapping
        case "judge" | "turn":  # a column where there is one of this name, else a text for all rows
            if not text:
                raise InputError(f"say a column or a text for {question.kind}")
            given: dict[str, str] = {question.kind: text}
            return mapping.updated(given) if text in columns else mapping.updated(constants=given)


def changed(mapping: FieldMap, text: str, columns: Sequence[str]) -> FieldMap:
    """The mapping with a change as on the command line: ``verdict=winner``, ``judge:=NAME``, or ``C=tie`` for a value.

    Raises:
        InputError: the change is none of these, or names no column.
    """
    try:
        given = parse_map([text])
    except InputError:
        return mapping.updated(values=parse_values([text]))
    for column in given.columns.values():
        if ":" not in column:
            _column(column, columns)
    return mapping.updated(given.columns, given.constants)


def _column(text: str, columns: Sequence[str]) -> str:
    """A column by its name, also by its name in another case, or a path inside one.

    Raises:
        InputError: there is no such column, with the nearest one.
    """
    name = text.strip()
    folded = {column.casefold(): column for column in columns}
    if name in columns or name.split(".")[0] in columns:
        return name
    if name.casefold() in folded:
        return folded[name.casefold()]
    hint = did_you_mean(name, columns)
    raise InputError(f"there is no column {name!r}.{hint} The columns: {', '.join(columns)}")
