"""What a file is on the outside: a table of rows, one JSON object (also around a table), or an archive.

A file's first bytes say which. Objects, and the members of archives, are read whole, within a limit.
"""

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.lines import (
    EXCERPT,
    MAX_LINE_BYTES,
    OF_TABLES,
    BadLine,
    DamagedError,
    Line,
    RawLine,
    Reject,
    Source,
    TableRow,
    head_of,
    older_text,
    parsed_line,
    require_characters,
)
from metajudge.reading.containers.sheets import csv_table, looks_like_csv, workbook_table
from metajudge.reading.containers.tables import HEAD, LINES, Table, json_lines, json_list
from metajudge.reading.containers.typed_tables import arrow_table, dataset_folders, dataset_table, parquet_table
from metajudge.reading.containers.unpacking import DAMAGE, unzstd
from metajudge.reading.conversations import is_chat
from metajudge.reading.guessing import guess_mapping
from metajudge.reading.mapping import FieldMap
from metajudge.reading.names import is_text_name

_HEAD_BYTES: Final = 4096
_MOST_NULS: Final = 20
"""A file is text if at most one of so many bytes is NUL: a line that contains one is a bad line."""


class Container(Enum):
    """The container of the records."""

    LINES = auto()
    LIST = auto()
    CSV = auto()
    PARQUET = auto()
    ARROW = auto()
    ZIP = auto()
    WORKBOOK = auto()


def container_of(source: Source) -> Container:
    """What a file is, by its first bytes; for CSV its name counts, too.

    Raises:
        InputError: it cannot be read, or is no text of any kind that is known here.
    """
    try:
        with source.path.open("rb") as stream:
            signature = stream.read(4)
    except OSError as error:
        raise InputError(f"cannot read {source.name}: {error.strerror or error}") from error
    if signature == b"PAR1":
        return Container.PARQUET
    if signature == b"ARRO":
        return Container.ARROW
    if signature == b"PK\x03\x04":
        return Container.WORKBOOK if "xl/workbook.xml" in members_of(source) else Container.ZIP
    head = head_of(source, _HEAD_BYTES)
    if head.count(b"\0") * _MOST_NULS > len(head):
        raise InputError(f"{source.name} is not text")
    head = head.lstrip()
    if head.startswith(b"["):
        return Container.LINES if _is_line_of_its_own(head) else Container.LIST
    if not looks_like_csv(source.path, head):
        return Container.LINES
    if b"\0" in head:
        raise InputError(f"{source.name} is a table that contains NUL bytes; export it again as text")
    return Container.CSV


def _is_line_of_its_own(head: bytes) -> bool:
    """Whether a list at the beginning of a file is one bad line of many, and not the list that a file is."""
    first, _, rest = head.partition(b"\n")
    if first.startswith(b"[["):
        return True  # no list of objects
    try:
        return isinstance(orjson.loads(first), list) and bool(rest.strip())
    except orjson.JSONDecodeError:
        return False


def table_of(source: Source, container: Container | None = None) -> Table:
    """A file as a table of rows; InputError where it is none."""
    found = container or container_of(source)
    if found is Container.ZIP:
        raise InputError(f"{source.name} is a zip archive; unpack it first")
    return _TABLES[found](source)


_TABLES: Final[Mapping[Container, Callable[[Source], Table]]] = {
    Container.CSV: csv_table,
    Container.PARQUET: parquet_table,
    Container.ARROW: arrow_table,
    Container.LIST: json_list,
    Container.LINES: json_lines,
    Container.WORKBOOK: workbook_table,
}


def tables_in(source: Source) -> list[Table]:
    """A file, the splits of a dataset on disk, or a folder of records as tables; none for another folder or archive."""
    if source.path.is_dir():
        splits = [dataset_table(Source(split, str(split))) for split in dataset_folders(source.path)]
        records = None if splits else folder_table(source)
        return splits if records is None else [records]
    container = container_of(source)
    return [] if container is Container.ZIP else [table_of(source, container)]


MAX_OBJECT_BYTES = 1 << 30
"""A longer object is refused: it would have to be held in memory."""
_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = struct.Struct("<26xHH")


