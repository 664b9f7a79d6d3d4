"""What a table leaves open, as questions with the flags that answer them, and answers as a mapping."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from metajudge.errors import InputError
from metajudge.reading.guessed_values import example_ranges, suggested
from metajudge.reading.inspection import Inspection
from metajudge.reading.mapping import FieldMap, did_you_mean, parse_map, parse_values
from metajudge.reading.vocabulary import NONE, TIE, seen
from metajudge.types import letters

Kind = Literal["column", "judge", "responses", "value", "numbers", "turn"]

MOST_ASKED: Final = 12
"""Values that are asked about one by one; a column with more of them is no column of verdicts."""
LAST: Final = "last"
DROP: Final = "drop this column"
_SAID: Final = {TIE: "a tie", NONE: "no verdict"}
"""What a choice says, where it is no name."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that a person has to say before a table can be read.

    Attributes:
        kind: what is asked for: a column, the judge (a column or a name), the columns of the responses, what a value
            means, what numbers mean, or which turn was judged.
        about: the field, or the value.
        text, flag: the question for people, and what answers it on the command line.
        default: the answer if there is none; None where there must be one.
        choices: answers that can be given by their number, from 1 on.
        field: the field whose column has the value.
    """

    kind: Kind
    about: str
    text: str
    flag: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    field: str = "verdict"


_RESPONSES: Final = "Which columns have the responses (two, with a comma between; one for grades)?"
_TEXT: Final = "Which column has the question?"
_VERDICT: Final = Question("column", "verdict", "Which column has the verdict?", "--map verdict=COLUMN")
_FIELDS: Final = {
    "verdict": _VERDICT,
    "question": Question("column", "question", _TEXT, "--map question=COLUMN"),
    "responses.A": Question("responses", "responses", _RESPONSES, "--map responses.A=COLUMN,responses.B=COLUMN"),
    "judge": Question("judge", "judge", "Who judged: a column, or a name for all rows?", "--judge NAME"),
}


def questions_of(found: Inspection) -> list[Question]:
    """What is still open, in the order in which it should be asked; empty where every row can be read."""
    mapping = found.mapping
    if mapping is None:
        return []
    missing = [replace(one, choices=found.columns) for name, one in _FIELDS.items() if name in mapping.missing()]
    asked = missing or _about_values(found, mapping)
    if found.turns is not None and not asked:
        text = f"Responses have up to {found.turns} turns. Which one was judged: a number, a column, or {LAST}?"
        asked.append(Question("turn", "turn", text, "--map turn=COLUMN, or --map turn:=1", LAST))
    return asked


def _about_values(found: Inspection, mapping: FieldMap) -> list[Question]:
    ids, field = mapping.response_ids, found.unknown_in
    column = mapping.columns.get(field, field)
    if not found.unknown:
        return []
    if found.numbers is not None:
        low, high = found.numbers
        example = example_ranges(low, high, ids)
        means = f"What do they mean (LOW..HIGH=MEANING, high numbers for {ids[0]} would be {example})?"
        text = f"Verdicts are numbers from {low:g} to {high:g}. {means}"
        return [Question("numbers", "verdict", text, f"--map-values {shlex.quote(example)}")]
    if len(found.unknown) > MOST_ASKED:
        many = f"{column!r} has {len(found.unknown)} different values that are no {field.split('.')[0]}s."
        return [replace(_VERDICT, text=f"{many} {_VERDICT.text}", choices=found.columns)]
    several, before = len(ids) > 1, "" if field == "verdict" else "label:"
    means = f"{', '.join(ids)}, {ids[0]}>{ids[1]}, tie or none" if several else "a number after =, a word or none"
    choices = (*ids, TIE, NONE, DROP) if several else (NONE, DROP)
    asked = []
    for value in found.unknown:
        text = f"{column} has {seen(found.unknown)}. What does {value} mean ({means})?"
        flag = f"--map-values {shlex.quote(f'{before}{value}=MEANING')}"
        asked.append(Question("value", value, text, flag, suggested(value) if several else None, choices, field))
    return asked


def answered(mapping: FieldMap, question: Question, text: str, columns: Sequence[str]) -> FieldMap:
    """The mapping with an answer in it.

    Args:
        text: the answer, or its number among the question's choices; after ``=`` a number is no choice.
        columns: of the table; a name that is none of them is a name only where one is asked for.

    Raises:
        InputError: the answer names no column, or is no meaning.
    """
    text = _chosen(text.strip(), question.choices)
    match question.kind:
        case "value" if text == DROP:
            return _without(mapping, question.field)
        case "value":
            if not text:
                raise InputError("say what it means")
            before = "" if question.field == "verdict" else "label:"
            return mapping.updated(values={f"{before}{question.about}": text})
        case "numbers":
            return mapping.updated(values=parse_values([text]))
        case "responses":
            names = [_column(_chosen(one.strip(), columns), columns) for one in text.split(",") if one.strip()]
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


def _chosen(text: str, choices: Sequence[str]) -> str:
    """The choice with this number; the text itself where it is none, or one of them."""
    if text in choices or not text.isascii() or not text.isdigit() or not 1 <= int(text[:4]) <= len(choices):
        return text.removeprefix("=")
    return choices[int(text) - 1]


def listed(question: Question) -> str:
    """The choices with their numbers, in one line."""
    return ", ".join(f"{place} {_SAID.get(one, one)}" for place, one in enumerate(question.choices, start=1))


def _without(mapping: FieldMap, field: str) -> FieldMap:
    columns, constants = dict(mapping.columns), dict(mapping.constants)
    columns.pop(field, None)
    constants.pop(field, None)
    return FieldMap(columns=columns, constants=constants, values=mapping.values)


def changed(mapping: FieldMap, text: str, columns: Sequence[str]) -> FieldMap:
    """The mapping with a change as on the command line: ``verdict=winner``, ``judge:=NAME``, or ``C=tie`` for a value.

    ``label=`` drops what was taken for the label.

    Raises:
        InputError: the change is none of these, or names no column.
    """
    field, sign, column = (part.strip() for part in text.partition("="))
    if sign and not column and field in mapping.columns | mapping.constants:
        return _without(mapping, field)
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
    if name in columns or name.split(".")[0] in columns:
        return name
    folded = {column.casefold(): column for column in columns}
    if name.casefold() not in folded:
        hint = did_you_mean(name, columns)
        raise InputError(f"there is no column {name!r}.{hint} The columns: {', '.join(columns)}")
    return folded[name.casefold()]
