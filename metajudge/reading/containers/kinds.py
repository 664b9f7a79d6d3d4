"""What a file is on the outside: a table of rows, one JSON object (also around a table), or an archive.

A file's first bytes say which. Objects, and the members of archives, are read whole, within a limit.
"""

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.headers import HEAD
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
from metajudge.reading.containers.shapes import Shape, name_of_keys, shapes_in, share_fields
from metajudge.reading.containers.tables import LINES, Table, csv_table, json_lines, json_list, looks_like_csv
from metajudge.reading.containers.typed_tables import (
    arrow_table,
    dataset_folders,
    dataset_table,
    members_of,
    parquet_table,
    workbook_table,
)
from metajudge.reading.containers.unpacking import DAMAGE, unzstd
from metajudge.reading.guessing import is_text_name
from metajudge.reading.mapping import FieldMap

HEAD_BYTES = 4096
_SIGNATURE_BYTES = 4

MOST_NULS = 20
"""A file is text if at most one of so many bytes is NUL: a line that contains one is a bad line."""


class Container(Enum):
    """The container of the records."""

    LINES = "one JSON object a line"
    LIST = "one JSON list"
    CSV = "CSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    ZIP = "a zip archive"
    WORKBOOK = "an Excel workbook"


def container_of(source: Source) -> Container:
    """What a file is, by its first bytes; for CSV its name counts, too.

    Raises:
        InputError: it cannot be read, or is no text of any kind that is known here.
    """
    try:
        with source.path.open("rb") as stream:
            signature = stream.read(_SIGNATURE_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {source.name}: {error.strerror or error}") from error
    if signature == b"PAR1":
        return Container.PARQUET
    if signature == b"ARRO":
        return Container.ARROW
    if signature == b"PK\x03\x04":
        return Container.WORKBOOK if "xl/workbook.xml" in members_of(source) else Container.ZIP
    head = head_of(source, HEAD_BYTES)
    if head.count(b"\0") * MOST_NULS > len(head):
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
    """A file as a table of rows.

    Raises:
        InputError: it is none.
    """
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
    """A file, the splits of a dataset on disk, or a folder of records as tables; none for another folder or an archive.

    Raises:
        InputError: it cannot be read.
    """
    if source.path.is_dir():
        splits = [dataset_table(Source(split, str(split))) for split in dataset_folders(source.path)]
        records = None if splits else folder_table(source)
        return splits if records is None else [records]
    container = container_of(source)
    return [] if container is Container.ZIP else [table_of(source, container)]


MAX_OBJECT_BYTES = 1 << 30
"""A longer object is refused: it would have to be held in memory."""

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")


def read_object(source: Source) -> dict[str, Any]:
    """The object that a file contains.

    Raises:
        InputError: it is longer than :data:`MAX_OBJECT_BYTES`, no JSON, or no object.
    """
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
    """Parses an object in which numbers may be NaN, as Inspect writes them; an infinite number is its text.

    Raises:
        InputError: no JSON, or no object.
    """
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


def read_member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    """The bytes of one member of a zip archive, compressed as zip files usually are, or with zstandard.

    Raises:
        InputError: the member is missing or damaged.
    """
    try:
        info = archive.getinfo(name)
        if info.file_size > MAX_OBJECT_BYTES:
            raise InputError(f"{source.name}: {name} is longer than {MAX_OBJECT_BYTES // 2**30} GiB")
        return _unpacked(source, info) if info.compress_type == _ZSTANDARD else archive.read(name)
    except KeyError:
        raise InputError(f"{source.name} has no member {name}") from None
    except (*DAMAGE, zipfile.BadZipFile, struct.error, NotImplementedError) as error:  # the last: unknown compression
        raise InputError(f"{source.name}: {name} is damaged ({error})") from None


def _unpacked(source: Source, info: zipfile.ZipInfo) -> bytes:
    """A member packed with zstandard, which the standard library reads only from Python 3.14 on."""
    with source.path.open("rb") as stream:
        stream.seek(info.header_offset)
        name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        stream.seek(name_length + extra_length, 1)
        data = unzstd(stream.read(info.compress_size), info.file_size)
    if zlib.crc32(data) != info.CRC:
        raise OSError("its checksum is wrong")
    return data


_SPREAD: Final = "half a JSON object"
"""How the reject of a first line begins, where an object is spread over lines."""


def whole_object(table: Table) -> tuple[dict[str, Any], bool] | None:
    """The object that a file of lines is, and whether it is spread over lines; None where it is none.

    Raises:
        DamagedError: it is spread over lines, and damaged.
    """
    first = list(islice(table.rows(), 2)) if table.format == LINES else []
    spread = bool(first) and isinstance(first[0], Reject) and first[0].reason.startswith(_SPREAD)
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
    """The longest table in a file that is one JSON object, held in memory; see :mod:`.shapes`.

    Args:
        table: of the file's lines.
        written: whether another tool writes such an object; that is read in its own way.
        mapping: which column is what; an object that has these columns is itself a row.

    Returns:
        None where the file is no single object, where the object is itself a row, or contains no table.

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
    found = list(shapes_in(data))
    if not found or (not spread and found[0].path and _is_row(data, mapping)):
        return None
    longest = max(found, key=lambda one: len(one.records))
    alike = [one for one in found if share_fields([*one.records[:1], *longest.records[:1]])]
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


def _rows_of(source: Source, shape: Shape) -> Iterator[Line | Reject]:
    name = None if shape.keys is None else name_of_keys(shape.records)
    for number, record in enumerate(shape.records, start=1):
        if not isinstance(record, dict):
            yield source.reject(number, "the entry is no JSON object", orjson.dumps(record, default=str)[:EXCERPT])
        elif name is None or shape.keys is None:
            yield TableRow(number, record)
        else:
            yield TableRow(number, {name: shape.keys[number - 1], **record})


def _is_row(data: Mapping[str, Any], mapping: FieldMap | None) -> bool:
    """Whether an object on one line is a record of its own, and not what is around a list of them."""
    if mapping is not None and any(column.split(".")[0] in data for column in mapping.columns.values()):
        return True
    return any(is_text_name(key) for key in data)


def folder_table(source: Source) -> Table | None:
    """The files of a folder as rows, where each contains one JSON object and all have the same fields; else None.

    A record without an id has the name of its file.
    """
    files = [Source(path, f"{source.name}/{path.name}") for path in sorted(source.path.glob("*.json"))]
    try:
        first = [read_object(one) for one in files[:HEAD]]
    except InputError:
        return None
    if len(files) < 2 or not share_fields(first):
        return None
    name = name_of_keys(first)

    def rows() -> Iterator[Line | Reject]:
        for number, file in enumerate(files, start=1):
            try:
                found = parsed_line(file, RawLine(1, 0, head_of(file, MAX_LINE_BYTES)), OF_TABLES)
            except InputError as error:
                found = file.reject(1, str(error), b"")
            if isinstance(found, Line):
                found = TableRow(number, found.data if name is None else {name: file.path.stem, **found.data})
            yield found

    return Table("folder of JSON objects", source, rows)
