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
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.lines import Line, Reject, Source

_FETCHED: Final = 256
"""Rows of Parquet that are Python objects together."""
_MEMORY: Final = "4GB"
"""What DuckDB may hold of one file: a row group of large texts takes two."""

ROWS: Final = 512
"""Rows of a record batch that are Python objects together."""


class ParquetTable:
    """Rows of a Parquet file; memory is bounded by a few of its row groups."""

    format = "Parquet"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        with self._opened() as connection:
            return tuple(name for name, *_ in connection.execute(_QUERY + " LIMIT 0", [self._path]).description)

    def rows(self) -> Iterator[Line | Reject]:
        import duckdb

        number = 0
        with self._opened() as connection:
            try:
                result = connection.execute(_QUERY, [self._path])
                names = [name for name, *_ in result.description]
                while batch := result.fetchmany(_FETCHED):
                    for cells in batch:
                        number += 1
                        yield TableRow(number, dict(zip(names, map(plain, cells), strict=True)))
            except duckdb.Error as error:
                what = "the file is damaged"
                if isinstance(error, duckdb.OutOfMemoryException):
                    what = f"a row group takes more than {_MEMORY} of memory: write the file with smaller ones"
                reason = f"{what}; nothing after this row can be read ({_first_line(error)})"
                yield Reject(self.source.name, number + 1, reason, "")

    @property
    def _path(self) -> str:
        # A path may be a pattern for DuckDB; here it is a name.
        return re.sub(r"([*?\[])", r"[\1]", str(self.source.path))

    def _opened(self) -> Any:
        """A connection that can read this file and no other, whatever stands in it."""
        import duckdb

        # One thread keeps the order of the rows with one row group in flight.
        settings: dict[str, Any] = {
            "threads": 1,
            "memory_limit": _MEMORY,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(":memory:", config=settings)
        try:
            connection.execute("SET allowed_paths = $1", [[self._path, str(self.source.path)]])
            connection.execute("SET enable_external_access = false")
            connection.execute(_QUERY + " LIMIT 0", [self._path])
        except duckdb.Error as error:
            connection.close()
            raise InputError(f"{self.source.name} cannot be read as Parquet: {_first_line(error)}") from None
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


class TableRow(Line):
    """A row of a table of typed cells. ``raw`` is the row as one JSON line, made only where it is reported."""

    __slots__ = ()

    def __init__(self, number: int, data: dict[str, Any]) -> None:
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "data", data)

    @property
    def raw(self) -> bytes:
        return orjson.dumps(self.data, option=orjson.OPT_NON_STR_KEYS, default=str)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


class ArrowTable:
    """Rows of an Arrow file; batches are mapped into memory one at a time."""

    format = "Arrow"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        return tuple(self._opened().schema.names)

    def rows(self) -> Iterator[Line | Reject]:
        file = self._opened()
        batches = (file.get_batch(at) for at in range(file.num_record_batches))
        yield from _numbered(self.source, [(batches, "the file is damaged; nothing after this row can be read")])

    def _opened(self) -> Any:
        name = self.source.name
        fault = f"{name} cannot be read as an Arrow file"
        return _opened(self.source.path, "open_file", f"{name} is an Arrow file", fault)


