"""People's labels in the rows of a table, and words of its columns that stand for no answer or mean nothing.

Labels are in one column, in several, in a list, or one a row with its annotator.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import orjson

from metajudge.readers.cells import cell, first_of, key_of, nested, parsed
from metajudge.readers.lines import BadLine, Line
from metajudge.readers.mapping import PREFIX, FieldMap, Wording
from metajudge.readers.people import time_of
from metajudge.readers.tables import SURVEYED_ROWS, Table
from metajudge.readers.vocabulary import NoVerdict, UnknownValueError, Vocabulary, beside
from metajudge.types import AnyVerdict, Category, Item, Label, Pairwise
from metajudge.types.label import as_ruling

_VALUES: Final = ("value", "label", "score", "verdict", "rating", "answer")
_ANNOTATORS: Final = ("annotator", "annotator_id", "user", "user_id", "rater", "name", "by")
_TIMES: Final = ("time", "created_at", "updated_at", "timestamp")

MOST_WORDS: Final = 4
"""A column with longer texts that is mapped to nothing may be a question or a response."""

Read = Callable[[Any, Item], AnyVerdict | None]
"""A cell's meaning on an item; None where it says nothing."""


@dataclass(frozen=True)
class RowLabels:
    """Reads the labels of a row.

    Attributes:
        mapping: which column is what.
        read: a cell's meaning.
        wording: how messages name what the user gives.
    """

    mapping: FieldMap
    read: Read
    wording: Wording

    @cached_property
    def one_a_row(self) -> bool:
        """Whether each row contains the label of one annotator."""
        return "annotator" in self.mapping.columns and "label" in self.mapping.columns

    def beside(self, row: Line, item: Item) -> tuple[Label, ...]:
        """The labels in the row's columns and lists; not the one that has an annotator of its own.

        Raises:
            BadLine: with the field and what is wrong.
        """
        labels = [
            Label(value=value, annotator=field.removeprefix("label."))
            for field, column in self.mapping.columns.items()
            if field.startswith("label.") and (value := self._value(field, cell(row.data, column), item)) is not None
        ]
        for field in ("human_labels", "labels"):
            column = self.mapping.columns.get(field)
            given = None if column is None else listed_labels(cell(row.data, column), item, own=field == "labels")
            for entry in given or ():
                labels += self._entry(field, entry, item)
        return tuple(labels)

    def of_annotator(self, row: Line, item: Item) -> Label | None:
        """The row's label by its annotator; None where the row has none.

        Raises:
            BadLine: the value means nothing.
        """
        columns = self.mapping.columns
        value = self._value("label", cell(row.data, columns["label"]), item)
        if value is None:
            return None
        annotator = key_of(cell(row.data, columns["annotator"])) or None
        if "ruling" in columns and is_true(cell(row.data, columns["ruling"])):
            annotator = as_ruling(annotator)
        time = time_of(cell(row.data, columns["label_time"])) if "label_time" in columns else None
        return Label(value=value, annotator=annotator, time=time)

    def _entry(self, field: str, entry: Any, item: Item) -> Iterator[Label]:
        if not isinstance(entry, Mapping) or entry.keys() == {"category"}:
            value = self._value(field, entry, item)
            if value is not None:
                yield Label(value=value)
            return
        value = self._value(field, first_of(entry, *_VALUES), item)
        annotator = first_of(entry, *_ANNOTATORS)
        if value is not None:
            by = None if annotator is None else str(annotator)
            yield Label(value=value, annotator=by or None, time=time_of(first_of(entry, *_TIMES)))

    def _value(self, field: str, value: Any, item: Item) -> AnyVerdict | None:
        try:
            return self.read(value, item)
        except UnknownValueError as error:
            means = self.wording.meanings({key_of(value): "MEANING"})
            raise BadLine(f"{field}: {error}; say what it means with {means}") from error


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
    if isinstance(value, str) and value.lstrip().startswith("["):
        value, text = parsed(value), value
        if value is text:
            return None
    if value in (None, ""):
        return None
    if own:
        objects = isinstance(value, list) and any(not isinstance(one, str) for one in value)
        words = isinstance(value, list) and len(item.responses) == 1 and value != list(item.responses)
        return value if objects or words else None
    if not isinstance(value, list):
        raise BadLine(f"human_labels: {str(value)[:60]!r} is no list of labels")
    return value


def values_listed(value: Any) -> list[Any]:
    """The values in a list of labels, also as JSON text; none of anything else."""
    given = nested(value)
    entries = given if isinstance(given, list) else []
    return [first_of(one, *_VALUES) if isinstance(one, Mapping) else one for one in entries]


def is_true(value: Any) -> bool:
    """Whether a cell says yes."""
    return key_of(value).casefold() in ("true", "1", "yes")


def labels_text(labels: tuple[Label, ...]) -> str | None:
    """Labels as JSON text that :func:`listed_labels` reads; None without any."""
    if not labels:
        return None
    return orjson.dumps([one.model_dump(mode="json", exclude_none=True) for one in labels]).decode()


