"""What a file is on the outside: a table of rows, one JSON object, or an archive; by its first bytes."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

import orjson

from metajudge.errors import InputError
from metajudge.readers.lines import Source, head_of
from metajudge.readers.tables import Table, csv_table, json_lines, json_list, looks_like_csv
from metajudge.readers.typed_tables import (
    arrow_table,
    dataset_folders,
    dataset_table,
    is_workbook,
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
        return Container.WORKBOOK if is_workbook(source) else Container.ZIP
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
