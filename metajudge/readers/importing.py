"""What a table leaves open, as questions with the flags that answer them, and answers as a mapping."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from metajudge.errors import InputError
from metajudge.readers.guessed_values import example_ranges, suggested
from metajudge.readers.inspection import Inspection
from metajudge.readers.mapping import FieldMap, parse_map, parse_values

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


_COLUMNS: Final = {"verdict": "Which column has the verdict", "question": "Which column has the question"}


def questions_of(found: Inspection) -> list[Question]:
    """What is still open, in the order in which it should be asked; empty where every row can be read."""
    mapping = found.mapping
    if mapping is None:
        return []
    missing = mapping.missing()
    asked = [
        Question("column", name, f"{text}?", f"--map {name}=COLUMN")
        for name, text in _COLUMNS.items()
        if name in missing
    ]
    if "responses.A" in missing:
        text = "Which columns have the responses (two, with a comma between; one for grades)?"
        asked.append(Question("responses", "responses", text, "--map responses.A=COLUMN,responses.B=COLUMN"))
    if "judge" in missing:
        asked.append(Question("judge", "judge", "Who judged: a column, or a name for all rows?", "--judge NAME"))
    if not asked:
        asked += _about_values(found, mapping)
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
        text = (
            f"Verdicts are numbers from {low:g} to {high:g}. What do they mean (LOW..HIGH=MEANING, high numbers for "
            f"{ids[0]} would be {example})?"
        )
        return [Question("numbers", "verdict", text, f"--map-values {shlex.quote(example)}")]
    if len(found.unknown) > MOST_ASKED:
        column = mapping.columns["verdict"]
        text = (
            f"{column!r} has {len(found.unknown)} different values that are no verdicts. Which column has the verdict?"
        )
        return [Question("column", "verdict", text, "--map verdict=COLUMN")]
    choices = f"{', '.join(ids)}, {ids[0]}>{ids[1]}, tie or none"
    return [
        Question(
            "value",
            value,
            f"What does {value!r} mean ({choices})?",
            f"--map-values {shlex.quote(f'{value}=MEANING')}",
            suggested(value, ids),
        )
        for value in found.unknown
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
            return _with_columns(mapping, {f"responses.{chr(65 + place)}": name for place, name in enumerate(names)})
        case "judge":
            return _with(mapping, "judge", text, columns)
        case "turn":
            return mapping if text in ("", LAST) else _with(mapping, "turn", text, columns)
        case "column":
            return _with_columns(mapping, {question.about: _column(text, columns)})


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


def _with(mapping: FieldMap, field: str, text: str, columns: Sequence[str]) -> FieldMap:
    """A column where there is one of this name, else a text for all rows."""
    if not text:
        raise InputError(f"say a column or a text for {field}")
    if text in columns:
        return _with_columns(mapping, {field: text})
    return mapping.updated(constants={field: text})


def _with_columns(mapping: FieldMap, columns: dict[str, str]) -> FieldMap:
    if not columns:
        raise InputError("say at least one column")
    return mapping.updated(columns)


def _column(text: str, columns: Sequence[str]) -> str:
    """A column by its name, also by its name in another case, or a path inside one.

    Raises:
        InputError: there is no such column, with the nearest one.
    """
    import difflib

    name = text.strip()
    folded = {column.casefold(): column for column in columns}
    if name in columns or name.split(".")[0] in columns:
        return name
    if name.casefold() in folded:
        return folded[name.casefold()]
    near = difflib.get_close_matches(name, columns, 1, 0.6)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise InputError(f"there is no column {name!r}.{hint} The columns: {', '.join(columns)}")
