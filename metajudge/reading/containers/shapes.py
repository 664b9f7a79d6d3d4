"""The tables in one JSON object: lists of records, records by their ids, and a table by columns or by rows of cells."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metajudge.reading.containers.lines import TableRow
from metajudge.reading.conversations import is_chat
from metajudge.reading.guessing import guess_mapping, is_text_name

DEPTH: Final = 3
"""Objects inside each other that are looked at for tables."""
_LOOKED_AT: Final = 100
_CELLS: Final = (("columns", "data"), ("columns", "rows"), ("header", "rows"), ("headers", "rows"), ("fields", "data"))
"""Where a table of cells has the names of its columns, and where its rows."""


class Shape(NamedTuple):
    """A table in an object.

    Attributes:
        what: it is, for people.
        path: where it stands, empty for the object itself.
        records: its rows; a row that is no object is no record.
        keys: the name of each row beside it; None without any.
    """

    what: str
    path: str
    records: Sequence[Any]
    keys: Sequence[str] | None = None


def shapes_in(data: Mapping[str, Any], path: str = "", depth: int = DEPTH) -> Iterator[Shape]:
    """The tables in an object, in their order; what is in a table is a part of it."""
    found = _of_cells(data, path) or _by_column(data, path) or _by_key(data, path)
    if found is not None:
        yield found
        return
    for key, value in data.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, list) and any(isinstance(one, dict) for one in value) and not is_chat(value):
            yield Shape("JSON list", inner, value)
        elif isinstance(value, dict) and depth > 1:
            yield from shapes_in(value, inner, depth - 1)


def _of_cells(data: Mapping[str, Any], path: str) -> Shape | None:
    """Names of columns and rows of cells, as pandas (``split``) and MLflow write them; or records and their schema."""
    if isinstance(data.get("schema"), dict) and "fields" in data["schema"] and share_fields(data.get("data")):
        return Shape("JSON table", path, data["data"])
    for names, rows in _CELLS:
        columns, cells = data.get(names), data.get(rows)
        if (
            isinstance(columns, list)
            and isinstance(cells, list)
            and cells
            and all(isinstance(row, list) for row in cells)
        ):
            header = [".".join(map(str, one)) if isinstance(one, list) else str(one) for one in columns]
            whole = len(set(header)) == len(header)
            records = [
                dict(zip(header, row, strict=True)) if whole and len(row) == len(header) else row for row in cells
            ]
            return Shape("JSON table", path, records, _told_apart(data.get("index"), len(cells)))
    return None


def _told_apart(index: Any, count: int) -> list[str] | None:
    """The names of rows; None where they are numbers that count them."""
    if not isinstance(index, list) or len(index) != count or index == list(range(count)):
        return None
    return [str(one) for one in index]


def _by_column(data: Mapping[str, Any], path: str) -> Shape | None:
    """A table by its columns: each a list of cells, or an object with a cell for each row (pandas' own way)."""
    columns = list(data.values())
    if len(columns) > 1 and all(isinstance(one, dict) and one and one.keys() == columns[0].keys() for one in columns):
        rows = list(columns[0])
        counted = rows == [str(place) for place in range(len(rows))] and not all(map(str.isdecimal, data))
        texts = any(map(is_text_name, data))
        if (counted and (texts or len(data) <= len(rows))) or (texts and len(rows) >= max(3, len(data))):
            return Shape("JSON columns", path, [{name: data[name][row] for name in data} for row in rows], rows)
    lists = len(columns) > 2 and all(isinstance(one, list) and len(one) == len(columns[0]) > 2 for one in columns)
    if lists and any(map(is_text_name, data)) and not any(is_chat(one) for one in columns):
        return Shape(
            "JSON columns", path, [dict(zip(data, cells, strict=True)) for cells in zip(*columns, strict=True)]
        )
    return None


def _by_key(data: Mapping[str, Any], path: str) -> Shape | None:
    """Records by their ids; an object whose keys are names of texts is one record."""
    if len(data) < 2 or any(map(is_text_name, data)) or not share_fields(list(data.values())):
        return None
    return Shape("JSON object by id", path, list(data.values()), list(data))


def share_fields(values: Any) -> bool:
    """Whether the values of a list are objects most of whose fields are those of all."""
    first = values[:_LOOKED_AT] if isinstance(values, list) else []
    if not first or not all(isinstance(one, dict) and one for one in values):
        return False
    common = set(first[0]).intersection(*first)
    return 2 * len(common) > max(map(len, first)) or len(common) > 3


def name_of_keys(records: Sequence[Any]) -> str | None:
    """What to call the name that stands beside a record: its id, or the item's where the records say nothing of it.

    None where the records have ids of their own.
    """
    first = [TableRow(number, one) for number, one in enumerate(records[:_LOOKED_AT], 1) if isinstance(one, dict)]
    found = guess_mapping(list(dict.fromkeys(name for row in first for name in row.data)), first).mapping
    if {"id", "item_id"} & found.columns.keys() or any({"id", "item_id"} & row.data.keys() for row in first):
        return None
    return "id" if any(found.columns.get(name) for name in ("question", "responses.A")) else "item_id"
