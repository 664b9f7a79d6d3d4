"""metajudge's own format: one judgment a line (``metajudge schema judgment`` prints its JSON Schema)."""

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.replacing import replacing
from metajudge.reading.alike import Alike, retold
from metajudge.reading.containers.lines import NAN_IS_NULL, RawLine, Reject, Source, is_plain, parsed_line, raw_lines
from metajudge.reading.containers.tables import LINES, Table, json_lines
from metajudge.reading.conversations import apart
from metajudge.reading.reader import FoundJudgment, attempt, each
from metajudge.types import Category, Item, Judgment


class JudgmentLines:
    """Reads our own judgment records: a file of lines, or another table whose rows are such records."""

    format = "metajudge JSONL"

    def __init__(self, source: Source, table: Table | None = None) -> None:
        self.source = source
        self._table = table or json_lines(source, NAN_IS_NULL)

    @staticmethod
    def recognises(record: Mapping[str, Any]) -> bool:
        item = record.get("item")
        whole = isinstance(item, dict) or (isinstance(item, str) and item.lstrip().startswith("{"))
        return whole and ("judge" in record or "verdict" in record)

    @property
    def is_plain(self) -> bool:
        """Whether the file is uncompressed lines."""
        return self._table.format == LINES and is_plain(self.source)

    def read(self) -> Iterator[FoundJudgment | Reject]:
        parse, name = SharedItems().judgment, self.source.name
        return each(self.source, self._table.rows(), lambda row: FoundJudgment(parse(row.data), name, row.number))

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """The lines of the file, not parsed yet; of a table of lines alone."""
        return raw_lines(self.source)

    def parser(self) -> Callable[[RawLine], Judgment | Reject]:
        """A function that makes a checked judgment of a line; lines of one item share it, so give them in order."""
        parse, source = SharedItems().judgment, self.source

        def parsed(line: RawLine) -> Judgment | Reject:
            row = parsed_line(source, line, NAN_IS_NULL)
            return row if isinstance(row, Reject) else attempt(source, row, lambda one: parse(one.data))

        return parsed


_TEXTS: Final = ("id", "judge", "rationale")
_SAYS: Final = ("verdict", "order")
"""The fields of most judgments, beside the item."""
_USUAL: Final = frozenset(("item", *_TEXTS, *_SAYS))


class SharedItems:
    """Parses judgments; those of one item that follow each other share one object, so that it is checked once.

    Items are compared with their types: values such as ``1`` and ``true`` are different, and so are responses in
    another order.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._plain = False
        self._item: Item | None = None
        self._alike = Alike(_SAYS)

    def judgment(self, data: dict[str, Any]) -> Judgment:
        """A checked judgment, with the thoughts of models apart from its texts.

        Raises:
            ValidationError: the data is no judgment.
        """
        return apart(self._checked(data))

    def _checked(self, data: dict[str, Any]) -> Judgment:
        item = self._shared(data.get("item"))
        if item is None:
            return Judgment.model_validate(data)
        usual = data.keys() | {"order"} == _USUAL and all(type(data[name]) is str for name in _TEXTS)
        # What is wrong about a label that is a category depends on the category.
        said = self._alike.said(data, item) if usual and not isinstance(item.label, Category) else None
        known = self._alike.find(said)
        if known is not None and (made := retold(known, data["id"], item, data["judge"], data["rationale"])):
            return made
        judgment = Judgment.model_validate({**data, "item": item})
        if judgment.verdict is not None:
            self._alike.keep(said, judgment)
        return judgment

    def _shared(self, data: Any) -> Item | None:
        """The item that is shared, which is a new one where it differs from the last; None where it cannot be read."""
        if self._item is not None and self._is_known(data):
            return self._item
        try:
            read = Item.model_validate(data) if isinstance(data, dict) else None
        except ValidationError:  # which is explained best as a part of the judgment
            return None
        if read is not None:
            # Its fields are texts or null; keys and values of responses are texts anyway.
            self._plain = all(one is None or type(one) is str for name, one in data.items() if name != "responses")
            self._data, self._item = data, read
        return read

    def _is_known(self, item: Any) -> bool:
        known = self._data
        if item is known or item != known:
            return item is known
        if self._plain:  # equal texts have equal types
            return list(item["responses"]) == list(known["responses"])
        return orjson.dumps(item) == orjson.dumps(known)


def write_jsonl(path: Path | str, judgments: Iterable[Judgment]) -> int:
    """Writes judgments, one a line, so that reading them back gives equal records; returns their number.

    The file appears complete or not at all: it is written beside its place and moved there at the end. It is
    compressed where its name ends in ``.gz``. Fields at their default are left out.

    Raises:
        InputError: the file cannot be written, or a judgment contains text or ``meta`` that JSON cannot.
    """
    target, count = Path(path), 0
    try:
        with replacing(target) as part, part.open("wb") as raw:
            # No time stamp and no file name inside: the same judgments give the same bytes.
            packed = gzip.GzipFile("", "wb", 6, raw, mtime=0) if target.suffix == ".gz" else None
            with packed or nullcontext(raw) as stream:
                for judgment in judgments:
                    stream.write(to_line(judgment))
                    count += 1
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
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