def plain_rows(batch: Any) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, a few at a time; cells are as JSON has them."""
    names = batch.schema.names
    for start in range(0, batch.num_rows, ROWS):
        columns = [[plain(cell) for cell in column.to_pylist()] for column in batch.slice(start, ROWS).columns]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))


class DatasetTable:
    """Rows of one split, in order; Arrow batches are mapped into memory one at a time."""

    format = "Hugging Face dataset on disk"

    def __init__(self, source: Source) -> None:
        self.source = source
        self._files = _arrow_files(source)

    def columns(self) -> tuple[str, ...]:
        return tuple(name for file in self._files[:1] for name in self._opened(file).schema.names)

    def rows(self) -> Iterator[Line | Reject]:
        damage = "is damaged; the rest of it cannot be read"
        return _numbered(self.source, ((self._opened(file), f"{file.name} {damage}") for file in self._files))

    def _opened(self, file: Path) -> Any:
        name = self.source.name
        fault = f"{name}: {file.name} cannot be read as an Arrow stream"
        return _opened(file, "open_stream", f"{name} is a Hugging Face dataset on disk", fault)


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


def _numbered(source: Source, parts: Iterable[tuple[Iterable[Any], str]]) -> Iterator[Line | Reject]:
    """The rows of parts, numbered through; each part is its record batches, and what to say where they are damaged."""
    number = 0
    for batches, damage in parts:
        import pyarrow

        try:
            for batch in batches:
                for data in plain_rows(batch):
                    number += 1
                    yield TableRow(number, data)
        except (OSError, pyarrow.ArrowException) as error:
            yield Reject(source.name, number + 1, f"{damage} ({error})", "")


def _opened(file: Path, opening: str, what: str, fault: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise InputError(f"{what}, which needs pyarrow: {install_command('inputs')}") from None
    try:
        return getattr(pyarrow.ipc, opening)(pyarrow.memory_map(str(file)))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{fault}: {error}") from None


def is_workbook(source: Source) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


class WorkbookTable:
    """Rows of a sheet; its first row that is not empty names the columns.

    Numbers without a fraction are whole numbers, times are ISO 8601 texts, and a formula gives the value that was
    saved with it. Rows are read one at a time; ``number`` is the row of the sheet.

    Raises:
        InputError: openpyxl is not installed, or the file cannot be read.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.format = "Excel sheet"

    def columns(self) -> tuple[str, ...]:
        """The cells of the header."""
        for _, cells in self._rows():
            return self._header(cells)
        raise InputError(f"{self.source.name} has no row: the first row of a sheet names its columns")

    def rows(self) -> Iterator[Line | Reject]:
        """Every row below the header that is not empty."""
        header: tuple[str, ...] | None = None
        for number, cells in self._rows():
            if header is None:
                header = self._header(cells)
                continue
            beyond = [cell for cell in cells[len(header) :] if cell not in (None, "")]
            values = [*cells[: len(header)], *([""] * (len(header) - len(cells)))]
            data = {name: "" if value is None else value for name, value in zip(header, values, strict=True) if name}
            raw = orjson.dumps(data, default=str)
            if beyond:
                yield self.source.reject(number, f"the row has {len(beyond)} more cells than the header", raw)
            else:
                yield Line(number, raw, data)

    def _header(self, cells: list[Any]) -> tuple[str, ...]:
        names = tuple("" if cell is None else str(cell).strip() for cell in cells)
        repeated = sorted({name for name in names if name and names.count(name) > 1})
        if repeated:
            raise InputError(
                f"{self.source.name} has several columns named {', '.join(map(repr, repeated))}: rename them"
            )
        return names

    def _rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Rows that are not empty, with their numbers, of the first sheet that has any."""
        try:
            import openpyxl
        except ImportError:
            raise InputError(
                f"{self.source.name} is an Excel workbook: {install_command('inputs')}, or save the sheet as CSV"
            ) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on styles and validations, which are not read
                book = openpyxl.load_workbook(self.source.path, read_only=True, data_only=True)
                with closing(book):
                    for sheet in book.worksheets:
                        empty = True
                        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                            if any(cell not in (None, "") for cell in row):
                                empty = False
                                yield number, _trimmed([_plain(cell) for cell in row])
                        if not empty:
                            return
        except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
            raise InputError(f"{self.source.name} cannot be read as an Excel workbook: {error}") from None


def _trimmed(cells: list[Any]) -> list[Any]:
    """Without empty cells at the end."""
    while cells and cells[-1] in (None, ""):
        cells.pop()
    return cells


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return cell
