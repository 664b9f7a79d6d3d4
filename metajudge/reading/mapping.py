"""Which column of a table is what: ``verdict=winner,question=prompt,responses.A=output_1``, as data.

A row may be several judgments: ``verdict.gpt-4=gpt4_score`` is a column a judge, ``verdict@tone=tone_score`` a column a
criterion, and ``verdict.gpt-4@tone=gpt4_tone`` both. A verdict in several columns: :mod:`metajudge.reading.spread`.
"""

import difflib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import Field

from metajudge.errors import InputError
from metajudge.reading.spread import PREFIX, columns_in, spread_of
from metajudge.reading.vocabulary import ranges_in
from metajudge.types import ID_PATTERN
from metajudge.types.frozen import Frozen

FIELDS: Final[Mapping[str, str]] = {
    "verdict": "who won: see --map-values for other words than the responses' ids and tie; verdict.JUDGE for each of "
    "several judges, verdict@CRITERION for each of several criteria (label@CRITERION, too)",
    "question": "what was asked",
    "judge": "who judged (or judge:=NAME, the same for all)",
    "rationale": "what the judge wrote",
    "id": "the judgment's id; without it, the file's name and the row",
    "item_id": "the item's id; without it, a digest of question and responses, or the row where these are not known",
    "order": "ids in the order shown: AB, BA, A,B",
    "swapped": "true where the responses were shown in reverse order",
    "label": "what people say is right, in the words of the verdict; label.NAME for each of several people",
    "annotator": "who gave the label: several rows of one judgment are then read as its labels",
    "label_time": "when that label was given",
    "ruling": "true where that label is a ruling on what people said, not one more person's answer",
    "human_labels": "a list of people's labels: values, or objects with value, annotator, time",
    "scale": "lowest and highest grade (scale:=1..5), or the categories, worst first (scale:=poor<fair<good)",
    "conversation": "the messages that the question contains as text",
    "question_id": "the question's id, where each response is an item of its own: QUESTION/MODEL",
    "turn": "of a conversation, the turn that was judged (1 for the first); without it, the last one",
    "category": "the item's category",
    "reference": "a reference answer",
    "instruction": "the judge's instruction",
    "no_verdict": "why there is no verdict",
    "labels": "what the judge called the responses, in the order shown",
    "meta": "an object of your own data; or meta.NAME, a column each",
}
"""Fields that a column can stand for, beside ``responses.ID``, ``models.ID`` and ``metadata.ID``."""

JUDGED: Final = ("verdict", "question", "judge")
"""Fields that a judgment needs, beside its responses."""
TEXTS: Final = ("question", "responses.A")
"""What is missing where a table has no texts."""
ASKED: Final = ("question",)
"""Fields that an item needs, beside its responses."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How messages name what a user gives: as flags on the command line, or as arguments in Python."""

    flags: bool

    def mapped(self, text: str) -> str:
        """A part of the mapping: ``--map turn=turn`` or ``mapping="turn=turn"``."""
        return f"--map {quoted(text)}" if self.flags else f'mapping="{text}"'

    def meanings(self, values: Mapping[str, str]) -> str:
        """Meanings of values: ``--map-values C=tie`` or ``values={"C": "tie"}``."""
        if self.flags:
            return f"--map-values {quoted(','.join(f'{value}={meaning}' for value, meaning in values.items()))}"
        return f"values={json.dumps(dict(values), ensure_ascii=False)}"

    @property
    def map_name(self) -> str:
        """The mapping itself."""
        return "--map" if self.flags else "mapping"

    def one_judge(self) -> str:
        """How all rows get one judge."""
        return "judge:=NAME gives all rows one judge" if self.flags else 'judge="NAME" gives all rows one judge'


FLAGS: Final = Wording(flags=True)
ARGUMENTS: Final = Wording(flags=False)