_SHOWN = 8


def vocabularies_of(
    mapping: FieldMap, rows: Iterable[Mapping[str, Any]], wording: Wording
) -> tuple[Vocabulary, Vocabulary, list[str]]:
    """What the values of verdicts and of people's labels mean, by the columns they stand in.

    Args:
        mapping: which column is what.
        rows: the first ones.
        wording: how messages name what the user gives.

    Returns:
        That of verdicts, that of labels, and a sentence for each column with values that stand for no answer.
    """
    columns = {
        name: column
        for name, column in mapping.columns.items()
        if name.split(".")[0] in ("verdict", "label", "human_labels") and not column.startswith(PREFIX)
    }
    seen: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for row in rows:
        for name, column in columns.items():
            value = cell(row, column)
            seen[name].update(map(key_of, values_listed(value) if name == "human_labels" else [value]))
    judged = seen.get("verdict", Counter[str]())
    labels = {value for name, values in seen.items() if name != "verdict" for value in values}
    verdict = Vocabulary(mapping.values, categories=True, beside=beside(judged, labels))
    label = Vocabulary(mapping.values, categories=True, column="label", beside=beside(labels, judged))
    told = []
    for name, counts in seen.items():
        what, known = ("verdicts", verdict) if name == "verdict" else ("labels", label)
        silent = known.silent_among(counts, several=len(mapping.response_ids) > 1)
        if silent:
            shown = ", ".join(f"{value!r} ({counts[value]:,})" for value in silent[:_SHOWN])
            more = ", ..." if len(silent) > _SHOWN else ""
            told.append(
                f"No {what} but words for none, in column {columns[name]!r}: {shown}{more}; "
                f"{wording.meanings({silent[0]: 'MEANING'})} says otherwise."
            )
    return verdict, label, told


def example(*values: str) -> dict[str, str]:
    """A meaning for each value: the usual one, or a place for it."""
    meanings = {"c": "tie", "0.5": "tie", "1.5": "tie", "both": "tie"}
    return {value: meanings.get(value.casefold(), "MEANING") for value in values}


def vocabulary_fault(
    unknown: Mapping[str, int], first: Mapping[str, str], mapping: FieldMap, name: str, wording: Wording
) -> str:
    """Why the words of a table cannot be read as verdicts, with the fix.

    Args:
        unknown: word -> how often it stands in the rows looked at.
        first: word -> its first place.
        mapping: which column is what.
        name: of the file.
        wording: how messages name what the user gives.
    """
    shown = ", ".join(f"{value!r} ({count})" for value, count in list(unknown.items())[:8])
    more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
    ids: Sequence[str] = mapping.response_ids
    one = next(iter(unknown))
    column = mapping.columns.get(first[one].rpartition(": ")[2], mapping.columns.get("verdict"))
    advice = "a number" if len(ids) == 1 else f"{ids[0]}, {ids[0]}>{ids[1]}, tie"
    models = (
        ""
        if mapping.model_columns or len(ids) == 1
        else " If these are models' names, map the columns that name the "
        f"models: {wording.mapped(f'models.{ids[0]}=COLUMN,models.{ids[1]}=COLUMN')}."
    )
    return (
        f"{name}: {shown}{more} in column {column!r} are no verdicts here, first at {first[one]}. Say what each means: "
        f"{wording.meanings(example(*list(unknown)[:8]))}, where a meaning is {advice} or none.{models}"
    )


def without_texts(table: Table, mapping: FieldMap) -> FieldMap | None:
    """The mapping with empty texts, for a table of verdicts alone; None where it has texts, or none tells items apart.

    Verdicts that all compare A with B are on two responses, others on one.
    """
    columns = table.columns()
    given, verdict = mapping.columns.keys() | mapping.constants.keys(), mapping.columns.get("verdict", "")
    if mapping.response_ids or "question" in given or "item_id" not in given or verdict not in columns:
        return None
    rows = [row.data for row in islice(table.rows(), SURVEYED_ROWS) if isinstance(row, Line)]
    others = set(columns) - mapping.used_columns
    if any(
        isinstance(text := row.get(name), str) and len(text.split()) > MOST_WORDS for row in rows for name in others
    ):
        return None
    vocabulary, kinds = Vocabulary(mapping.values, categories=True), set[type]()
    for value in {key_of(cell(row, verdict)): cell(row, verdict) for row in rows}.values():
        try:
            kinds.add(type(vocabulary.read(value, ("A", "B"), {})))
        except UnknownValueError:
            kinds.add(Category)
    ids = ("A", "B") if Pairwise in kinds and kinds <= {Pairwise, NoVerdict} else ("A",)
    constants = {"question": "", **{f"responses.{name}": "" for name in ids}}
    return mapping.updated(constants=constants)


def no_texts(ids: Sequence[str]) -> str:
    """A note on verdicts without texts."""
    on = "two responses, A and B" if len(ids) > 1 else "one response each"
    return f"No texts: no column is a question or a response. Verdicts are on {on}; agents would have nothing to read."
