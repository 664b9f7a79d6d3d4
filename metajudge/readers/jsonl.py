"""metajudge's own format: one judgment a line (``metajudge schema judgment`` prints its JSON Schema)."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from metajudge.errors import InputError
from metajudge.files.replacing import replacing
from metajudge.readers.lines import Line, RawLine, Reject, Source, is_plain, open_bytes, parsed_line
from metajudge.readers.reader import UNREADABLE, FoundJudgment, each, why
from metajudge.readers.tables import JsonLineTable, Table
from metajudge.types import Category, Item, Judgment


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
        if isinstance(self._table, JsonLineTable):
            return map(self.parser(), self.raw_lines())
        return self._read_table()

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """The lines of the file, not parsed yet; of a table of lines alone."""
        assert isinstance(self._table, JsonLineTable)
        return self._table.raw_lines()

    def parser(self) -> Callable[[RawLine | Reject], FoundJudgment | Reject]:
        """A function that makes a checked judgment of a line; lines of one item share it, so give them in order."""
        parse, source = SharedItems().judgment, self.source

        def parsed(line: RawLine | Reject) -> FoundJudgment | Reject:
            row = parsed_line(source, line, nan_is_null=True) if isinstance(line, RawLine) else line
            if isinstance(row, Reject):
                return row
            try:
                return FoundJudgment(parse(row.data), source.name, row.number)
            except UNREADABLE as error:
                return source.reject(row.number, why(error), row.raw)

        return parsed

    def _read_table(self) -> Iterator[FoundJudgment | Reject]:
        parse = SharedItems().judgment
        for found in each(self.source, self.rows(), lambda line: parse(line.data)):
            yield found if isinstance(found, Reject) else FoundJudgment(found[1], self.source.name, found[0])


_USUAL = {"id", "item", "judge", "verdict", "rationale", "order"}
"""Fields of most judgments."""

MOST_CHECKED = 1_000
"""Different verdicts and orders that are remembered for responses of the same names."""


class SharedItems:
    """Parses judgments; those of one item that follow each other share one object, so that it is checked once.

    Items are compared with their types: values such as ``1`` and ``true`` are different, and so are responses in
    another order.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._plain = False
        self._item: Item | None = None
        self._by_names: dict[tuple[str, ...], dict[tuple[str, tuple[str, ...]], Judgment]] = {}
        self._checked: dict[tuple[str, tuple[str, ...]], Judgment] | None = None

    def judgment(self, data: dict[str, Any]) -> Judgment:
        """A checked judgment.

        Raises:
            ValidationError: the data is no judgment.
        """
        item = data.get("item")
        if not isinstance(item, dict):
            return Judgment.model_validate(data)
        if self._is_known(item):
            known = self._like_a_checked_one(data)
            if known is not None:
                return known
            judgment = Judgment.model_validate({**data, "item": self._item})
        else:
            judgment = Judgment.model_validate(data)
            self._data, self._plain, self._item = item, _is_plain(item), judgment.item
            names = tuple(judgment.item.responses)
            self._checked = self._by_names.setdefault(names, {}) if _has_no_rules(judgment.item) else None
        checked = self._checked
        if checked is not None and len(checked) < MOST_CHECKED and data.keys() == _USUAL and judgment.verdict:
            checked[data["verdict"], tuple(data["order"])] = judgment
        return judgment

    def _like_a_checked_one(self, data: dict[str, Any]) -> Judgment | None:
        """The judgment, where one with the same verdict and order on such responses was checked, and the rest is text.

        What can be wrong about a record with the usual fields is its verdict and order, which depend on the names of
        the responses, and an id or a judge without a letter.
        """
        if self._checked is None or data.keys() != _USUAL:
            return None
        verdict, order = data["verdict"], data["order"]
        name, judge, rationale = data["id"], data["judge"], data["rationale"]
        if not (type(verdict) is type(name) is type(judge) is type(rationale) is str and type(order) is list):
            return None
        if not ("!" <= name[:1] <= "~" and "!" <= judge[:1] <= "~"):
            return None
        try:
            like = self._checked.get((verdict, tuple(order)))
        except TypeError:  # something in the order is no text
            return None
        if like is None:
            return None
        made = like.__copy__()
        made.__dict__.clear()
        made.__dict__.update(
            version=1,
            id=name,
            item=self._item,
            judge=judge,
            verdict=like.verdict,
            no_verdict=None,
            rationale=rationale,
            order=like.order,
            labels=None,
            instruction=None,
            meta={},
        )
        return made

    def _is_known(self, item: dict[str, Any]) -> bool:
        known = self._data
        if self._item is None or item != known:
            return False
        if self._plain:  # equal texts have equal types
            return list(item["responses"]) == list(known["responses"])
        return orjson.dumps(item) == orjson.dumps(known)


def _has_no_rules(item: Item) -> bool:
    """Whether a verdict on an item depends on the names of its responses alone."""
    return not isinstance(item.label, Category) and not item.labels and not item.scale


def _is_plain(item: dict[str, Any]) -> bool:
    """Whether the fields of an item, responses apart, are texts or null; keys and values of those are texts anyway."""
    return all(value is None or type(value) is str for name, value in item.items() if name != "responses")


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