_NOTHING: Final[dict[str, str]] = {}
_FAMILIES: Final = ("responses", "models", "meta", "label", "metadata")
_OF_JUDGES: Final = ("verdict", "rationale", "no_verdict")
"""Fields that each of several judges may have a column of."""
_OF_WHOLE: Final = ("label", "human_labels")
"""Fields that say nothing of a criterion, unless they name it."""
_NAME = r"[^=,@:\s](?:[^=,@]*[^=,@:\s])?"
_PLAIN = rf"(?:{'|'.join(_OF_JUDGES)})\.{_NAME}|(?:{'|'.join(_FAMILIES)})\.{ID_PATTERN}|{'|'.join(FIELDS)}"
_FIELD = rf"(?:{_PLAIN})(?:@{_NAME})?"
_PAIR = re.compile(rf"\s*({_FIELD})\s*(:?=)(.*)", re.S)
_MEANINGS = re.compile(r"(?:[+-]?\d+,\d+\s*=)?[^,]+")
"""A part of the meanings of values; the comma of ``4,5=4.5`` divides nothing."""
_NEXT = re.compile(rf",(?=\s*{_FIELD}\s*:?=)")


class FieldName(NamedTuple):
    """A field's name in its parts: ``verdict.gpt-4@tone`` is of the family verdict, the judge gpt-4, and tone."""

    family: str
    own: str
    criterion: str

    @classmethod
    def of(cls, name: str) -> "FieldName":
        """The parts; empty texts for those that are not there."""
        plain, _, criterion = name.partition("@")
        family, _, own = plain.partition(".")
        return cls(family, own, criterion)


def own_columns(columns: Sequence[str]) -> dict[str, str]:
    """The columns that are named after their field."""
    families = tuple(f"{family}{sign}" for family in (*_FAMILIES, *_OF_JUDGES) for sign in ".@")
    return {name: name for name in columns if name in FIELDS or name.startswith(families)}


class FieldMap(Frozen):
    """How the rows of a table are read as judgments.

    Attributes:
        columns: field -> column. A column of nested data is reached by dots: ``outputs.0.text``; a verdict may be
            spread over several columns (``onehot:win_a,win_b,tie``).
        constants: field -> a text that applies to every row (a judge that no column names).
        values: value of the verdict or label -> what it means: a verdict, an id, ``tie``, ``none`` or a number.
    """

    columns: dict[str, str] = Field(default_factory=dict)
    constants: dict[str, str] = Field(default_factory=dict)
    values: dict[str, str] = Field(default_factory=dict)

    @property
    def response_ids(self) -> tuple[str, ...]:
        """Ids of the responses, in the order given."""
        given = (*self.columns, *self.constants)
        return tuple(name.removeprefix("responses.") for name in given if name.startswith("responses."))

    @property
    def model_columns(self) -> dict[str, str]:
        """Response id -> the column that names the model."""
        return {name[7:]: column for name, column in self.columns.items() if name.startswith("models.")}

    @property
    def response_columns(self) -> dict[str, str]:
        """Response id -> its column."""
        return {name[10:]: column for name, column in self.columns.items() if name.startswith("responses.")}

    @property
    def used_columns(self) -> frozenset[str]:
        """The table's columns that are read: of nested data also the column it is in."""
        named = [one for column in self.columns.values() for one in columns_in(column)]
        return frozenset([*named, *(name.split(".")[0] for name in named)])

    def updated(
        self,
        columns: dict[str, str] = _NOTHING,
        constants: dict[str, str] = _NOTHING,
        values: dict[str, str] = _NOTHING,
    ) -> "FieldMap":
        """The mapping with more in it, each field as it is given last: a column, or a text for every row."""
        kept = {name: column for name, column in self.columns.items() if name not in constants}
        texts = {name: text for name, text in self.constants.items() if name not in columns}
        return FieldMap(columns=kept | columns, constants=texts | constants, values=self.values | values)

    def missing(self, needed: Sequence[str] = JUDGED) -> tuple[str, ...]:
        """Fields that must be mapped and are not."""
        given = {FieldName.of(name).family for name in (*self.columns, *self.constants)}
        verdicts = self.verdicts
        given |= {"judge"} if verdicts and all(one.own for one in verdicts) else set()
        needed = [name for name in needed if name not in given]
        return (*needed, *(() if self.response_ids else ("responses.A",)))

    @property
    def verdicts(self) -> list[FieldName]:
        """The fields that are verdicts, in the order given: one for each judgment of a row."""
        names = map(FieldName.of, (*self.columns, *self.constants))
        return [name for name in names if name.family == "verdict"]

    def judgments(self) -> list[tuple[FieldName, "FieldMap"]]:
        """Each judgment of a row: the name of its verdict, and a mapping with that one alone.

        A judge who is given for all rows goes before the name of an only column of verdicts.
        """
        found, several = self.verdicts, len({one.own for one in self.verdicts}) > 1
        named = not several and "judge" in {*self.columns, *self.constants}
        return [(one, self._judgment(one, named=named)) for one in found] or [(FieldName.of("verdict"), self)]

    def _judgment(self, one: FieldName, *, named: bool) -> "FieldMap":
        columns, texts = _about(self.columns, one), _about(self.constants, one)
        if one.own and not named:
            columns.pop("judge", None)
            texts["judge"] = one.own
        return FieldMap(columns=columns, constants=texts, values=self.values)

    def to_flags(self, wording: Wording = FLAGS) -> str:
        """The mapping as it is written on the command line, or in Python."""
        parts = [f"{name}={column}" for name, column in self.columns.items()]
        parts += [f"{name}:={text}" for name, text in self.constants.items()]
        flags = [wording.mapped(",".join(parts))] if parts else []
        return " ".join([*flags, *([wording.meanings(self.values)] if self.values else [])])


