"""Files of people's labels: a table with an id and a value in each row, or any file of judgments with labels in it.

A row of a table is one label, or several where several columns contain one (``human_1``, ``human_2``). Of a file in a
format that is read as judgments, the labels are those of its items and the scores by people; where it has neither, each
verdict is a label by its judge.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from metajudge.errors import InputError
from metajudge.files.tables import is_own, unescaped
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.kinds import tables_in
from metajudge.reading.containers.lines import Line, Reject, Source
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.detect import readers_of
from metajudge.reading.formats.known import format_of
from metajudge.reading.mapped_labels import is_true
from metajudge.reading.mapping import columns_there, quoted
from metajudge.reading.names import ANNOTATORS, LABEL_TIMES, RULING_FLAGS, base_name, is_label_name, named, ruling_flag
from metajudge.reading.people import ScoredByPeople
from metajudge.reading.source import JudgmentSource, open_judgments
from metajudge.types import Judgment, Label
from metajudge.types.label import CHOSEN_COLUMNS, Chosen, as_ruling, chosen_in

LABEL_FIELDS: Final = ("id", "item_id", "response", "label", "annotator", "label_time", "ruling")
"""What ``--labels-map`` can name: keys, the value (several columns as ``a+b``), who gave it, when, and whether it is a
ruling."""

_IDS: Final = ("id", "judgment_id", "uuid", "uid", "row_id", "trace_id", "run_id", "span_id", "key")
_ITEMS: Final = ("item_id", "question_id", "qid", "prompt_id", "example_id", "sample_id", "task_id", "pair_id", "item")
_RESPONSES: Final = ("response_id", "response", "model", "model_id", "model_name", "candidate", "system", "generator")
_VALUES: Final = ("label", "value", "score", "rating", "grade", "verdict", "winner", "preference", "vote", "choice")
_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label as its file has it.

    Attributes:
        keys: column -> text of every short cell: what may name a judgment, an item or a response.
        value: as recorded, or a :class:`~metajudge.types.Label` that is read already.
        annotator: who gave it; None where the file does not say.
        time: as recorded.
        file: its file.
        line: its position there.
        chosen: how its item came to be labelled; None where the file does not say.
    """

    keys: Mapping[str, str]
    value: Any
    annotator: str | None
    time: Any
    file: str
    line: int
    chosen: Chosen | None = None

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class LabelRows:
    """Labels of one or several files, to be joined with judgments.

    Attributes:
        rows: every label.
        ids, items, responses: columns that may name judgments, items and responses, the likeliest first.
        several: whether people scored several things of one item, so that its id alone does not name a label.
        notes: what was taken for what.
        rejects: rows that cannot be read, the first few, and :attr:`rejected`: how many.
    """

    rows: list[LabelRow] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    several: bool = False
    notes: list[str] = field(default_factory=list)
    rejects: list[str] = field(default_factory=list)
    rejected: int = 0

    def extend(self, other: "LabelRows") -> None:
        """Adds the labels of another file."""
        self.rows += other.rows
        self.notes += other.notes
        self.rejects += other.rejects
        self.rejected += other.rejected
        self.several |= other.several
        for name in ("ids", "items", "responses"):
            merged = dict.fromkeys([*getattr(self, name), *getattr(other, name)])
            setattr(self, name, list(merged))


def read_labels(paths: Sequence[Path | str], mapping: Mapping[str, str] | None = None) -> LabelRows:
    """Reads people's labels.

    Args:
        paths: tables (CSV, TSV, JSONL, a JSON list, Parquet, a saved dataset), or anything that is read as judgments.
        mapping: field of :data:`LABEL_FIELDS` -> column of a table; None to guess.

    Returns:
        The labels, not yet joined with anything; a cell without a value is no label.

    Raises:
        InputError: a path that cannot be read, a column that is not there, a value column that cannot be guessed, or a
            row that says it was drawn and not with which probability.

    Example:
        >>> read_labels(["people.csv"], {"item_id": "qid", "label": "human_score"})  # doctest: +SKIP
    """
    found = LabelRows()
    for path in paths:
        found.extend(_read(Source(Path(path), str(path)), mapping or {}))
    if not found.rows:
        files = ", ".join(map(str, paths))
        raise InputError(f"{files} contains no label: every value is empty, or no record could be read")
    return found


