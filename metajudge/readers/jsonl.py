"""metajudge's own format: one judgment a line (``metajudge schema judgment`` prints its JSON Schema)."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from json import JSONDecoder
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast
from uuid import uuid4

import orjson
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.replacing import replacing
from metajudge.readers.lines import (
    BadLine,
    Line,
    RawLine,
    Reject,
    Source,
    is_plain,
    open_bytes,
    parse_object,
    parsed_line,
)
from metajudge.readers.reader import UNREADABLE, FoundJudgment, each, why
from metajudge.readers.tables import JsonLineTable, Table
from metajudge.types import AnyVerdict, Category, Item, Judgment


class JudgmentLines:
    """Reads our own judgment records: a file of lines, or another table whose rows are such records."""

    format = "metajudge JSONL"

    def __init__(self, source: Source, table: Table | None = None) -> None:
        self.source = source
        self._table = table or JsonLineTable(source)

    @staticmethod
    def recognises(record: dict[str, Any]) -> bool:
        item = record.get("item")
        whole = isinstance(item, dict) or (isinstance(item, str) and item.lstrip().startswith("{"))
        return whole and ("judge" in record or "verdict" in record)

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
        return self._read_lines() if isinstance(self._table, JsonLineTable) else self._read_table()

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """The lines of the file, not parsed yet; of a table of lines alone."""
        assert isinstance(self._table, JsonLineTable)
        return self._table.raw_lines()

    def parser(self) -> Callable[[RawLine], Judgment | Reject]:
        """A function that makes a checked judgment of a line; lines of one item share it, so give them in order."""
        items, source = SharedItems(), self.source
        usual, around_the_item, parse, note = items.usual, items.around_the_item, items.judgment, items.note

        def parsed(line: RawLine) -> Judgment | Reject:
            raw = line.raw
            known = usual(raw)
            if known is not None:
                return known
            data = around_the_item(raw)
            if data is None:
                row = parsed_line(source, line, nan_is_null=True)
                if isinstance(row, Reject):
                    return row
                data = row.data
            try:
                judgment = parse(data)
            except UNREADABLE as error:
                return source.reject(line.number, why(error), raw)
            note(raw)
            return judgment

        return parsed

    def _read_lines(self) -> Iterator[FoundJudgment | Reject]:
        parse, name = self.parser(), self.source.name
        for line in self.raw_lines():
            if isinstance(line, Reject):
                yield line
                continue
            found = parse(line)
            yield found if isinstance(found, Reject) else FoundJudgment(found, name, line.number)

    def _read_table(self) -> Iterator[FoundJudgment | Reject]:
        parse = SharedItems().judgment
        for found in each(self.source, self.rows(), lambda line: parse(line.data)):
            yield found if isinstance(found, Reject) else FoundJudgment(found[1], self.source.name, found[0])


_USUAL = {"id", "item", "judge", "verdict", "rationale", "order"}
"""Fields of most judgments."""
_WITHOUT_ORDER = _USUAL - {"order"}
"""Those of judgments of a single response, mostly."""

_PLACE = f"item {uuid4().hex}"
_KEY = b'"item":'
_IN_ITS_PLACE = _KEY + orjson.dumps(_PLACE)
_ALIKE = 64
"""Bytes that the items of two lines must share before it is worth finding out where the first one ends."""
_SCANNER = JSONDecoder()
_NEW, _SET = object.__new__, object.__setattr__

MOST_CHECKED = 1_000
"""Different verdicts and orders that are remembered for responses of the same names, and different sets of names."""


class _Checked(NamedTuple):
    """The verdict and the order of a judgment that was checked."""

    verdict: AnyVerdict | None
    order: tuple[str, ...]


class SharedItems:
    """Parses judgments; those of one item that follow each other share one object, so that it is checked once.

    Items are compared with their types: values such as ``1`` and ``true`` are different, and so are responses in
    another order.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._plain = False
        self._item: Item | None = None
        self._by_rules: dict[tuple[Any, ...], dict[_Said, _Checked]] = {}
        self._checked: dict[_Said, _Checked] | None = None
        self._taken_now = False
        self._begun: bytes | None = None
        self._bytes: bytes | None = None
        self._behind = b""

    def usual(self, raw: bytes) -> Judgment | None:
        """The judgment of a line that has the last item in the same bytes and is like one that was checked.

        What the other methods do for such a line one after the other, in one step: nearly all lines are such lines.

        Returns:
            None where they are to be asked.
        """
        at = raw.find(_KEY)
        if self._begun is not None and raw.startswith(self._begun[:_ALIKE], at):
            self._learn_bytes(self._begun)
        known = self._bytes
        if known is None or self._checked is None or not raw.startswith(known, at):
            return None
        text = b"".join((raw[:at], _IN_ITS_PLACE, raw[at + len(known) :]))
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        # As many marks as keys: no key comes twice. Nor is one inside a value, as all values are looked at.
        if type(data) is not dict or len(data) != text.count(b'":') or data.get("item") != _PLACE:
            return None
        said = _said(data)
        return None if said is None else self._like_a_checked_one(data, said)

    def around_the_item(self, raw: bytes) -> dict[str, Any] | None:
        """The object of a line that has the item of the lines before in the same bytes: only the rest is parsed.

        The bytes are replaced by a text that no input has. Where that text is then the value of ``item``, the line is
        what it would be with the item in its place.

        Returns:
            None where the line is to be parsed as a whole.
        """
        at = raw.find(_KEY)
        if self._bytes is None or not raw.startswith(self._bytes, at):
            return None
        try:
            data = parse_object(b"".join((raw[:at], _IN_ITS_PLACE, raw[at + len(self._bytes) :])), nan_is_null=True)
        except BadLine:  # which the whole line explains better
            return None
        if data.get("item") != _PLACE:
            return None
        data["item"] = self._data
        return data

    def note(self, raw: bytes) -> None:
        """Takes note of a line that was read, where its item is a new one."""
        if self._taken_now:
            self._taken_now = False
            at = raw.find(_KEY)
            self._begun = None if at < 0 else raw[at:]

    def _learn_bytes(self, text: bytes) -> None:
        """Learns the bytes of the item from the line that brought it, once another line goes on in the same way.

        Args:
            text: the line from the key of the item on.
        """
        self._begun = None
        end = self._end_of_item(text[len(_KEY) :])
        if end > 0:
            end += len(_KEY)
            self._bytes, self._behind = text[:end], text[end : end + len(_KEY)]

    def _end_of_item(self, text: bytes) -> int:
        """Where the item ends that a text begins with; 0 where the text does not begin with it.

        Tried first is the place before the bytes that stood behind the last item: mostly these are the same.
        """
        end = text.find(self._behind) if self._behind else 0
        with suppress(ValueError):
            if end > 0 and self._is_known(orjson.loads(text[:end])):
                return end
        with suppress(ValueError):
            said = text.decode()
            item, end = _SCANNER.raw_decode(said, len(said) - len(said.lstrip()))
            if self._is_known(item):
                return len(said[:end].encode())
        return 0

    def judgment(self, data: dict[str, Any]) -> Judgment:
        """A checked judgment.

        Raises:
            ValidationError: the data is no judgment.
        """
        item = data.get("item")
        if not isinstance(item, dict) or not self._takes(item):
            return Judgment.model_validate(data)
        said = None if self._checked is None else _said(data)
        known = None if said is None else self._like_a_checked_one(data, said)
        if known is not None:
            return known
        judgment = Judgment.model_validate({**data, "item": self._item})
        checked = None if judgment.verdict is None else self._checked
        if checked is not None and said is not None and len(checked) < MOST_CHECKED:
            checked[said] = _Checked(judgment.verdict, judgment.order)
        return judgment

    def _takes(self, item: dict[str, Any]) -> bool:
        """Makes an item the one that is shared, if it is not already; False where it cannot be read."""
        if self._is_known(item):
            return True
        try:
            read = Item.model_validate(item)
        except ValidationError:  # which is explained best as a part of the judgment
            return False
        self._data, self._plain, self._item = item, _is_plain(item), read
        self._taken_now, self._begun, self._bytes, self._checked = True, None, None, None
        if _has_no_other_rules(read):
            if len(self._by_rules) >= MOST_CHECKED:
                self._by_rules.clear()
            self._checked = self._by_rules.setdefault((*read.responses, read.scale), {})
        return True

    def _like_a_checked_one(self, data: dict[str, Any], said: "_Said") -> Judgment | None:
        """The judgment, where one with the same verdict and order on such responses was checked, and the rest is text.

        What can be wrong about a record with the usual fields is its verdict and order, which depend on the names of
        the responses and on the scale, and an id or a judge without a letter.
        """
        try:
            like = None if self._checked is None else self._checked.get(said)
        except TypeError:  # something in the order is no text
            return None
        name, judge, rationale = data["id"], data["judge"], data["rationale"]
        if like is None or not type(name) is type(judge) is type(rationale) is str:
            return None
        if not ("!" <= name < "\x7f" and "!" <= judge < "\x7f"):  # which holds where the first letter is in ASCII
            return None
        values = {
            "version": 1,
            "id": name,
            "item": self._item,
            "judge": judge,
            "verdict": like.verdict,
            "no_verdict": None,
            "rationale": rationale,
            "order": like.order,
            "labels": None,
            "instruction": None,
            "meta": {},
        }
        made = _NEW(Judgment)
        _SET(made, "__dict__", values)
        _SET(made, "__pydantic_fields_set__", set(data))
        _SET(made, "__pydantic_extra__", None)
        _SET(made, "__pydantic_private__", None)
        return made

    def _is_known(self, item: dict[str, Any]) -> bool:
        known = self._data
        if self._item is None:
            return False
        if item is known:
            return True
        if item != known:
            return False
        if self._plain:  # equal texts have equal types
            return list(item["responses"]) == list(known["responses"])
        return orjson.dumps(item) == orjson.dumps(known)


_Said: TypeAlias = tuple[type, str | bytes | int, tuple[str, ...] | None]
"""A verdict and an order as they are written, by which they are looked up."""


def _said(data: dict[str, Any]) -> _Said | None:
    """The verdict and the order of a record with the usual fields; None for any other, and where one is neither."""
    usual = data.keys() == _USUAL
    if not usual and data.keys() != _WITHOUT_ORDER:
        return None
    verdict, order = data["verdict"], data["order"] if usual else None
    kind = type(verdict)
    if kind is list:
        verdict = orjson.dumps(verdict)  # a ranking
    elif kind is float:
        verdict = repr(verdict)  # which tells 0.0 from -0.0
    elif kind is not str and kind is not int:
        return None
    if not usual:
        return kind, verdict, None
    return (kind, verdict, tuple(order)) if type(order) is list else None


def _has_no_other_rules(item: Item) -> bool:
    """Whether a verdict on an item depends on its scale and the names of its responses alone."""
    return not isinstance(item.label, Category) and not item.labels


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
