"""CSV and TSV files with a header, row by row: plain or gzip, cells over several lines, texts of any length."""

import csv
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from metajudge.errors import InputError
from metajudge.readers.lines import EXCERPT, MAX_LINE_BYTES, Line, Reject, Source, open_bytes

SUFFIXES = (".csv", ".tsv")
_BOM = b"\xef\xbb\xbf"
_DELIMITERS = (",", "\t", ";", "|")


class CsvTable:
    """Rows of a CSV file (RFC 4180); the delimiter is a tab in ``.tsv`` files, else what mostly divides the header.

    A row with another number of cells than the header, with a quote in the wrong place or with bytes that are not
    UTF-8 is a :class:`Reject`. A quote that is never closed swallows what follows: it is reported where it opens.
    """

    format = "CSV"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        with open_bytes(self.source) as stream:
            return self._header(_Lines(stream))[1]

    def rows(self) -> Iterator[Line | Reject]:
        # The limit is the module's, for the whole process; it only ever grows here.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
        with open_bytes(self.source) as stream:
            lines = _Lines(stream)
            reader, header = self._header(lines)
            while True:
                lines.begin()
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield self._broken(lines, error)
                    continue
                except (EOFError, OSError, zlib.error) as error:
                    reason = f"the file is damaged or ends early; nothing after this line can be read ({error})"
                    yield Reject(self.source.name, lines.first, reason, "")
                    return
                if cells and any(cells):
                    yield self._row(lines, header, cells)

    def _header(self, lines: "_Lines") -> tuple[Iterator[list[str]], tuple[str, ...]]:
        name = self.source.name
        lines.begin()
        try:
            first = next(lines, "")
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{name} is a damaged gzip file: {error}") from error
        if not first.strip():
            raise InputError(f"{name} has no header: the first line of a CSV file names its columns")
        delimiter = "\t" if ".tsv" in self.source.path.suffixes else max(_DELIMITERS, key=first.count)
        reader = csv.reader(lines.from_(first), delimiter=delimiter, strict=True)
        try:
            header = tuple(cell.strip() for cell in next(reader))
        except csv.Error as error:
            raise InputError(f"{name}:1: the header cannot be read as CSV: {error}") from None
        repeated = sorted({cell for cell in header if header.count(cell) > 1})
        if repeated:
            raise InputError(f"{name} has several columns named {', '.join(map(repr, repeated))}: rename them")
        return reader, header

    def _row(self, lines: "_Lines", header: tuple[str, ...], cells: list[str]) -> Line | Reject:
        if lines.undecodable:
            return self.source.reject(lines.first, f"not UTF-8: {lines.undecodable}", lines.text)
        if len(cells) != len(header):
            reason = f"the row has {len(cells)} cells, the header {len(header)}"
            return self.source.reject(lines.first, reason, lines.text)
        return Line(lines.first, lines.text, dict(zip(header, cells, strict=True)))

    def _broken(self, lines: "_Lines", error: csv.Error) -> Reject:
        if "unexpected end of data" in str(error) or "field larger" in str(error):
            reason = "a quote opens here and is not closed: the rest of the file would be read as its text"
        else:
            reason = f"not CSV: {error}"
        return self.source.reject(lines.first, reason, lines.text[:EXCERPT])


class _Lines:
    """Decoded lines for the csv module, which remember what the current row is made of."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._number = 0
        self._pieces: list[bytes] = []
        self.first = 1
        self.undecodable = ""

    def begin(self) -> None:
        """A new row begins with the next line."""
        self._pieces.clear()
        self.first = self._number + 1
        self.undecodable = ""

    @property
    def text(self) -> bytes:
        """The row as written in the file."""
        return b"".join(self._pieces).rstrip(b"\r\n")

    def from_(self, line: str) -> Iterator[str]:
        yield line
        yield from self

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        raw = self._stream.readline(MAX_LINE_BYTES + 1)
        if not raw:
            raise StopIteration
        self._number += 1
        if self._number == 1:
            raw = raw.removeprefix(_BOM)
        if sum(map(len, self._pieces)) <= MAX_LINE_BYTES:
            self._pieces.append(raw)
        try:
            return raw.decode("utf-8").replace("\0", "")
        except UnicodeDecodeError as error:
            self.undecodable = f"byte 0x{raw[error.start]:02x}"
            return raw.decode("utf-8", "replace").replace("\0", "")


def looks_like_csv(path: Path, head: bytes) -> bool:
    """Whether a file is a table of this kind, by its name, or by a first line of several short names."""
    names = [suffix.lower() for suffix in path.suffixes]
    names = names[:-1] if names and names[-1] == ".gz" else names
    if head[:1] in (b"{", b"["):
        return False
    if names and names[-1] in SUFFIXES:
        return True
    if names and names[-1] in (".json", ".jsonl", ".ndjson"):
        return False
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=first.count)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(0 < len(cell) <= 40 for cell in cells)
