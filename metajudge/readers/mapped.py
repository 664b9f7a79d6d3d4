"""Judgments from any table, by a mapping of its columns."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.readers.lines import BadLine, Line, Reject
from metajudge.readers.mapping import JUDGED, FieldMap, cell, check_columns, check_fields, quoted
from metajudge.readers.reader import Found
from metajudge.readers.reasons import reason_of
from metajudge.readers.tables import SURVEYED_ROWS, Table
from metajudge.readers.vocabulary import NoVerdict, UnknownValueError, Vocabulary, key_of
from metajudge.types import AnyVerdict, Item, Judgment

_T = TypeVar("_T", Item, Judgment)
_TEXTS = ("rationale", "instruction", "category", "reference")


class MappedTable:
    """Reads the rows of a table as judgments.

    Args:
        table: the rows.
        mapping: which column is what.
        survey: whether the first rows are looked at now for verdicts that mean nothing.
        needed: fields that must be mapped; :data:`~metajudge.readers.mapping.ASKED` where only :meth:`items` are read.

    Raises:
        InputError: a column that is not there, a field left out, or a verdict among the first
            :data:`~metajudge.readers.tables.SURVEYED_ROWS` rows that means nothing; each with the fix. Later rows
            with such a value are rejects.
    """

    def __init__(self, table: Table, mapping: FieldMap, *, survey: bool = True, needed: Sequence[str] = JUDGED) -> None:
        self.table = table
        self.mapping = mapping
        self.format = f"{table.format}, mapped"
        self._vocabulary = Vocabulary(mapping.values)
        self._stem = stem_of(table.source.name)
        columns = table.columns()
        check_columns(mapping, columns, table.source.name)
        check_fields(mapping, columns, table.source.name, needed)
        if survey:
            self._require_known_values()

    def read(self) -> Iterator[Found | Reject]:
        for found in self._each(self.judgment):
            yield found if isinstance(found, Reject) else Found(found[1], self.table.source.name, found[0])

    def items(self) -> Iterator[tuple[int, Item] | Reject]:
        """The rows as items alone, each with its number; without a column of items' ids, ``id`` names the item."""
        return self._each(self.item)

    def _each(self, made: Callable[[Line], _T]) -> Iterator[tuple[int, _T] | Reject]:
        for row in self.table.rows():
            if isinstance(row, Reject):
                yield row
                continue
            try:
                yield row.number, made(row)
            except ValidationError as error:
                yield self.table.source.reject(row.number, reason_of(error), row.raw)
            except BadLine as bad:
                yield self.table.source.reject(row.number, str(bad), row.raw)

    def item(self, row: Line) -> Item:
        """A row as an item.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        item, name = self._item(row), self._text(row, "id")
        return item if name is None or self._text(row, "item_id") else item.model_copy(update={"id": name})

    def judgment(self, row: Line) -> Judgment:
        """A row as a judgment.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        item = self._item(row)
        verdict, why = self._verdict(row, "verdict", item)
        data: dict[str, Any] = {
            "id": self._text(row, "id") or f"{self._stem}:{row.number}",
            "item": item,
            "judge": self._text(row, "judge") or _empty("judge", self.mapping),
            "verdict": verdict,
            "no_verdict": why if verdict is None else None,
            "rationale": self._text(row, "rationale") or "",
            "instruction": self._text(row, "instruction"),
            "order": self._order(row, item),
            "labels": _names(self._value(row, "labels")) or None,
            "meta": self._meta(row),
        }
        return Judgment.model_validate(data)

    def _item(self, row: Line) -> Item:
        responses = {
            name: text_of(value, answer=True)
            for name in self.mapping.response_ids
            if (value := cell(row.data, self.mapping.columns[f"responses.{name}"])) is not None
            and (value != "" or self._answered(row, name))
        }
        models = {name: model for name in responses if (model := self._text(row, f"models.{name}"))}
        question = self._value(row, "question")
        if question is None:
            raise BadLine(f"question: column {self.mapping.columns['question']!r} is empty")
        data: dict[str, Any] = {
            "id": "-",
            "question": text_of(question),
            "responses": responses,
            "category": self._text(row, "category"),
            "reference": self._text(row, "reference"),
            "models": models or None,
        }
        if not responses:
            columns = ", ".join(repr(self.mapping.columns[f"responses.{name}"]) for name in self.mapping.response_ids)
            raise BadLine(f"responses: {columns} are all empty")
        item = Item.model_validate(data)
        label, _ = self._verdict(row, "label", item) if self._has("label") else (None, None)
        if label is not None:
            item = Item.model_validate({**data, "label": label})
        return item.model_copy(update={"id": self._text(row, "item_id") or f"item-{item.digest[:16]}"})

    def _answered(self, row: Line, name: str) -> bool:
        """Whether an empty cell is an empty answer. CSV has no null: of more than two, it is one where it was shown."""
        if len(self.mapping.response_ids) <= 2:
            return True
        shown = _names(self._value(row, "order"))
        return name in shown or (len(shown) == 1 and name in tuple(shown[0]))

    def _verdict(self, row: Line, field: str, item: Item) -> tuple[Any, str | None]:
        value = self._value(row, field)
        try:
            found = self._read(value, item)
        except UnknownValueError as error:
            raise BadLine(f"{field}: {error}; say what it means with --map-values {_example(key_of(value))}") from None
        if isinstance(found, NoVerdict):
            stated = self._text(row, "no_verdict") if field == "verdict" else None
            return None, stated or found.reason
        return found, None

    def _read(self, value: Any, item: Item) -> AnyVerdict | NoVerdict:
        """A value's meaning; where models are not named, the columns of the responses may be named after them."""
        ids = tuple(item.responses)
        try:
            return self._vocabulary.read(value, ids, item.models or {})
        except UnknownValueError:
            columns = {name: column for name, column in self.mapping.response_columns.items() if name in ids}
            if item.models or len(ids) < 2 or key_of(value) not in columns.values():
                raise
            return self._vocabulary.read(value, ids, columns)

    def _order(self, row: Line, item: Item) -> tuple[str, ...]:
        ids = tuple(item.responses)
        swapped = key_of(self._value(row, "swapped")).casefold()
        if swapped in ("true", "1", "yes"):
            return ids[::-1]
        value = self._value(row, "order")
        if value in (None, ""):
            return ids
        if isinstance(value, str) and sorted(value) == sorted(ids):
            return tuple(value)
        return _names(value)

    def _meta(self, row: Line) -> dict[str, Any]:
        value = self._value(row, "meta")
        if isinstance(value, str) and value.strip():
            try:
                value = orjson.loads(value)
            except orjson.JSONDecodeError as error:
                raise BadLine(f"meta: column {self.mapping.columns['meta']!r} holds no JSON object: {error}") from None
        if value not in (None, "") and not isinstance(value, dict):
            raise BadLine(f"meta: column {self.mapping.columns['meta']!r} holds no JSON object")
        meta = dict(value or {})
        for name, column in self.mapping.columns.items():
            if name.startswith("meta.") and (found := cell(row.data, column)) is not None:
                meta[name[5:]] = found
        return meta

    def _has(self, field: str) -> bool:
        return field in self.mapping.columns or field in self.mapping.constants

    def _value(self, row: Line, field: str) -> Any:
        column = self.mapping.columns.get(field)
        return self.mapping.constants.get(field) if column is None else cell(row.data, column)

    def _text(self, row: Line, field: str) -> str | None:
        value = self._value(row, field)
        return None if value in (None, "") else text_of(value)

    def _require_known_values(self) -> None:
        unknown: Counter[str] = Counter()
        first: dict[str, str] = {}
        for row in islice(self.table.rows(), SURVEYED_ROWS):
            if isinstance(row, Reject):
                continue
            try:
                self.judgment(row)
            except ValidationError:
                continue
            except BadLine as bad:
                if isinstance(bad.__cause__ or bad.__context__, UnknownValueError):
                    field = "label" if str(bad).startswith("label:") else "verdict"
                    key = key_of(self._value(row, field))
                    unknown[key] += 1
                    first.setdefault(key, f"{self.table.source.name}:{row.number}: {field}")
        if unknown:
            raise InputError(_vocabulary_fault(unknown, first, self.mapping, self.table.source.name))


