"""People's labels in the rows of a table, and words of its columns that stand for no answer or mean nothing.

Labels are in one column, in several, in a list, or one a row with its annotator.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import orjson

from metajudge.reading.containers.cells import cell, first_of, key_of, nested, object_in, parsed
from metajudge.reading.containers.lines import BadLine, Line
from metajudge.reading.containers.tables import Survey
from metajudge.reading.conversations import text_of
from metajudge.reading.mapping import FieldMap, Wording
from metajudge.reading.people import time_of
from metajudge.reading.scales import on_scale
from metajudge.reading.spread import PREFIX, Spread, spread_of
from metajudge.reading.vocabulary import InfiniteValueError, NoVerdict, UnknownValueError, Vocabulary, beside, unclear
from metajudge.types import AnyVerdict, Item, Label
from metajudge.types.label import Chosen, as_ruling, chosen_in

_VALUES: Final = ("value", "label", "score", "verdict", "rating", "answer")
_ANNOTATORS: Final = ("annotator", "annotator_id", "user", "user_id", "rater", "name", "by")
_TIMES: Final = ("time", "created_at", "updated_at", "timestamp")


class UnknownCell(BadLine):
    """A cell whose value means nothing here: its field, and the value as text."""

    def __init__(self, field: str, key: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.key = field, key


@dataclass(frozen=True)
class RowLabels:
    """Reads the verdict and the labels of a row, by what the words of both mean."""

    mapping: FieldMap
    wording: Wording
    verdicts: Vocabulary
    labels: Vocabulary

    @cached_property
    def spreads(self) -> Mapping[str, Spread]:
        """Fields whose columns are several."""
        found = {name: spread_of(column, self.mapping.response_ids) for name, column in self.mapping.columns.items()}
        return {name: spread for name, spread in found.items() if spread is not None}

    def value(self, row: Line, field: str) -> Any:
        """A field's cell, or the text that applies to every row."""
        column = self.mapping.columns.get(field)
        return self.mapping.constants.get(field) if column is None else cell(row.data, column)

    def text(self, row: Line, field: str) -> str | None:
        """The same as a text; None where it is empty."""
        value = self.value(row, field)
        return None if value in (None, "") else text_of(value)

    def has(self, field: str) -> bool:
        """Whether a field is mapped."""
        return field in self.mapping.columns or field in self.mapping.constants

    def said(self, row: Line, field: str, item: Item) -> AnyVerdict | NoVerdict:
        """What a row's verdict or its one label says; raises as :meth:`read`."""
        spread = self.spreads.get(field)
        try:
            value = self.value(row, field) if spread is None else spread.read(row.data, item.models or {})
        except BadLine as bad:
            raise BadLine(f"{field}: {bad}") from None
        return self.read(field, value, item)

    def read(self, field: str, value: Any, item: Item) -> AnyVerdict | NoVerdict:
        """A cell's meaning on an item.

        Raises:
            UnknownCell: it has none; with what says one.
            BadLine: it is an infinite number.
        """
        vocabulary = self.verdicts if field == "verdict" else self.labels
        ids, models = tuple(item.responses), item.models or {}
        try:
            found = vocabulary.read_named(value, ids, models, self.mapping.response_columns, item.scale)
        except InfiniteValueError as error:
            raise BadLine(f"{field}: {error}") from None
        except UnknownValueError as error:
            means = self.wording.meanings(example(key_of(value)))
            raise UnknownCell(field, key_of(value), f"{error}; say what it means with {means}") from None
        return found if isinstance(found, NoVerdict) else on_scale(found, item.scale)

    @cached_property
    def one_a_row(self) -> bool:
        """Whether each row contains the label of one annotator."""
        return "annotator" in self.mapping.columns and "label" in self.mapping.columns

    def beside(self, row: Line, item: Item) -> tuple[Label, ...]:
        """The labels in the row's columns and lists; not the one that has an annotator of its own.

        Raises:
            BadLine: with the field and what is wrong.
        """
        chosen, columns = _chosen(row), self.mapping.columns
        labels = [
            Label(value=value, annotator=field.removeprefix("label."), chosen=chosen)
            for field, column in columns.items()
            if field.startswith("label.") and (value := self._value(field, cell(row.data, column), item)) is not None
        ]
        for field in (one for one in ("human_labels", "labels") if one in columns):
            for entry in listed_labels(cell(row.data, columns[field]), item, own=field == "labels") or ():
                labels += self._entry(field, entry, item)
        if chosen is not None and not labels and item.label is not None:
            labels.append(Label(value=item.label, chosen=chosen))
        return tuple(labels)

    def of_all(self, row: Line, item: Item) -> AnyVerdict | None:
        """The row's one label, of nobody by name; None where it has none, and raises as :meth:`read`."""
        found = self.said(row, "label", item)
        return None if isinstance(found, NoVerdict) else found

    def of_annotator(self, row: Line, item: Item) -> Label | None:
        """The row's label by its annotator; None where the row has none, and raises as :meth:`read`."""
        columns = self.mapping.columns
        value = self._value("label", cell(row.data, columns["label"]), item)
        if value is None:
            return None
        annotator = key_of(cell(row.data, columns["annotator"])) or None
        if "ruling" in columns and is_true(cell(row.data, columns["ruling"])):
            annotator = as_ruling(annotator)
        time = time_of(cell(row.data, columns["label_time"])) if "label_time" in columns else None
        return Label(value=value, annotator=annotator, time=time, chosen=_chosen(row))

    def _entry(self, field: str, entry: Any, item: Item) -> Iterator[Label]:
        found = self._value(field, _value_of(entry), item)
        if found is not None:
            said = entry if _is_object(entry) else {}
            annotator, how = first_of(said, *_ANNOTATORS), object_in(entry).get("chosen")
            label = {"value": found, "annotator": None if annotator is None else str(annotator) or None}
            how = how if how == "picked" or isinstance(how, Mapping) else None
            yield Label.model_validate({**label, "time": time_of(first_of(said, *_TIMES)), "chosen": how})

    def _value(self, field: str, value: Any, item: Item) -> AnyVerdict | None:
        found = self.read(field, value, item)
        return None if isinstance(found, NoVerdict) else found


