"""Files of people's labels: a table with an id and a value in each row, or any file of judgments with labels in it.

A row of a table is one label, or several where several columns contain one (``human_1``, ``human_2``). Of a file in a
format that is read as judgments, the labels are those of its items and the scores by people; where it has neither, each
verdict is a label by its judge.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from metajudge.errors import InputError
from metajudge.files.tables import is_own, unescaped
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.kinds import tables_in, wrapped_table
from metajudge.reading.containers.lines import Line, Reject, Source
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.detect import is_written_whole, readers_of
from metajudge.reading.formats.known import format_of
from metajudge.reading.mapped_labels import is_true
from metajudge.reading.mapping import columns_there, quoted
from metajudge.reading.names import ANNOTATORS, LABEL_TIMES, RULING_FLAGS, base_name, is_label_name, named, ruling_flag
from metajudge.reading.people import ScoredByPeople
from metajudge.reading.seen import plural
from metajudge.reading.source import open_judgments
from metajudge.types import Label
from metajudge.types.label import CHOSEN_COLUMNS, Chosen, as_ruling, chosen_in

_FIELDS: Final = ("id", "item_id", "response", "label", "annotator", "label_time", "ruling")
"""What ``--labels-map`` can name: keys, the value (several columns as ``a+b``), who gave it, when, and whether it is a
ruling."""
_IDS: Final = ("id", "judgment_id", "uuid", "uid", "row_id", "trace_id", "run_id", "span_id", "key")
_ITEMS: Final = ("item_id", "question_id", "qid", "prompt_id", "example_id", "sample_id", "task_id", "pair_id", "item")
_RESPONSES: Final = ("response_id", "response", "model", "model_id", "model_name", "candidate", "system", "generator")
_VALUES: Final = ("label", "value", "score", "rating", "grade", "verdict", "winner", "preference", "vote", "choice")
_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label as its file has it; None for what the file does not say.

    Attributes:
        keys: column -> text of every short cell: what may name a judgment, an item or a response.
        value: as recorded, or a :class:`~metajudge.types.Label` that is read already.
        annotator, time: who gave it, and when, as recorded.
        file, line: its position.
        chosen: how its item came to be labelled.
    """

    keys: Mapping[str, str]
    value: Any
    annotator: str | None
    time: Any
    file: str
    line: int
    chosen: Chosen | None = None


@dataclass(slots=True)
class LabelRows:
    """Labels of one or several files, to be joined with judgments.

    Attributes:
        rows: every label.
        ids, items, responses: columns that may name judgments, items and responses, the likeliest first.
        several: whether people scored several things of one item, so that its id alone does not name a label.
        notes: what was taken for what.
    """

    rows: list[LabelRow] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    several: bool = False
    notes: list[str] = field(default_factory=list)

    def add_keys(self, ids: Sequence[str], items: Sequence[str], responses: Sequence[str]) -> None:
        """Adds columns of another file."""
        for known, more in ((self.ids, ids), (self.items, items), (self.responses, responses)):
            known += [one for one in more if one not in known]


