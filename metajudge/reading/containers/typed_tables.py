"""Tables of typed cells: Parquet by DuckDB, Arrow files and Hugging Face datasets by pyarrow, workbooks by openpyxl.

A dataset is read as the documentation of ``datasets`` 4 and 5 describes ("Save and export", ``Dataset.save_to_disk``):
a folder with ``state.json``, which lists the Arrow streams, and ``dataset_info.json``; several splits are folders
beside a ``dataset_dict.json``. Packages are imported when a table is read.
"""

import datetime
import decimal
import math
import re
import uuid
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.reading.containers.headers import HEAD, Cells, headed, header_of
from metajudge.reading.containers.lines import Line, Reject, Source, TableRow
from metajudge.reading.containers.tables import Table
from metajudge.reading.containers.unpacking import DAMAGE

_FETCHED: Final = 256
"""Rows of Parquet that are Python objects together."""
_MEMORY: Final = "4GB"
"""What DuckDB may hold of one file: a row group of large texts takes two."""

ROWS: Final = 512
"""Rows of a record batch that are Python objects together."""
_LONGEST_PART: Final = 1 << 29
"""Bytes of a part of a workbook that is held in memory, as its texts are."""


def parquet_table(source: Source, only: str = "*") -> Table:
    """Rows of a Parquet file, perhaps of one column alone; memory is bounded by a few of its row groups."""
    query = _QUERY.replace("*", only, 1)
    path = _pattern(source)

    def columns() -> tuple[str, ...]:
        with parquet_connection(source) as connection:
            return tuple(name for name, *_ in connection.execute(_QUERY + " LIMIT 0", [path]).description)

    def rows() -> Iterator[Line | Reject]:
        import duckdb

        number = 0
        with parquet_connection(source) as connection:
            try:
                result = connection.execute(query, [path])
                names = [name for name, *_ in result.description]
                while batch := result.fetchmany(_FETCHED):
                    for cells in batch:
                        number += 1
                        yield TableRow(number, dict(zip(names, map(plain, cells), strict=True)))
            except (duckdb.Error, UnicodeDecodeError) as error:
                what = "the file is damaged"
                if isinstance(error, duckdb.OutOfMemoryException):
                    what = f"a row group takes more than {_MEMORY} of memory: write the file with smaller ones"
                reason = f"{what}; nothing after this row can be read ({_first_line(error)})"
                yield Reject(source.name, number + 1, reason, "")

    return Table("Parquet", source, rows, columns)


def _pattern(source: Source) -> str:
    """A path as DuckDB takes it: what looks like a pattern is a name here."""
    return re.sub(r"([*?\[])", r"[\1]", str(source.path))


def parquet_connection(source: Source) -> Any:
    """A connection that can read this file and no other, whatever stands in it.

    Raises:
        InputError: it is no Parquet file.
    """
    import duckdb

    path = _pattern(source)
    # One thread keeps the order of the rows with one row group in flight.
    settings: dict[str, Any] = {
        "threads": 1,
        "memory_limit": _MEMORY,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET allowed_paths = $1", [[path, str(source.path)]])
        connection.execute("SET enable_external_access = false")
        connection.execute(_QUERY + " LIMIT 0", [path])
    except duckdb.Error as error:
        connection.close()
        raise InputError(f"{source.name} cannot be read as Parquet: {_first_line(error)}") from None
    return connection


_QUERY = "SELECT * FROM read_parquet(?, hive_partitioning = false)"
_AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def plain(value: Any) -> Any:
    """A cell as JSON has it: times as text, decimals as numbers; NaN as null, an infinite number as its text."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return {
            key if type(key) is str else str(key): inner if type(inner) in _AS_THEY_ARE else plain(inner)
            for key, inner in value.items()
        }
    match value:
        case float():
            return value if math.isfinite(value) else None if math.isnan(value) else str(value)
        case list() | tuple():
            return [plain(inner) for inner in value]
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() if not value.is_finite():
            return None if value.is_nan() else str(value)
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case datetime.timedelta() | uuid.UUID():
            return str(value)
    return value


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def arrow_table(source: Source, only: str = "") -> Table:
    """Rows of an Arrow file, perhaps of one column alone; batches are mapped into memory one at a time."""
    return _mapped_into_memory("Arrow", source, [source.path], only)


def plain_rows(batch: Any) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, a few at a time; cells are as JSON has them."""
    names = batch.schema.names
    for start in range(0, batch.num_rows, ROWS):
        columns = [[plain(cell) for cell in column.to_pylist()] for column in batch.slice(start, ROWS).columns]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))


def dataset_table(source: Source) -> Table:
    """Rows of one split of a Hugging Face dataset, in order; Arrow batches are mapped into memory one at a time."""
    return _mapped_into_memory("Hugging Face dataset on disk", source, _arrow_files(source))


def dataset_folders(path: Path) -> list[Path]:
    """The folders of the splits of a saved dataset; empty where the folder is none."""
    if (path / "state.json").is_file():
        return [path]
    if not (path / "dataset_dict.json").is_file():
        return []
    return [split for split in sorted(path.iterdir()) if (split / "state.json").is_file()]


