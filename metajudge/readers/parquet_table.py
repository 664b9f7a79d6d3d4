"""Parquet files, row group by row group, read by DuckDB."""

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Iterator
from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Reject, Source

_BATCH = 256


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
                while batch := result.fetchmany(_BATCH):
                    for cells in batch:
                        number += 1
                        yield TableRow(number, dict(zip(names, map(plain, cells), strict=True)))
            except duckdb.Error as error:
                reason = f"the file is damaged; nothing after this row can be read ({_first_line(error)})"
                yield Reject(self.source.name, number + 1, reason, "")

    @property
    def _path(self) -> str:
        # A path may be a pattern for DuckDB; here it is a name.
        return re.sub(r"([*?\[])", r"[\1]", str(self.source.path))

    def _opened(self) -> Any:
        import duckdb

        # One thread keeps the order of the rows with one row group in flight.
        settings: dict[str, Any] = {
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(":memory:", config=settings)
        try:
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
