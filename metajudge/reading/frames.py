"""Judgments and assessments as pandas frames, Hugging Face datasets and Arrow tables, in and out.

The columns are the fields of a mapping (``id, judge, verdict, question, responses.A, models.A, item_id, ...``), so that
a frame written to CSV or Parquet is read by ``metajudge vet`` as it is, and gives equal records. Lists, and the
caller's own data in ``meta``, are JSON text. pandas, datasets and pyarrow are imported when they are used:
``pip install '.[inputs]'`` in a checkout.
"""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from metajudge.errors import ConfigurationError, InputError
from metajudge.installation import install_command
from metajudge.reading import FieldMap
from metajudge.reading.assessment_tables import COLUMNS, arrow
from metajudge.reading.assessment_tables import table_of as assessment_table
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.lines import Reject, Source, TableRow
from metajudge.reading.containers.tables import Table
from metajudge.reading.containers.typed_tables import plain
from metajudge.reading.mapped import MappedTable
from metajudge.reading.mapped_labels import labels_text
from metajudge.reading.mapping import ARGUMENTS, own_columns, parse_map
from metajudge.reading.people import ByPeople, PeopleCount, PeopleIndex
from metajudge.reading.scales import scale_text
from metajudge.reading.vocabulary import NONE, UnknownValueError, Vocabulary
from metajudge.types import Assessment, Category, Grade, Judgment, Ranking, digest

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from pandas import DataFrame

Mapped = FieldMap | Mapping[str, str] | str | None
"""A mapping as :func:`~metajudge.reading.parse_map` makes it, a dict of field -> column, or the text of ``--map``."""

AT_ONCE = 4096
"""Rows of an Arrow table that are Python objects together."""

_ALWAYS = ("id", "judge", "verdict", "no_verdict", "rationale", "order", "item_id", "question")