def _about(fields: Mapping[str, str], one: FieldName) -> dict[str, str]:
    """The fields that say something of one judgment, by their plain names; its own ones before those of all."""
    shared, own = dict[str, str](), dict[str, str]()
    for name, value in fields.items():
        family, whose, criterion = FieldName.of(name)
        judges = family in _OF_JUDGES
        other = (judges and whose not in ("", one.own)) or criterion not in ("", one.criterion)
        whole = family in _OF_WHOLE and criterion != one.criterion
        if other or whole or (family == "verdict" and (whose, criterion) != (one.own, one.criterion)):
            continue
        plain = family if judges or not whose else f"{family}.{whose}"
        (own if criterion or (judges and whose) else shared)[plain] = value
    return shared | own


def parse_map(texts: Sequence[str], values: Sequence[str] = (), wording: Wording = FLAGS) -> FieldMap:
    """Reads mappings as the command line has them.

    Args:
        texts: ``FIELD=COLUMN`` or ``FIELD:=TEXT``, several divided by commas; a column's name may contain anything.
        values: ``VALUE=MEANING``, divided by commas: ``C=tie,0.5=tie,1=A>B``; a number's range is a value, too:
            ``..0.4=B,0.4..0.6=tie,0.6..=A``.
        wording: how messages name the mapping.

    Raises:
        InputError: a field that does not exist or is given twice, or a meaning that is none.
    """
    columns: dict[str, str] = {}
    constants: dict[str, str] = {}
    for text in (part for given in texts for part in _NEXT.split(given)):
        found = _PAIR.fullmatch(text)
        if found is None or not (
            found[3].strip() or (found[2] == ":=" and found[1].startswith(("question", "responses.")))
        ):
            raise InputError(_bad_field(text, wording))
        name, sign, value = found[1], found[2], found[3].strip()
        if name in columns or name in constants:
            raise InputError(f"{wording.map_name} gives {name} twice: leave one out")
        (columns if sign == "=" else constants)[name] = value
    return FieldMap(columns=columns, constants=constants, values=parse_values(values))