def parse_labels_map(texts: Sequence[str]) -> dict[str, str]:
    """Reads ``--labels-map``: ``item_id=qid,label=human_score``.

    Raises:
        InputError: a part that is not FIELD=COLUMN, with the fields there are.
    """
    given: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",") if part.strip()):
        name, sign, column = (piece.strip() for piece in part.partition("="))
        if not sign or name not in LABEL_FIELDS or not column or name in given:
            fields = ", ".join(LABEL_FIELDS)
            raise InputError(f"--labels-map {part!r} is not FIELD=COLUMN, each field once; the fields are {fields}")
        given[name] = column
    return given


def _read(source: Source, mapping: Mapping[str, str]) -> LabelRows:
    tables = tables_in(source)
    if len(tables) != 1:
        return _from_judgments(source)
    (table,) = tables
    first = next((row for row in table.rows() if isinstance(row, Line)), None)
    if first is None:
        raise InputError(f"{source.name} contains no row that can be read")
    if format_of(first.data) is not None and not mapping:
        return _from_judgments(source)
    return _from_table(table, mapping)


def _from_judgments(source: Source) -> LabelRows:
    """Labels of the items in a file of judgments, else its verdicts; scores by people are labels of items by then."""
    found = LabelRows(ids=["id"], items=["item_id"], responses=["model"])
    for reader in readers_of(source.path, source.name):
        for target in reader.targets() if isinstance(reader, ScoredByPeople) else ():
            if (one := target.by_people) is not None:
                said = one.score
                keys = {"item_id": target.item, "name": said.name}
                found.rows.append(LabelRow(keys, said.value, said.annotator, said.time, one.file, one.line))
    if found.rows:
        found.responses = ["name"]
        found.several = len({row.keys["name"] for row in found.rows}) > 1
        return found
    given: JudgmentSource = open_judgments([source.path])
    spoken: list[LabelRow] = []
    seen: dict[str, list[Label]] = {}
    for number, judgment in enumerate(given, start=1):
        keys = _keys_of(judgment)
        known = seen.setdefault(judgment.item.id, [])
        left = Counter(known)
        own = judgment.item.label
        for label in judgment.item.labels or ([] if own is None else [Label(value=own)]):
            if left[label]:  # what stands in several records of an item is one answer
                left[label] -= 1
                continue
            known.append(label)
            item = {name: text for name, text in keys.items() if name != "id"}
            found.rows.append(LabelRow(item, label, label.annotator, label.time, source.name, number))
        if judgment.verdict is not None:
            label = Label(value=judgment.verdict, annotator=judgment.judge)
            spoken.append(LabelRow(keys, label, judgment.judge, None, source.name, number))
    if not found.rows:
        found.rows = spoken
        found.notes.append(f"{source.name} has no labels beside its verdicts: each verdict is a label by its judge")
    found.rejected = given.rejects
    return found


def _keys_of(judgment: Judgment) -> dict[str, str]:
    models = list((judgment.item.models or {}).values())
    keys = {"id": judgment.id, "item_id": judgment.item.id}
    return keys | ({"model": models[0]} if len(models) == 1 and len(judgment.item.responses) == 1 else {})