def from_pandas(
    frame: "DataFrame", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from a frame, one a row; rows that people gave (``annotator_kind``) are labels of the others.

    Args:
        frame: any frame; the index is not used.
        mapping: which column is what (``"verdict=winner,question=prompt,responses.A=a,responses.B=b"``); None where the
            columns are named after the fields, as :func:`to_pandas` names them.
        judge: who judged all rows, where no column says so.
        values: what values of the verdict mean: ``{"C": "tie", 0.5: "tie", 1: "A", 9: None}``; case does not matter,
            and None stands for no verdict.

    Raises:
        InputError: a column that is not there, a verdict that means nothing, or a row that cannot be read (with its
            position and field); nothing is left out silently.

    Example:
        >>> judgments = from_pandas(frame, {"verdict": "winner", "question": "prompt", ...})  # doctest: +SKIP
    """
    names = [str(name) for name in frame.columns]
    rows = (dict(zip(names, cells, strict=True)) for cells in frame.itertuples(index=False, name=None))
    return _judgments(_frame("DataFrame", names, rows), mapping, judge, values)


def to_pandas(records: "Iterable[Judgment] | Iterable[Assessment]") -> "DataFrame":
    """A frame of judgments, or of assessments: one row each, in their order.

    Judgments have the columns that :func:`from_pandas` reads. Assessments have ids, judge, ``status``, ``accepted``,
    ``score``, ``score_low``, ``score_high``, ``probability``, ``decision``, ``failure``, cost and
    provenance, one column ``agent.NAME`` with each agent's score and one ``signal.NAME`` with each signal's value; what
    is absent is missing (``None`` or ``NaN``), never 0.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    pandas = _imported("pandas")
    rows = _rows(records)
    return pandas.DataFrame(rows, columns=_columns(rows))


def from_dataset(
    dataset: "Dataset", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from a Hugging Face dataset, one a row; arguments and errors as for :func:`from_pandas`."""
    names = list(dataset.column_names)
    return _judgments(_frame("Dataset", names, iter(dataset)), mapping, judge, values)


def to_dataset(records: "Iterable[Judgment] | Iterable[Assessment]") -> "Dataset":
    """A Hugging Face dataset with the columns of :func:`to_pandas`.

    Raises:
        ConfigurationError: datasets is not installed.
    """
    datasets = _imported("datasets")
    rows = _rows(records)
    return datasets.Dataset.from_dict({name: [row.get(name) for row in rows] for name in _columns(rows)})


def from_arrow(
    table: "pyarrow.Table", mapping: Mapped = None, *, judge: str | None = None, values: Mapping[Any, Any] | None = None
) -> list[Judgment]:
    """Judgments from an Arrow table, one a row; arguments and errors as for :func:`from_pandas`."""
    rows = (row for batch in table.to_batches(max_chunksize=AT_ONCE) for row in batch.to_pylist())
    return _judgments(_frame("Table", table.column_names, rows), mapping, judge, values)


def to_arrow(records: "Iterable[Judgment] | Iterable[Assessment]") -> "pyarrow.Table":
    """An Arrow table of judgments, or of assessments: one row each, in their order.

    Judgments have the columns of :func:`to_pandas`, all of them texts. Assessments have those of
    :mod:`metajudge.reading.assessment_tables`, as ``vet --out FILE.parquet`` writes them.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    package = arrow()
    tables, others, source = [], list[Judgment](), iter(records)
    while part := list(islice(source, AT_ONCE)):
        lines = [one.model_dump_json().encode() for one in part if isinstance(one, Assessment)]
        if lines:
            tables.append(assessment_table(lines))
        others += [one for one in part if isinstance(one, Judgment)]
    if tables:
        return package.concat_tables(tables)
    rows = _rows(others)
    return package.table(
        {name: package.array([row.get(name) for row in rows], package.string()) for name in _columns(rows)}
    )


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
    table = _frame("Dataset", names, iter(given))
    reader = _reader(table, mapping, judge, values)
    own = "id" in reader.mapping.columns
    found: list[Judgment | str] = ["a person gave it: it is no verdict"] * len(given)
    for one in reader.read():
        if isinstance(one, Reject):
            found[one.line - 1] = one.reason
        elif not isinstance(one, ByPeople):
            found[one.line - 1] = one.judgment if own else _named_by_content(one.judgment)
    return found


def _named_by_content(judgment: Judgment) -> Judgment:
    said = digest([judgment.judge, str(judgment.verdict), judgment.rationale, list(judgment.order)])[:12]
    return judgment.model_copy(update={"id": f"{judgment.item.id}/{said}"})


def _frame(name: str, columns: Iterable[str], rows: Iterator[Mapping[str, Any]]) -> Table:
    """Rows in memory, as a table that a mapping reads."""
    held = [TableRow(number, {key: _cell(one) for key, one in row.items()}) for number, row in enumerate(rows, start=1)]
    names = tuple(columns)
    return Table(name, Source(Path(name), name), lambda: iter(held), lambda: names)


def _judgments(table: Table, mapping: Mapped, judge: str | None, values: Mapping[Any, Any] | None) -> list[Judgment]:
    reader = _reader(table, mapping, judge, values)
    index, people = PeopleIndex([reader]), PeopleCount()
    seen: dict[str, tuple[int, Judgment]] = {}
    for found in reader.read():
        if isinstance(found, ByPeople):
            people.add(found, index.reason(found))
            continue
        if isinstance(found, Reject):
            raise InputError(f"{table.format} row {found.line}: {found.reason}")
        judgment = index.labelled(found.judgment, found.name)
        first, earlier = seen.setdefault(judgment.id, (found.line, judgment))
        if first != found.line and not (reader.one_label_a_row and earlier == judgment):
            raise InputError(
                f"{table.format} rows {first} and {found.line} have the same id {judgment.id!r}: give each "
                "judgment its own, or map no id"
            )
    for sentence in reader.told:
        warnings.warn(sentence, stacklevel=4)
    if people.count > people.matched:
        warnings.warn(people.notice() or "", stacklevel=4)
    return [judgment for _, judgment in seen.values()]


def _reader(table: Table, mapping: Mapped, judge: str | None, values: Mapping[Any, Any] | None) -> MappedTable:
    if values is not None and not isinstance(values, Mapping):
        raise InputError(
            f'values is a {type(values).__name__}: give a dict of meanings, such as {{1: "A", "C": "tie"}}'
        )
    if mapping is None:
        mapping = FieldMap(columns=own_columns(table.columns()))
    elif not isinstance(mapping, FieldMap):
        parts = [mapping] if isinstance(mapping, str) else [f"{name}={column}" for name, column in mapping.items()]
        mapping = parse_map(parts, wording=ARGUMENTS)
    meanings = {key_of(key): NONE if value is None else key_of(value) for key, value in (values or {}).items()}
    constants = {} if judge is None else {"judge": judge}
    return MappedTable(table, mapping.updated(constants=constants, values=meanings), wording=ARGUMENTS)


def _cell(value: Any) -> Any:
    """A cell as plain data: what is missing (``NaN``, ``NaT``, ``NA``) is None, numpy's scalars and arrays Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return plain(value)


def _rows(records: "Iterable[Judgment] | Iterable[Assessment]") -> list[dict[str, Any]]:
    return [_judgment_row(one) if isinstance(one, Judgment) else _assessment_row(one) for one in records]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All keys in a stable order: responses and models side by side, behind the question."""
    keys = dict.fromkeys(key for row in rows for key in row)
    ranks = {"responses": 1, "models": 2, "metadata": 3}
    ahead = [key for key in keys if key in _ALWAYS or "." not in key]
    nested = sorted((key for key in keys if key not in ahead), key=lambda key: ranks.get(key.split(".")[0], 4))
    return [*ahead, *nested]


def _judgment_row(judgment: Judgment) -> dict[str, Any]:
    item = judgment.item
    row: dict[str, Any] = {
        "id": judgment.id,
        "judge": judgment.judge,
        "verdict": _verdict(judgment.verdict),
        "no_verdict": judgment.no_verdict,
        "rationale": judgment.rationale,
        "order": json.dumps(judgment.order),
        "labels": None if judgment.labels is None else json.dumps(judgment.labels, ensure_ascii=False),
        "instruction": judgment.instruction,
        "meta": orjson.dumps(judgment.meta).decode() if judgment.meta else None,
        "item_id": item.id,
        "question": item.question,
        "category": item.category,
        "label": _verdict(item.label),
        "reference": item.reference,
    }
    row |= {"human_labels": labels_text(item.labels)} if item.labels else {}
    row |= {"scale": scale_text(item.scale)} if item.scale is not None else {}
    if item.conversation:
        row["conversation"] = orjson.dumps([one.model_dump() for one in item.conversation]).decode()
    row |= {f"metadata.{name}": orjson.dumps(known).decode() for name, known in (item.metadata or {}).items()}
    row |= {f"responses.{name}": text for name, text in item.responses.items()}
    row |= {f"models.{name}": model for name, model in (item.models or {}).items()}
    return row


def _verdict(verdict: Any) -> str | None:
    match verdict:
        case Ranking():
            return json.dumps(verdict.to_json())
        case Grade():
            return f"{verdict.value!r}"
        case Category():  # its word where that is read back as the same
            text = str(verdict)
            with suppress(UnknownValueError):
                if Vocabulary({}, categories=True).read(text, ("A",), {}) == verdict:
                    return text
            return orjson.dumps({"category": text}).decode()
    return None if verdict is None else str(verdict)


def _assessment_row(assessment: Assessment) -> dict[str, Any]:
    record = assessment.model_dump(mode="json")
    low, high = record["score_bounds"] or (None, None)
    row = {name: cell(record, ".".join(path)) for name, (_, *path) in COLUMNS.items()}
    row |= {"score_low": low, "score_high": high, "accepted": assessment.kept}
    row |= {f"agent.{agent.agent}": agent.score for agent in assessment.agents}
    row |= {f"signal.{name}": signal.value for name, signal in (assessment.signals or {}).items()}
    return row


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ConfigurationError(f"{name} is not installed: {install_command('inputs')}") from None
