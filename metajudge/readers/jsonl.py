"""metajudge's own format: one judgment a line (``metajudge schema judgment`` prints its JSON Schema)."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from metajudge.errors import InputError
from metajudge.files.replacing import replacing
from metajudge.readers.lines import Line, Reject, Source, is_plain, open_bytes
from metajudge.readers.reader import FoundJudgment, each
from metajudge.readers.tables import JsonLineTable, Table
from metajudge.types import Item, Judgment


class JudgmentLines:
    """Reads our own judgment records: a file of lines, or another table whose rows are such records."""

    format = "metajudge JSONL"

    def __init__(self, source: Source, table: Table | None = None) -> None:
        self.source = source
        self._table = table or JsonLineTable(source)

    @staticmethod
    def recognises(record: dict[str, Any]) -> bool:
        return "item" in record and ("judge" in record or "verdict" in record)

    @property
    def plain_file(self) -> Path | None:
        """The file, where it is uncompressed lines and can be read in parts."""
        lines = isinstance(self._table, JsonLineTable) and is_plain(self.source)
        return self.source.path if lines else None

    def count_lines(self) -> int | None:
        """The lines of the file, without parsing them; None where it is a table of another kind, or damaged."""
        if not isinstance(self._table, JsonLineTable):
            return None
        try:
            with open_bytes(self.source) as stream:
                return sum(piece.count(b"\n") for piece in iter(lambda: stream.read(1 << 20), b""))
        except (EOFError, OSError, zlib.error):
            return None

    def rows(self) -> Iterator[Line | Reject]:
        """The records as they stand in the file."""
        return self._table.rows()

    def read(self) -> Iterator[FoundJudgment | Reject]:
        parse = _SharedItems().judgment
        for found in each(self.source, self.rows(), lambda line: parse(line.data)):
            yield found if isinstance(found, Reject) else FoundJudgment(found[1], self.source.name, found[0])


class _SharedItems:
    """Parses judgments; those of one item that follow each other share one object, so that it is checked once.

    Items are compared as bytes: equal values of different types, such as ``1`` and ``true``, are different items, and
    so are responses in another order.
    """

    def __init__(self) -> None:
        self._raw = b""
        self._item: Item | None = None

    def judgment(self, data: dict[str, Any]) -> Judgment:
        """A checked judgment.

        Raises:
            ValidationError: the data is no judgment.
        """
        item = data.get("item")
        raw = orjson.dumps(item) if isinstance(item, dict) else b""
        if raw and raw == self._raw:
            return Judgment.model_validate({**data, "item": self._item})
        judgment = Judgment.model_validate(data)
        self._raw, self._item = raw, judgment.item
        return judgment


def write_jsonl(path: Path | str, judgments: Iterable[Judgment]) -> int:
    """Writes judgments, one a line, so that reading them back gives equal records.

    The file appears complete or not at all: it is written beside its place and moved there at the end. Fields at
    their default are left out.

    Args:
        path: where to; compressed where the name ends in ``.gz``.
        judgments: any iterable; it is consumed one by one.

    Returns:
        The number of judgments written.

    Raises:
        InputError: the file cannot be written, or a judgment contains text or ``meta`` that JSON cannot.
    """
    target = Path(path)
    try:
        with replacing(target) as part, part.open("wb") as raw:
            count = _write(raw, judgments, packed=target.suffix == ".gz")
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    return count


def _write(raw: BinaryIO, judgments: Iterable[Judgment], *, packed: bool) -> int:
    count = 0
    # No time stamp and no file name inside: the same judgments give the same bytes.
    stream = cast("BinaryIO", gzip.GzipFile("", "wb", 6, raw, mtime=0)) if packed else raw
    for judgment in judgments:
        stream.write(to_line(judgment))
        count += 1
    if packed:
        stream.close()
    return count


def to_line(judgment: Judgment) -> bytes:
    """One judgment as a JSON line, with its version, without fields at their default.

    Raises:
        InputError: the judgment contains something that JSON cannot.
    """
    try:
        data = {"version": judgment.version, **judgment.model_dump(mode="json", exclude_defaults=True)}
        return orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError) as error:
        raise InputError(f"judgment {judgment.id!r} cannot be written as JSON: {error}") from error