def _arrow_files(source: Source) -> list[Path]:
    try:
        state = orjson.loads((source.path / "state.json").read_bytes())
        files = [source.path / str(entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source.name}: state.json does not list the dataset's files ({error})") from None
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise InputError(
            f"{source.name} was saved with an indices mapping: save it again after dataset.flatten_indices()"
        )
    missing = [file.name for file in files if not file.is_file()]
    if missing or not files:
        raise InputError(f"{source.name}: the dataset's files are missing: {', '.join(missing) or 'none is listed'}")
    return files


def _mapped_into_memory(form: str, source: Source, files: Sequence[Path], only: str = "") -> Table:
    """A table over Arrow files, or over the streams of a dataset."""

    def opened(file: Path) -> Any:
        try:
            import pyarrow
            import pyarrow.ipc
        except ImportError:
            raise InputError(
                f"{source.name} is a file of Arrow, which needs pyarrow: {install_command('inputs')}"
            ) from None
        try:
            stream = pyarrow.memory_map(str(file))
            return pyarrow.ipc.open_file(stream) if form == "Arrow" else pyarrow.ipc.open_stream(stream)
        except (OSError, pyarrow.ArrowException) as error:
            raise InputError(f"{source.name}: {file.name} cannot be read as Arrow: {error}") from None

    def rows() -> Iterator[Line | Reject]:
        number = 0
        for file in files:
            found = opened(file)
            import pyarrow

            batches = map(found.get_batch, range(found.num_record_batches)) if form == "Arrow" else found
            try:
                for batch in batches:
                    for data in plain_rows(batch.select([only] if only else found.schema.names)):
                        number += 1
                        yield TableRow(number, data)
            except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
                yield Reject(
                    source.name, number + 1, f"{file.name} is damaged; the rest of it cannot be read ({error})", ""
                )

    return Table(form, source, rows, lambda: tuple(opened(files[0]).schema.names))


def members_of(source: Source) -> frozenset[str]:
    """The names of the members of a zip archive; none where it is damaged."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return frozenset(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return frozenset()


def workbook_table(source: Source) -> Table:
    """Rows of the first sheet that is a table; see :func:`~metajudge.reading.containers.headers.headed`.

    Numbers without a fraction are whole numbers, times are ISO 8601 texts, and a formula gives the value that was
    saved with it. Rows are read one at a time; ``number`` is the row of the sheet.

    Reading raises InputError: openpyxl is not installed, or the file cannot be read.
    """
    return Table("Excel sheet", source, *headed(source, partial(_sheet_rows, source), ragged=True))


def _sheet_rows(source: Source) -> Iterator[Cells]:
    """Rows that are not empty, of the first sheet with the most of a table among the first rows of all."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{source.name} is an Excel workbook: {install_command('inputs')}, or save the sheet as CSV"
        ) from None
    try:
        _require_small(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and validations, which are not read
            book = openpyxl.load_workbook(source.path, read_only=True, data_only=True)
            with closing(book):
                sheets = {sheet.title: sheet for sheet in book.worksheets}
                worth = {name: _worth(source, sheet) for name, sheet in sheets.items()}
                filled = [name for name in sheets if worth[name]]
                chosen = max(filled, key=lambda name: worth[name], default=None)
                if len(filled) > 1:
                    others = ", ".join(repr(name) for name in filled if name != chosen)
                    source.tell(f"{source.name}: the sheet {chosen!r} is read, and not {others}")
                if chosen is not None:
                    yield from _rows_of(sheets[chosen])
    except (*DAMAGE, zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError) as error:
        raise InputError(f"{source.name} cannot be read as an Excel workbook: {error}") from None


def _require_small(source: Source) -> None:
    """Refuses a workbook of which a part that is held in memory is too long when it is unpacked."""
    with zipfile.ZipFile(source.path) as archive:
        for part in archive.infolist():
            if part.file_size > _LONGEST_PART and not part.filename.startswith("xl/worksheets/"):
                raise ValueError(f"{part.filename} is longer than {_LONGEST_PART // 2**20} MiB")


def _rows_of(sheet: Any) -> Iterator[Cells]:
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = _trimmed(["" if cell is None else plain(_whole(cell)) for cell in row])
        if cells:
            yield Cells(number, b"", cells, None)


def _worth(source: Source, sheet: Any) -> int:
    """How much of a table the first rows of a sheet are: 0 for none at all, 3 for rows under three columns or more."""
    top = list(islice(_rows_of(sheet), HEAD))
    try:
        header = header_of(source.name, top)
    except InputError:
        return min(max(len(row.cells) for row in top), 3) if top else 0
    columns = sum(map(bool, header.names))
    return min(columns, 3) if len(top) > header.height else min(len(top), 1)


def _trimmed(cells: list[Any]) -> list[Any]:
    """Without empty cells at the end."""
    while cells and cells[-1] == "":
        cells.pop()
    return cells


def _whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