def _from_table(table: Table, mapping: Mapping[str, str]) -> LabelRows:
    name, columns = table.source.name, table.columns()
    survey = table.survey()
    for field_name, column in mapping.items():
        for one in column.split("+"):
            if one not in columns and all(value is None for value in survey.cells(one)):
                raise InputError(f"{name} has no column {one!r}, mapped to {field_name}. {columns_there(columns)}")
    annotator = mapping.get("annotator") or named(ANNOTATORS, columns)
    time = mapping.get("label_time") or named(LABEL_TIMES, columns)
    ruling = mapping.get("ruling") or ruling_flag(columns, survey.keys)
    used = {annotator, time, ruling, *CHOSEN_COLUMNS}
    values = mapping["label"].split("+") if "label" in mapping else _values(columns, survey, used, name)
    found = LabelRows(
        ids=_named(mapping.get("id"), _IDS, columns, values),
        items=_named(mapping.get("item_id"), _ITEMS, columns, values),
        responses=_named(mapping.get("response"), _RESPONSES, columns, values),
    )
    others = (("annotators", annotator), ("times", time), ("rulings", ruling))
    taken = ", ".join(f"{what} {one!r}" for what, one in others if one)
    found.notes.append(f"{name}: labels in {', '.join(map(repr, values))}{f', {taken}' if taken else ''}")
    own = is_own(columns)
    keys = [*dict.fromkeys([*found.ids, *found.items, *found.responses])]
    for row in table.rows():
        if isinstance(row, Reject):
            found.rejected += 1
            found.rejects += [str(row)] if len(found.rejects) < _SHOWN else []
            continue
        if own:
            row = replace(
                row, data={key: unescaped(one) if isinstance(one, str) else one for key, one in row.data.items()}
            )
        found.rows += _rows(row, keys, values, (annotator, time, ruling), name)
    return found


_SHOWN = 3


def _rows(
    row: Line, keys: Sequence[str], values: Sequence[str], others: Sequence[str | None], name: str
) -> Iterator[LabelRow]:
    annotator, time, ruling = others
    texts = {key: text for key in keys if 0 < len(text := key_of(cell(row.data, key))) <= _LONGEST_KEY}
    who = None if annotator is None else key_of(cell(row.data, annotator)) or None
    when = None if time is None else cell(row.data, time)
    try:
        chosen = chosen_in(row.data)
    except ValueError as error:
        raise InputError(f"{name}:{row.number}: {error}") from None
    for column in values:
        value = cell(row.data, column)
        if key_of(value) == "":
            continue
        by = who if len(values) == 1 else column if who is None else f"{who}/{column}"
        if ruling is not None and is_true(cell(row.data, ruling)):
            by = as_ruling(by)
        yield LabelRow(texts, value, by, when, name, row.number, chosen)


def _values(columns: Sequence[str], survey: Survey, used: set[str | None], name: str) -> list[str]:
    """The columns of labels, by their names, else the only one that is left.

    Raises:
        InputError: no name says it, and several are left.
    """
    free = [column for column in columns if column not in used]
    people = [column for column in free if is_label_name(column)]
    if people:
        best = next((column for column in people if base_name(column) == "label"), None)
        return people if best is None else [best, *(one for one in people if base_name(one) in RULING_FLAGS)]
    known = [column for wanted in _VALUES for column in free if base_name(column) == wanted]
    if known:
        return known[:1]
    keys = {*_IDS, *_ITEMS, *_RESPONSES}
    others = [column for column in free if base_name(column) not in keys]
    left = [one for one in others if all(len(key) <= _LONGEST_KEY for key in survey.keys(one))]
    if len(left) == 1:
        return left
    raise InputError(
        f"{name}: no column is named like a label. {columns_there(columns)} Say which one it is: "
        f"--labels-map {quoted('label=COLUMN')}"
    )


def _named(given: str | None, wanted: Sequence[str], columns: Sequence[str], values: Sequence[str]) -> list[str]:
    """The columns that may be such a key: the one given, else those of a known name, else those that end in ``id``."""
    if given is not None:
        return [given]
    free = [column for column in columns if column not in values]
    known = [column for name in wanted for column in free if base_name(column) == name]
    others = [column for column in free if column not in known and re.search(r"(?:^|_)ids?$", base_name(column))]
    return [*known, *others]