def read_labels(paths: Sequence[Path | str], mapping: Mapping[str, str] | None = None) -> LabelRows:
    """Reads people's labels.

    Args:
        paths: tables (CSV, TSV, JSONL, a JSON list, Parquet, a saved dataset), or anything that is read as judgments.
        mapping: field as ``--labels-map`` names it -> column of a table; None to guess.

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
        _read(Source(Path(path), str(path)), mapping or {}, found)
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
        name, _, column = (piece.strip() for piece in part.partition("="))
        if name not in _FIELDS or not column or name in given:
            fields = ", ".join(_FIELDS)
            raise InputError(f"--labels-map {part!r} is not FIELD=COLUMN, each field once; the fields are {fields}")
        given[name] = column
    return given


def _read(source: Source, mapping: Mapping[str, str], found: LabelRows) -> None:
    tables = tables_in(source)
    if len(tables) == 1:
        table = wrapped_table(tables[0], is_written_whole, None) or tables[0]
        first = next((row for row in table.rows() if isinstance(row, Line)), None)
        if first is None:
            raise InputError(f"{source.name} contains no row that can be read")
        if mapping or format_of(first.data) is None:
            _read_table(table, mapping, found)
            return
    _read_judgments(source, found)


def _read_judgments(source: Source, found: LabelRows) -> None:
    """Scores by people in a file of judgments, else labels of its items, else its verdicts."""
    rows = list(_scores(source))
    found.add_keys(["id"], ["item_id"], ["name" if rows else "model"])
    found.several |= len({row.keys["name"] for row in rows}) > 1
    if not rows:
        rows, verdicts = _labels_and_verdicts(source)
        if not rows:
            rows = verdicts
            found.notes.append(f"{source.name} has no labels beside its verdicts: each verdict is a label by its judge")
    found.rows += rows


def _scores(source: Source) -> Iterator[LabelRow]:
    for reader in readers_of(source.path, source.name):
        for target in reader.targets() if isinstance(reader, ScoredByPeople) else ():
            if (one := target.by_people) is not None:
                said, keys = one.score, {"item_id": target.item, "name": one.score.name}
                yield LabelRow(keys, said.value, said.annotator, said.time, one.file, one.line)


def _labels_and_verdicts(source: Source) -> tuple[list[LabelRow], list[LabelRow]]:
    rows, verdicts, seen = list[LabelRow](), list[LabelRow](), dict[str, list[Label]]()
    for number, judgment in enumerate(open_judgments([source.path]), start=1):
        item, models = judgment.item, list((judgment.item.models or {}).values())
        keys = {"item_id": item.id} | ({"model": models[0]} if len(models) == len(item.responses) == 1 else {})
        left = Counter(seen.setdefault(item.id, []))
        for label in item.labels or ([] if item.label is None else [Label(value=item.label)]):
            if left[label]:  # what stands in several records of an item is one answer
                left[label] -= 1
                continue
            seen[item.id].append(label)
            rows.append(LabelRow(keys, label, label.annotator, label.time, source.name, number))
        if judgment.verdict is not None:
            label = Label(value=judgment.verdict, annotator=judgment.judge)
            verdicts.append(LabelRow({"id": judgment.id} | keys, label, judgment.judge, None, source.name, number))
    return rows, verdicts


def _read_table(table: Table, mapping: Mapping[str, str], found: LabelRows) -> None:
    name, columns, survey = table.source.name, table.columns(), table.survey()
    for field_name, column in mapping.items():
        for one in column.split("+"):
            if one not in columns and all(value is None for value in survey.cells(one)):
                raise InputError(f"{name} has no column {one!r}, mapped to {field_name}. {columns_there(columns)}")
    others = {
        "annotator": mapping.get("annotator") or named(ANNOTATORS, columns),
        "time": mapping.get("label_time") or named(LABEL_TIMES, columns),
        "ruling": mapping.get("ruling") or ruling_flag(columns, survey.keys),
    }
    used = {what: column for what, column in others.items() if column}
    free = [column for column in columns if column not in (*used.values(), *CHOSEN_COLUMNS)]
    values = mapping["label"].split("+") if "label" in mapping else _values(free, columns, survey, name)
    taken = ", ".join(f"{what}s {column!r}" for what, column in used.items())
    found.notes.append(f"{name}: labels in {', '.join(map(repr, values))}{f', {taken}' if taken else ''}")
    ids = _named(mapping.get("id"), _IDS, columns, values)
    items = _named(mapping.get("item_id"), _ITEMS, columns, values)
    responses = _named(mapping.get("response"), _RESPONSES, columns, values)
    found.add_keys(ids, items, responses)
    keys, own, rejects = [*ids, *items, *responses], is_own(columns), list[Reject]()
    for row in table.rows():
        if isinstance(row, Reject):
            rejects.append(row)
            continue
        data = row.data
        if own:
            data = {key: unescaped(one) if isinstance(one, str) else one for key, one in data.items()}
        texts = {key: text for key in keys if 0 < len(text := key_of(cell(data, key))) <= _LONGEST_KEY}
        said = {what: cell(data, column) for what, column in used.items()}
        try:
            chosen = chosen_in(data)
        except ValueError as error:
            raise InputError(f"{name}:{row.number}: {error}") from None
        for column in values:
            value = cell(data, column)
            if key_of(value) != "":
                by = _annotator(said, column if len(values) > 1 else None)
                found.rows.append(LabelRow(texts, value, by, said.get("time"), name, row.number, chosen))
    if rejects:
        found.notes.append(f"{plural('row', len(rejects))} of labels cannot be read, the first: {rejects[0]}")


def _annotator(said: Mapping[str, Any], column: str | None) -> str | None:
    """Who gave a label: where one of several columns has it, that column tells people apart."""
    by = "/".join(filter(None, (key_of(said.get("annotator")), column))) or None
    return as_ruling(by) if is_true(said.get("ruling")) else by


def _values(free: Sequence[str], columns: Sequence[str], survey: Survey, name: str) -> list[str]:
    """The columns of labels, by their names, else the only one that is left.

    Raises:
        InputError: no name says it, and several are left.
    """
    people = [column for column in free if is_label_name(column)]
    if people:
        best = next((column for column in people if base_name(column) == "label"), None)
        return people if best is None else [best, *(one for one in people if base_name(one) in RULING_FLAGS)]
    known = [column for wanted in _VALUES for column in free if base_name(column) == wanted]
    if known:
        return known[:1]
    others = [column for column in free if base_name(column) not in (*_IDS, *_ITEMS, *_RESPONSES)]
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
    return list(dict.fromkeys([*known, *(one for one in free if re.search(r"(?:^|_)ids?$", base_name(one)))]))
