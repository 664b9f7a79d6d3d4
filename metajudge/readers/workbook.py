"""Excel workbooks (.xlsx): the rows of the first sheet that has a header and rows, read with openpyxl."""

import datetime
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.lines import Line, Reject, Source

_SHEETS: Final = "xl/workbook.xml"


def is_workbook(source: Source) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return _SHEETS in archive.namelist()
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
