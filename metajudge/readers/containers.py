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
from itertools import islice
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.readers.conversations import is_chat
from metajudge.readers.guessing import is_text_name
from metajudge.readers.lines import DAMAGE, BadLine, DamagedError, Line, Reject, Source, head_of, require_characters
from metajudge.readers.mapping import FieldMap
from metajudge.readers.tables import LINES, Table, csv_table, json_lines, json_list, looks_like_csv
from metajudge.readers.typed_tables import (
    arrow_table,
    dataset_folders,
    dataset_table,
    members_of,
    parquet_table,
    workbook_table,
)

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
    """A file, or the splits of a dataset on disk, as tables; none for another folder, and for an archive.

    Raises:
        InputError: it cannot be read.
    """
    if source.path.is_dir():
        return [dataset_table(Source(split, str(split))) for split in dataset_folders(source.path)]
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
    return parsed_object(raw, source.name)


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
    return [Line(number, orjson.dumps(value, default=str), value) for number, value in enumerate(values or (), start=1)]


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
    import zstandard

    with source.path.open("rb") as stream:
        stream.seek(info.header_offset)
        name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        stream.seek(name_length + extra_length, 1)
        packed = stream.read(info.compress_size)
    try:
        data = bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    except zstandard.ZstdError as error:
        raise OSError(error) from None
    if zlib.crc32(data) != info.CRC:
        raise OSError("its checksum is wrong")
    return data


DEPTH: Final = 3
"""Objects inside each other that are looked at for lists."""
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
    """The longest list of objects in a file that is one JSON object, held in memory; the first one of several as long.

    Args:
        table: of the file's lines.
        written: whether another tool writes such an object; that is read in its own way.
        mapping: which column is what; an object that has these columns is itself a row.

    Returns:
        None where the file is no single object, where the object is itself a row, or contains no list of objects.
    """
    try:
        data, spread = whole_object(table) or ({}, False)
    except DamagedError:
        return None
    if written(table.source, data) or (not spread and _is_row(data, mapping)):
        return None
    found = dict(_lists(data, "", DEPTH))
    if not found:
        return None
    longest = max(found, key=lambda path: len(found[path]))

    def rows() -> Iterator[Line | Reject]:
        for line in entries_of(found[longest]):
            is_object = isinstance(line.data, dict)
            yield line if is_object else table.source.reject(line.number, "the entry is no JSON object", line.raw)

    return Table(f"JSON list {longest!r}", table.source, rows)


def _is_row(data: Mapping[str, Any], mapping: FieldMap | None) -> bool:
    """Whether an object on one line is a record of its own, and not what is around a list of them."""
    if mapping is not None and any(column.split(".")[0] in data for column in mapping.columns.values()):
        return True
    return any(is_text_name(key) for key in data)


def _lists(data: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    for key, value in data.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value) and not is_chat(value):
            yield f"{prefix}{key}", value
        elif isinstance(value, dict) and depth > 1:
            yield from _lists(value, f"{prefix}{key}.", depth - 1)