def members_of(source: Source) -> frozenset[str]:
    """The names of the members of a zip archive; none where it is damaged."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return frozenset(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return frozenset()


def read_member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    """The bytes of a member of a zip archive, decompressed. Raises InputError: the archive has no such member."""
    try:
        info = archive.getinfo(name)
        if info.file_size > MAX_OBJECT_BYTES:
            raise InputError(f"{source.name}: {name} is longer than {MAX_OBJECT_BYTES // 2**30} GiB")
        if info.compress_type != _ZSTANDARD:
            return archive.read(name)
        with source.path.open("rb") as stream:  # the standard library reads zstandard only from Python 3.14 on
            stream.seek(info.header_offset)
            stream.seek(sum(_LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))), 1)
            data = unzstd(stream.read(info.compress_size), info.file_size)
        if zlib.crc32(data) != info.CRC:
            raise OSError("its checksum is wrong")
        return data
    except KeyError:
        raise InputError(f"{source.name} has no member {name}") from None
    except (*DAMAGE, zipfile.BadZipFile, struct.error, NotImplementedError) as error:  # the last: unknown compression
        raise InputError(f"{source.name}: {name} is damaged ({error})") from None


def read_object(source: Source) -> dict[str, Any]:
    """The object that a file contains; InputError where it is longer than :data:`MAX_OBJECT_BYTES`, or no object."""
    raw = head_of(source, MAX_OBJECT_BYTES + 1)
    if len(raw) > MAX_OBJECT_BYTES:
        raise InputError(
            f"{source.name} is one JSON object of more than {MAX_OBJECT_BYTES // 2**30} GiB, which would have to be "
            "held in memory: export it as JSONL, as an Inspect .eval file, or in parts"
        )
    try:
        return parsed_object(raw, source.name)
    except InputError:
        text = older_text(source, raw)
        if text is None:
            raise
        return parsed_object(text.encode(), source.name)


def parsed_object(raw: bytes, name: str) -> dict[str, Any]:
    """Parses an object in which numbers may be NaN, as Inspect writes them; an infinite number is its text."""
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            data = json.loads(raw, parse_constant=lambda name: math.nan if name == "NaN" else name)
            require_characters(data)
        except BadLine as bad:
            raise DamagedError(f"{name} {bad}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{name} is no valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{name} contains no JSON object")
    return data


def entries_of(values: Iterable[Any] | None) -> list[Line]:
    """The entries of a list inside an object as rows, numbered from 1."""
    return [TableRow(number, value) for number, value in enumerate(values or (), start=1)]


def whole_object(table: Table) -> tuple[dict[str, Any], bool] | None:
    """The object that a file of lines is, and whether it is spread over lines; None where it is none.

    Raises:
        DamagedError: it is spread over lines, and damaged.
    """
    first = list(islice(table.rows(), 2)) if table.format == LINES else []
    spread = bool(first) and isinstance(first[0], Reject) and first[0].reason.startswith("half a JSON object")
    if not spread and len(first) != 1:
        return None
    try:
        return read_object(table.source), spread
    except InputError as error:
        if spread and isinstance(error, DamagedError):
            raise
        return None


def wrapped_table(
    table: Table, written: Callable[[Source, dict[str, Any]], bool], mapping: FieldMap | None = None
) -> Table | None:
    """The longest table in a file that is one JSON object, held in memory.

    None where the file is no single object, where another tool writes such an object, which is read in its own way,
    or where the object is itself a row (as one with the columns of a mapping is), or contains no table.

    Raises:
        InputError: a key is given twice, or several lists have records of the same fields.
    """
    source = table.source
    try:
        data, spread = whole_object(table) or ({}, False)
    except DamagedError:
        return None
    if written(source, data):
        return None
    found = list(_shapes_in(data))
    if not found or (not spread and found[0].path and _is_row(data, mapping)):
        return None
    longest = max(found, key=lambda one: len(one.records))
    alike = [one for one in found if _share_fields([*one.records[:1], *longest.records[:1]])]
    if len(alike) > 1:
        lists = ", ".join(f"{one.path!r} ({len(one.records)})" for one in alike[:8])
        raise InputError(
            f"{source.name} has {len(alike)} lists of records with the same fields: {lists}; write each to a file, or "
            "all to one list, with their names in a field of the records"
        )
    careful = parsed_line(source, RawLine(1, 0, head_of(source, MAX_OBJECT_BYTES)), OF_TABLES)
    if isinstance(careful, Reject):
        raise InputError(f"{source.name}: {careful.reason}")
    what = f"{longest.what} {longest.path!r}" if longest.path else longest.what
    return Table(what, source, partial(_rows_of, source, longest))


def _is_row(data: Mapping[str, Any], mapping: FieldMap | None) -> bool:
    """Whether an object on one line is a record of its own, and not what is around a list of them."""
    mapped = () if mapping is None else mapping.columns.values()
    return any(column.split(".")[0] in data for column in mapped) or any(map(is_text_name, data))


def folder_table(source: Source) -> Table | None:
    """The files of a folder as rows, named by their files, where all are JSON objects of the same fields; else None."""
    files = [Source(path, f"{source.name}/{path.name}") for path in sorted(source.path.glob("*.json"))]
    try:
        first = [read_object(one) for one in files[:HEAD]]
    except InputError:
        return None
    if len(files) < 2 or not _share_fields(first):
        return None
    name = _name_of_keys(first)

    def rows() -> Iterator[Line | Reject]:
        for number, file in enumerate(files, start=1):
            try:
                found = parsed_line(file, RawLine(1, 0, head_of(file, MAX_LINE_BYTES)), OF_TABLES)
            except InputError as error:
                found = file.reject(1, str(error))
            if isinstance(found, Line):
                found = TableRow(number, found.data if name is None else {name: file.path.stem, **found.data})
            yield found

    return Table("folder of JSON objects", source, rows)


_DEPTH: Final = 3
"""Objects inside each other that are looked at for tables."""
_LOOKED_AT: Final = 100
_CELLS: Final = (("columns", "data"), ("columns", "rows"), ("header", "rows"), ("headers", "rows"), ("fields", "data"))
"""Where a table of cells has the names of its columns, and where its rows."""


class _Shape(NamedTuple):
    """A table in an object: what it is, where it stands (empty for the object itself), its rows, and their names."""

    what: str
    path: str
    records: Sequence[Any]
    keys: Sequence[str] | None = None


def _shapes_in(data: Mapping[str, Any], path: str = "", depth: int = _DEPTH) -> Iterator[_Shape]:
    """The tables in an object, in their order; what is in a table is a part of it."""
    found = _of_cells(data, path) or _by_column(data, path) or _by_key(data, path)
    if found is not None:
        yield found
        return
    for key, value in data.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, list) and any(isinstance(one, dict) for one in value) and not is_chat(value):
            yield _Shape("JSON list", inner, value)
        elif isinstance(value, dict) and depth > 1:
            yield from _shapes_in(value, inner, depth - 1)


def _of_cells(data: Mapping[str, Any], path: str) -> _Shape | None:
    """Names of columns and rows of cells, as pandas (``split``) and MLflow write them; or records and their schema."""
    if isinstance(data.get("schema"), dict) and "fields" in data["schema"] and _share_fields(data.get("data")):
        return _Shape("JSON table", path, data["data"])
    for names, rows in _CELLS:
        columns, cells = data.get(names), data.get(rows)
        if not isinstance(columns, list) or not isinstance(cells, list) or not cells:
            continue
        if all(isinstance(row, list) for row in cells):
            header = [".".join(map(str, one)) if isinstance(one, list) else str(one) for one in columns]
            whole = len(set(header)) == len(header)
            records = [
                dict(zip(header, row, strict=True)) if whole and len(row) == len(header) else row for row in cells
            ]
            index = data.get("index")
            named = isinstance(index, list) and len(index) == len(cells) and index != list(range(len(cells)))
            return _Shape("JSON table", path, records, list(map(str, index or ())) if named else None)
    return None


def _by_column(data: Mapping[str, Any], path: str) -> _Shape | None:
    """A table by its columns: each a list of cells, or an object with a cell for each row (pandas' own way)."""
    columns = list(data.values())
    if len(columns) > 1 and all(isinstance(one, dict) and one and one.keys() == columns[0].keys() for one in columns):
        rows, texts = list(columns[0]), any(map(is_text_name, data))
        counted = rows == [str(place) for place in range(len(rows))] and not all(map(str.isdecimal, data))
        if (counted and (texts or len(data) <= len(rows))) or (texts and len(rows) >= max(3, len(data))):
            return _Shape("JSON columns", path, [{name: data[name][row] for name in data} for row in rows], rows)
    lists = len(columns) > 2 and all(isinstance(one, list) and len(one) == len(columns[0]) > 2 for one in columns)
    names = list(data) if any(map(is_text_name, data)) else [one.removesuffix("s") for one in data]
    if lists and any(map(is_text_name, names)) and not any(map(is_chat, columns)):
        records = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
        return _Shape("JSON columns", path, records)
    return None


def _by_key(data: Mapping[str, Any], path: str) -> _Shape | None:
    """Records by their ids; an object whose keys are names of texts is one record."""
    if len(data) < 2 or any(map(is_text_name, data)) or not _share_fields(list(data.values())):
        return None
    return _Shape("JSON object by id", path, list(data.values()), list(data))


def _share_fields(values: Any) -> bool:
    """Whether the values of a list are objects most of whose fields are those of all."""
    first = values[:_LOOKED_AT] if isinstance(values, list) else []
    if not first or not all(isinstance(one, dict) and one for one in values):
        return False
    common = set(first[0]).intersection(*first)
    return 2 * len(common) > max(map(len, first)) or len(common) > 3


def _name_of_keys(records: Sequence[Any]) -> str | None:
    """What a name beside a record is: its id, or the item's; None where the records have ids of their own."""
    first = [row for row in entries_of(records[:_LOOKED_AT]) if isinstance(row.data, dict)]
    found = guess_mapping(list(dict.fromkeys(name for row in first for name in row.data)), first).mapping
    if {"id", "item_id"} & found.columns.keys() or any({"id", "item_id"} & row.data.keys() for row in first):
        return None
    return "id" if any(found.columns.get(name) for name in ("question", "responses.A")) else "item_id"


def _rows_of(source: Source, shape: _Shape) -> Iterator[Line | Reject]:
    name = None if shape.keys is None else _name_of_keys(shape.records)
    keys = shape.keys or [""] * len(shape.records)
    for number, (key, record) in enumerate(zip(keys, shape.records, strict=True), start=1):
        if not isinstance(record, dict):
            yield source.reject(number, "the entry is no JSON object", orjson.dumps(record, default=str)[:EXCERPT])
        else:
            yield TableRow(number, record if name is None else {name: key, **record})
