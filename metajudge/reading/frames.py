"""Judgments from rows in memory: pandas frames, Hugging Face datasets, Arrow tables, and whatever else holds judgments.

They are read as a file is: by their own names, by usual ones, or by a mapping.
"""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metajudge.errors import InputError
from metajudge.reading.containers.cells import key_of
from metajudge.reading.containers.lines import Reject, Source, TableRow
from metajudge.reading.containers.tables import Table
from metajudge.reading.containers.typed_tables import plain
from metajudge.reading.detect import reader_of
from metajudge.reading.mapping import ARGUMENTS, FieldMap, parse_map
from metajudge.reading.passes import Kept
from metajudge.reading.people import ByPeople
from metajudge.reading.reasons import JudgmentLike
from metajudge.reading.source import JudgmentSource, open_judgments
from metajudge.reading.vocabulary import NONE
from metajudge.types import Judgment, digest

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from pandas import DataFrame

Mapped = FieldMap | Mapping[str, str] | str | None
"""A mapping as :func:`~metajudge.reading.parse_map` makes it, a dict of field -> column, or the text of ``--map``."""
AT_ONCE = 4096
"""Rows of an Arrow table that are Python objects together."""


def from_pandas(
    frame: "DataFrame", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from a frame; rows that people gave (``annotator_kind``) are labels of the others.

    Args:
        frame: any frame; the index is not used.
        mapping: which column is what (``"verdict=winner,question=prompt,responses.A=a,responses.B=b"``); None where the
            columns have the fields' names, as :func:`metajudge.to_pandas` names them, or usual ones.
        judge: who judged all rows, where no column says so.
        values: what values of the verdict mean: ``{"C": "tie", 0.5: "tie", 1: "A", 9: None}``; case does not matter,
            and None stands for no verdict.

    Raises:
        InputError: a column that is not there, a verdict that means nothing, or a row that cannot be read (with its
            position and field); nothing is left out silently.

    Example:
        >>> judgments = from_pandas(frame, {"verdict": "winner", "question": "prompt", ...})  # doctest: +SKIP
    """
    return _judgments(frame, mapping, judge, values)


def from_dataset(
    dataset: "Dataset", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from a Hugging Face dataset; arguments and errors as for :func:`from_pandas`."""
    return _judgments(dataset, mapping, judge, values)


def from_arrow(
    table: "pyarrow.Table", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from an Arrow table; arguments and errors as for :func:`from_pandas`."""
    return _judgments(table, mapping, judge, values)


def judgments_in(given: Any) -> Iterable[JudgmentLike]:
    """The judgments of a path, a frame, a dataset or an Arrow table; anything else as it is.

    Raises:
        InputError: the file or the table cannot be read, with what is missing.
    """
    if isinstance(given, str | Path):
        return open_judgments([given])
    is_table = isinstance(given, Mapping | list | tuple) or _rows_of(given) is None
    return given if is_table else _judgments(given)


def read_rows(
    rows: Iterable[Mapping[str, Any]],
    mapping: Mapped = None,
    *,
    judge: str | None = None,
    values: Mapping[Any, Any] | None = None,
) -> list[Judgment | str]:
    """Rows as judgments, one each, in their order: where one cannot be read, the reason in its place.

    Arguments as for :func:`from_pandas`. A judgment without an id of its own is named by its content, so that it has
    the same id in whatever part of a table it is read.

    Raises:
        InputError: a column that is not there, or a verdict that means nothing in any row.
    """
    given = [dict(row) for row in rows]
    names = list(dict.fromkeys(name for row in given for name in row))
    mapped = _mapping(mapping, judge, values)
    reader = reader_of(_held("Dataset", names, given), mapped, wording=ARGUMENTS)
    own = "id" in (names if mapping is None else mapped.columns)
    found: list[Judgment | str] = ["a person gave it: it is no verdict"] * len(given)
    for one in reader.read():
        if isinstance(one, Reject):
            found[one.line - 1] = one.reason
        elif not isinstance(one, ByPeople):
            judgment = one.judgment
            if not own:
                said = digest([judgment.judge, str(judgment.verdict), judgment.rationale, list(judgment.order)])[:12]
                judgment = judgment.model_copy(update={"id": f"{judgment.item.id}/{said}"})
            found[one.line - 1] = judgment
    return found


def _rows_of(given: Any) -> tuple[Iterable[str], Iterable[Mapping[str, Any]]] | None:
    """The columns and rows of a table in memory; None of anything else."""
    if hasattr(given, "itertuples"):
        names = [str(name) for name in given.columns]
        return names, (dict(zip(names, cells, strict=True)) for cells in given.itertuples(index=False, name=None))
    if hasattr(given, "to_batches"):
        batches = given.to_batches(max_chunksize=AT_ONCE)
        return given.column_names, (row for batch in batches for row in batch.to_pylist())
    return (given.column_names, given) if hasattr(given, "column_names") else None


def _held(name: str, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Table:
    """Rows in memory, as a table that is read like a file."""
    held = [TableRow(number, {key: _cell(one) for key, one in row.items()}) for number, row in enumerate(rows, start=1)]
    names = tuple(columns)
    return Table(name, Source(Path(name), name), lambda: iter(held), lambda: names)


def _cell(value: Any) -> Any:
    """A cell as plain data: what is missing (``NaN``, ``NaT``, ``NA``) is None, numpy's scalars and arrays Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if type(value).__name__ in ("NAType", "NaTType") else plain(value)


def _judgments(
    given: Any, mapping: Mapped = None, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    name, found = type(given).__name__, _rows_of(given)
    if found is None:
        raise InputError(f"a {name} is no table: give a DataFrame, a Dataset or an Arrow table")
    table = _held(name, *found)
    if not table.survey().rows:
        return []
    reader = reader_of(table, _mapping(mapping, judge, values), wording=ARGUMENTS)
    source = JudgmentSource({name: [reader]}, strict=True)
    judgments = source.collect(Kept)
    unmatched = source.people.count > source.people.matched
    for sentence in source.notices if unmatched else source.told:
        warnings.warn(sentence, stacklevel=4)
    return judgments


def _mapping(mapping: Mapped, judge: str | None, values: Mapping[Any, Any] | None) -> FieldMap:
    if values is not None and not isinstance(values, Mapping):
        raise InputError(
            f'values is a {type(values).__name__}: give a dict of meanings, such as {{1: "A", "C": "tie"}}'
        )
    if not isinstance(mapping, FieldMap):
        given = {} if mapping is None else mapping
        parts = [given] if isinstance(given, str) else [f"{name}={column}" for name, column in given.items()]
        mapping = parse_map(parts, wording=ARGUMENTS)
    meanings = {key_of(key): NONE if value is None else key_of(value) for key, value in (values or {}).items()}
    return mapping.updated(constants={} if judge is None else {"judge": judge}, values=meanings)
