"""Tables of typed cells: Parquet by DuckDB, Arrow files and Hugging Face datasets by pyarrow.

A dataset is read as the documentation of ``datasets`` 4 and 5 describes ("Save and export", ``Dataset.save_to_disk``):
a folder with ``state.json``, which lists the Arrow streams, and ``dataset_info.json``; several splits are folders
beside a ``dataset_dict.json``. Packages are imported when a table is read.
"""

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.reading.containers.lines import Line, Reject, Source, TableRow
from metajudge.reading.containers.tables import Table

_FETCHED: Final = 256
"""Rows of Parquet that are Python objects together."""
_MEMORY: Final = "4GB"
"""What DuckDB may hold of one file: a row group of large texts takes two."""
ROWS: Final = 512
"""Rows of a record batch that are Python objects together."""
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
        case float() | decimal.Decimal() if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        case list() | tuple():
            return [plain(inner) for inner in value]
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case datetime.timedelta() | uuid.UUID():
            return str(value)
    return value


_EXTENSIONS: Final = ("autoinstall_known_extensions", "autoload_known_extensions")
_QUERY: Final = "SELECT * FROM read_parquet(?, hive_partitioning = false)"


def parquet_table(source: Source, only: str = "*") -> Table:
    """Rows of a Parquet file, perhaps of one column alone; memory is bounded by a few of its row groups."""

    def columns() -> tuple[str, ...]:
        with parquet_connection(source) as connection:
            return tuple(name for name, *_ in connection.description)

    def rows() -> Iterator[Line | Reject]:
        import duckdb

        number = 0
        with parquet_connection(source) as connection:
            try:
                result = connection.execute(_QUERY.replace("*", only, 1), [_pattern(source)])
                names = [name for name, *_ in result.description]
                batches = iter(lambda: result.fetchmany(_FETCHED), [])
                for number, cells in enumerate(chain.from_iterable(batches), start=1):
                    yield TableRow(number, dict(zip(names, map(plain, cells), strict=True)))
            except (duckdb.Error, UnicodeDecodeError) as error:
                what = "the file is damaged"
                if isinstance(error, duckdb.OutOfMemoryException):
                    what = f"a row group takes more than {_MEMORY} of memory: write the file with smaller ones"
                yield source.reject(number + 1, f"{what}; nothing after this row can be read ({_first_line(error)})")

    return Table("Parquet", source, rows, columns)


def _pattern(source: Source) -> str:
    """A path as DuckDB takes it: what looks like a pattern is a name here."""
    return re.sub(r"([*?\[])", r"[\1]", str(source.path))


def parquet_connection(source: Source) -> Any:
    """A connection that can read this Parquet file and no other, whatever stands in it, and has its first columns."""
    import duckdb

    # One thread keeps the order of the rows with one row group in flight.
    settings: dict[str, Any] = {"threads": 1, "memory_limit": _MEMORY}
    connection = duckdb.connect(":memory:", config={**settings, **dict.fromkeys(_EXTENSIONS, False)})
    try:
        connection.execute("SET allowed_paths = $1", [[_pattern(source), str(source.path)]])
        connection.execute("SET enable_external_access = false")
        connection.execute(_QUERY + " LIMIT 0", [_pattern(source)])
    except duckdb.Error as error:
        connection.close()
        raise InputError(f"{source.name} cannot be read as Parquet: {_first_line(error)}") from None
    return connection


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def arrow_table(source: Source, only: str = "") -> Table:
    """Rows of an Arrow file, perhaps of one column alone; batches are mapped into memory one at a time."""
    return _mapped_into_memory("Arrow", source, [source.path], only)


def dataset_folders(path: Path) -> list[Path]:
    """The folders of the splits of a saved dataset; empty where the folder is none."""
    if (path / "state.json").is_file():
        return [path]
    if not (path / "dataset_dict.json").is_file():
        return []
    return [split for split in sorted(path.iterdir()) if (split / "state.json").is_file()]


def dataset_table(source: Source) -> Table:
    """Rows of one split of a Hugging Face dataset, in order; Arrow batches are mapped into memory one at a time."""
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
    return _mapped_into_memory("Hugging Face dataset on disk", source, files)


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
                    part = batch.select([only] if only else found.schema.names)
                    for data in _plain_rows(part):
                        number += 1
                        yield TableRow(number, data)
            except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
                yield source.reject(number + 1, f"{file.name} is damaged; the rest of it cannot be read ({error})")

    return Table(form, source, rows, lambda: tuple(opened(files[0]).schema.names))


def _plain_rows(batch: Any) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, a few at a time; cells are as JSON has them."""
    names = batch.schema.names
    for start in range(0, batch.num_rows, ROWS):
        columns = [map(plain, column.to_pylist()) for column in batch.slice(start, ROWS).columns]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))