def parse_values(texts: Sequence[str]) -> dict[str, str]:
    """Reads ``VALUE=MEANING`` pairs, divided by commas.

    Raises:
        InputError: a part without ``=``, or a value with two meanings.
    """
    values: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in _MEANINGS.findall(text) if part.strip()):
        value, sign, meaning = (piece.strip() for piece in part.partition("="))
        if not sign or not value or not meaning:
            raise InputError(f"--map-values {part!r} is not VALUE=MEANING, such as C=tie, 1=A>B, pass=1 or error=none")
        if values.get(value, meaning) != meaning:
            raise InputError(f"--map-values gives {value!r} two meanings: {values[value]} and {meaning}")
        values[value] = meaning
    try:
        ranges_in(values)
    except ValueError as error:
        raise InputError(f"--map-values: {error}") from None
    return values


def check_columns(mapping: FieldMap, columns: Sequence[str], name: str) -> None:
    """Whether a table has the columns that a mapping names.

    Raises:
        InputError: a column that is not there, with the nearest one and all there are.
    """
    for field, column in ((field, one) for field, named in mapping.columns.items() for one in columns_in(named)):
        if column not in columns and column.split(".")[0] not in columns:
            hint = did_you_mean(column, columns, f"{field}=")
            raise InputError(f"{name} has no column {column!r}, mapped to {field}.{hint} {columns_there(columns)}")
    unknown = [field for field in mapping.model_columns if field not in mapping.response_ids]
    if unknown and mapping.response_ids:
        raise InputError(f"{name}: models.{unknown[0]} is mapped, but responses.{unknown[0]} is not")
    for field, column in mapping.columns.items():
        if column.startswith(PREFIX) and FieldName.of(field).family not in ("verdict", "label"):
            raise InputError(f"{name}: {column.split(':')[0]}: columns make a verdict or a label, not {field}")
        if mapping.response_ids:
            spread_of(column, mapping.response_ids)
    told = {one.criterion for one in mapping.verdicts}
    for field in (*mapping.columns, *mapping.constants):
        family, _, criterion = FieldName.of(field)
        if told and criterion not in told and (criterion or family in _OF_WHOLE):
            known = ", ".join(f"{family}@{one}" for one in sorted(told) if one) or "no verdict names a criterion"
            raise InputError(f"{name}: {field} is mapped, and no verdict is about the same ({known})")


def check_fields(
    mapping: FieldMap, columns: Sequence[str], name: str, needed: Sequence[str] = JUDGED, wording: Wording = FLAGS
) -> None:
    """Whether a mapping has all required fields.

    Raises:
        InputError: with the fields left out.
    """
    missing = mapping.missing(needed)
    if missing:
        advice = f"; {wording.one_judge()}" if "judge" in missing else ""
        guesses = f" `metajudge import {quoted(name)}` asks." if wording.flags else ""
        raise InputError(
            f"{name}: no column is mapped to {', '.join(missing)}{advice}. {columns_there(columns)}{guesses}"
        )


def did_you_mean(name: str, known: Sequence[str], before: str = "") -> str:
    """A sentence that names the nearest known name; empty where none is near."""
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return f" Did you mean {before}{near[0]}?" if near else ""


def columns_there(columns: Sequence[str]) -> str:
    """The columns in a sentence."""
    shown = ", ".join(columns[:40]) + (", ..." if len(columns) > 40 else "")
    return f"Its columns: {shown or 'none'}."


def quoted(text: str) -> str:
    """A text as a shell takes it."""
    return shlex.quote(text)


def _bad_field(text: str, wording: Wording) -> str:
    field = text.partition("=")[0].strip(" :")
    known = [*FIELDS, "responses.A", "models.A", "verdict.JUDGE"]
    fields, hint = ", ".join(known), did_you_mean(field, known)
    return f"{wording.map_name} {text.strip()!r} is not FIELD=COLUMN with a field of {fields} (any response id).{hint}"