def _chosen(row: Line) -> Chosen | None:
    try:
        return chosen_in(row.data)
    except ValueError as error:
        raise BadLine(str(error)) from None


def listed_labels(value: Any, item: Item, *, own: bool = False) -> list[Any] | None:
    """The entries of a list of labels, also as JSON text; None where the cell is empty or something else.

    Args:
        value: a cell.
        item: what it is about.
        own: whether the column may instead say what a judge called the responses: a list of names, as many as there
            are responses.

    Raises:
        BadLine: it is no list.
    """
    written = isinstance(value, str) and value.lstrip().startswith("[")
    given = parsed(value) if written else value
    if given in (None, "") or (written and given is value) or (own and not isinstance(given, list)):
        return None
    if not isinstance(given, list):
        raise BadLine(f"human_labels: {str(given)[:60]!r} is no list of labels")
    words = len(item.responses) == 1 and given != list(item.responses)
    return given if not own or words or not all(isinstance(one, str) for one in given) else None


def _is_object(entry: Any) -> bool:
    """Whether an entry in a list of labels is an object with a value, and not the value itself."""
    return isinstance(entry, Mapping) and entry.keys() != {"category"}


def _value_of(entry: Any) -> Any:
    return first_of(entry, *_VALUES) if _is_object(entry) else entry


def is_true(value: Any) -> bool:
    """Whether a cell says yes."""
    return key_of(value).casefold() in ("true", "1", "yes")


def labels_text(labels: tuple[Label, ...]) -> str | None:
    """Labels as JSON text that :func:`listed_labels` reads; None without any."""
    if not labels:
        return None
    return orjson.dumps([one.model_dump(mode="json", exclude_none=True) for one in labels]).decode()


_SHOWN = 8


def vocabularies_of(mapping: FieldMap, survey: Survey, wording: Wording) -> tuple[Vocabulary, Vocabulary, list[str]]:
    """What the values of verdicts and of people's labels mean, by the columns they stand in (in the first rows).

    Returns:
        That of verdicts, that of labels, and a sentence for each column with values that stand for no answer.
    """
    seen: dict[str, Counter[str]] = {}
    for name, column in mapping.columns.items():
        if name == "human_labels":
            lists = (found for value in survey.cells(column) if isinstance(found := nested(value), list))
            seen[name] = Counter(key_of(_value_of(one)) for entries in lists for one in entries)
        elif name.split(".")[0] in ("verdict", "label") and not column.startswith(PREFIX):
            seen[name] = Counter(survey.keys(column))
    judged = seen.get("verdict", Counter[str]())
    labels = {value for name, values in seen.items() if name != "verdict" for value in values}
    other = bool({"order", "swapped"} & mapping.columns.keys())
    verdict = Vocabulary(mapping.values, categories=True, beside=beside(judged, labels), shown=other)
    label = Vocabulary(mapping.values, categories=True, column="label", beside=beside(labels, judged), shown=other)
    told = []
    for name, counts in seen.items():
        what, known = ("verdicts", verdict) if name == "verdict" else ("labels", label)
        silent = known.silent_among(counts, several=len(mapping.response_ids) > 1)
        if silent:
            shown = ", ".join(f"{value!r} ({counts[value]:,})" for value in silent[:_SHOWN])
            more = ", ..." if len(silent) > _SHOWN else ""
            told.append(
                f"No {what} but words for none, in column {mapping.columns[name]!r}: {shown}{more}; "
                f"{wording.meanings({silent[0]: 'MEANING'})} says otherwise."
            )
    return verdict, label, told


def example(*values: str) -> dict[str, str]:
    """A meaning for each value: the usual one, or a place for it."""
    meanings = {"c": "tie", "0.5": "tie", "1.5": "tie", "both": "tie"}
    return {value: meanings.get(value.casefold(), "MEANING") for value in values}


def vocabulary_fault(
    unknown: Mapping[str, int], first: Mapping[str, tuple[int, str]], mapping: FieldMap, name: str, wording: Wording
) -> str:
    """Why the words of a table cannot be read as verdicts, with the fix.

    Args:
        unknown: word -> how often it stands in the rows looked at.
        first: word -> the number of its first row, and the field there.
        mapping: which column is what.
        name: of the file.
        wording: how messages name what the user gives.
    """
    ids: Sequence[str] = mapping.response_ids
    number, field = first[next(iter(unknown))]
    column = mapping.columns.get(field) or mapping.columns.get("verdict", field)
    what = "verdict" if field == "verdict" else "label"
    advice, models = "a number", ""
    if len(ids) > 1:
        advice = f"{ids[0]}, {ids[0]}>{ids[1]}, tie"
        columns = wording.mapped(f"models.{ids[0]}=COLUMN,models.{ids[1]}=COLUMN")
        models = f" If these are models' names, map the columns that name the models: {columns}."
    return (
        f"{name}: {unclear(column, unknown, what)}, first at {name}:{number}: {field}. Say what each means: "
        f"{wording.meanings(example(*list(unknown)[:_SHOWN]))}, where a meaning is {advice} or none."
        f"{'' if mapping.model_columns else models}"
    )