def stem_of(name: str) -> str:
    """A file's name without folders and endings: what ids are made from."""
    base = Path(name).name or name
    return base.split(".", 1)[0] or base


def text_of(value: Any, *, answer: bool = False) -> str:
    """A cell as text: a chat as its messages (of an answer, the last one), other nested data as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) and "content" in one for one in value):
        said = [text_of(one["content"]) for one in value]
        if answer or len(said) == 1:
            return said[-1]
        roles = [str(one.get("role") or one.get("from") or "message") for one in value]
        return "\n\n".join(f"{role}: {text}" for role, text in zip(roles, said, strict=True))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return key_of(value)
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()


def _names(value: Any) -> tuple[str, ...]:
    """Names in a cell: a list, a JSON list as text, or divided by commas or > signs."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return (value,)
    if isinstance(value, list):
        return tuple(map(str, value))
    return tuple(part.strip() for part in re.split(r"[,>]", value) if part.strip()) if isinstance(value, str) else ()


def _empty(field: str, mapping: FieldMap) -> str:
    raise BadLine(f"{field}: column {mapping.columns.get(field)!r} is empty")


def _example(*values: str) -> str:
    meanings = {"c": "tie", "0.5": "tie", "1.5": "tie", "both": "tie"}
    parts = [f"{value}={meanings.get(value.casefold(), 'MEANING')}" for value in values]
    return quoted(",".join(parts))


def _vocabulary_fault(unknown: Mapping[str, int], first: Mapping[str, str], mapping: FieldMap, name: str) -> str:
    shown = ", ".join(f"{value!r} ({count})" for value, count in list(unknown.items())[:8])
    more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
    column = mapping.columns.get("verdict")
    ids: Sequence[str] = mapping.response_ids
    one = next(iter(unknown))
    advice = "a number" if len(ids) == 1 else f"{ids[0]}, {ids[0]}>{ids[1]}, tie"
    models = (
        ""
        if mapping.model_columns or len(ids) == 1
        else " If these are models' names, map the columns that name the "
        f"models: --map models.{ids[0]}=COLUMN,models.{ids[1]}=COLUMN."
    )
    return (
        f"{name}: {shown}{more} in column {column!r} are no verdicts here, first at {first[one]}. Say what each means: "
        f"--map-values {_example(*list(unknown)[:8])}, where a meaning is {advice} or none.{models}"
    )
