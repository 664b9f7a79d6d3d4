"""Lines of a JSONL file, read one at a time with bounded memory, each parsed or rejected."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

import orjson

from metajudge.errors import InputError
from metajudge.files.secrets import without_secrets
from metajudge.reading.containers.unpacking import DAMAGE, older_encoding, opened

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is rejected without being held in memory."""
MAX_DEPTH = 100
"""Objects and lists nested deeper than this are rejected."""
EXCERPT = 1_000
"""Characters kept of a line that is too long to be held."""
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Reject:
    """A piece of input that could not be read as a judgment, and why.

    Attributes:
        file: the path as the user gave it (or a file in the folder given).
        line: 1 for the first line; for a format that is one JSON list, 1 for the first entry.
        reason: what is wrong, in terms of the file's own fields.
        text: the line as written in the file, or its beginning where it is longer than :data:`MAX_LINE_BYTES`; bytes
            that are not UTF-8 are replaced. What looks like a key or a password is hidden here and in the reason.
    """

    file: str
    line: int
    reason: str
    text: str

    def __post_init__(self) -> None:
        for name in ("reason", "text"):
            object.__setattr__(self, name, without_secrets(getattr(self, name)))

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Line:
    """One parsed line: its number, its bytes and the object in it."""

    number: int
    raw: bytes
    data: dict[str, Any]


class TableRow(Line):
    """A row of a table of typed cells. ``raw`` is the row as one JSON line, made only where it is reported."""

    __slots__ = ()

    def __init__(self, number: int, data: dict[str, Any]) -> None:
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "data", data)

    @property
    def raw(self) -> bytes:
        return orjson.dumps(self.data, option=orjson.OPT_NON_STR_KEYS, default=str)


class RunRow(TableRow):
    """A part of a record, which is a run that is made when it is read; of some fields, the first bytes are reported."""

    __slots__ = ("made", "most")
    made: Callable[[], Any]
    most: int

    def __init__(self, number: int, made: Callable[[], Any], shown: Any = None, most: int = 0) -> None:
        super().__init__(number, shown)
        object.__setattr__(self, "made", made)
        object.__setattr__(self, "most", most)

    @property
    def raw(self) -> bytes:
        return super().raw[: self.most]


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    Attributes:
        path: where it is.
        name: what to call it in messages.
        notes: sentences on how it is read, in the order in which they were found.
    """

    path: Path
    name: str
    notes: dict[str, None] = field(default_factory=dict, compare=False, repr=False)

    def tell(self, sentence: str) -> None:
        """Notes a sentence on how the file is read, once."""
        self.notes[sentence] = None

    def reject(self, line: int, reason: str, raw: bytes = b"") -> Reject:
        return Reject(self.name, line, reason, raw.decode("utf-8", "replace"))


class BadLine(Exception):  # noqa: N818 - a verdict on the input, turned into a Reject
    """Why a line contains no usable object; never leaves this package."""


class DamagedError(InputError):
    """A file that cannot be read to its end, or contains what is no text: no other reader will do better."""


@contextmanager
def undamaged(source: Source) -> Iterator[None]:
    """Raises DamagedError in place of what reading a damaged file raises."""
    try:
        yield
    except DAMAGE as error:
        raise DamagedError(f"{source.name} is damaged or ends early ({error}): get a whole copy of it") from None


def open_bytes(source: Source) -> BinaryIO:
    """Opens a file: unpacked where its first bytes say gzip or zstd, UTF-16 as UTF-8, and old line ends as today's.

    InputError: the file cannot be opened, or its first bytes show another kind of file.
    """
    return opened(source.path, source.name)


def head_of(source: Source, size: int) -> bytes:
    """The first bytes of a file, unpacked, without a mark of their order; errors as for :func:`open_bytes`."""
    with undamaged(source), open_bytes(source) as stream:
        return stream.read(size).removeprefix(BOM)


def is_plain(source: Source) -> bool:
    """Whether a place in what is read is a place in the file; errors as for :func:`open_bytes`."""
    with open_bytes(source) as stream:
        return isinstance(getattr(stream, "raw", None), io.FileIO)


def older_text(source: Source, raw: bytes) -> str | None:
    """A part of a file that is no UTF-8, as text in the encoding of the whole file, which is told.

    None where the part is UTF-8, or the file has no encoding in which it makes sense.
    """
    try:
        raw.decode()
    except UnicodeDecodeError:
        found = older_encoding(source.path, source.path.stat().st_mtime_ns)
        if found is not None:
            encoding, title, example = found
            source.tell(f"{source.name} is not UTF-8: it is read as {title} (for instance {example!r})")
            return raw.decode(encoding, "replace")
    return None


class RawLine(NamedTuple):
    """A line that is not parsed yet: its number, where it begins in the (unpacked) file, and its bytes."""

    number: int
    offset: int
    raw: bytes


def raw_lines(source: Source) -> Iterator[RawLine | Reject]:
    """The lines of a file without their ends; blank ones are skipped.

    A compressed file that ends early or is damaged yields what can be unpacked, then a Reject.
    """
    with open_bytes(source) as stream:
        number, offset = 0, 0
        while True:
            try:
                raw = stream.readline(MAX_LINE_BYTES + 1)
                begin, offset = offset, offset + len(raw)
                too_long = len(raw) > MAX_LINE_BYTES
                piece = raw
                while too_long and piece and not piece.endswith(b"\n"):
                    piece = stream.readline(1 << 20)
                    offset += len(piece)
            except DAMAGE as error:
                reason = f"the file is damaged or ends early; nothing after this line can be read ({error})"
                yield source.reject(number + 1, reason)
                return
            if not raw:
                return
            number += 1
            if too_long:
                yield source.reject(number, f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB", raw[:EXCERPT])
                continue
            if begin == 0:
                raw = raw.removeprefix(BOM)
            raw = raw.rstrip(b"\r\n")
            if raw and not raw.isspace():
                yield RawLine(number, begin, raw)


Constants: TypeAlias = Mapping[str, str | None]
"""What ``NaN``, ``Infinity`` and ``-Infinity`` are read as, which are no JSON; others than those named are faults."""
NO_CONSTANTS: Final[Constants] = {}
NAN_IS_NULL: Final[Constants] = {"NaN": None}
"""``NaN`` marks a missing cell of a table."""
OF_TABLES: Final[Constants] = {"NaN": None, "Infinity": "Infinity", "-Infinity": "-Infinity"}
"""An infinite number is its text, so that a score is a reject and not the whole line."""


def read_lines(source: Source, constants: Constants = NO_CONSTANTS) -> Iterator[Line | Reject]:
    """Parses a JSONL file line by line; bad lines are yielded as :class:`Reject`. See :func:`raw_lines`."""
    for line in raw_lines(source):
        yield line if isinstance(line, Reject) else parsed_line(source, line, constants)


def parsed_line(source: Source, line: RawLine, constants: Constants) -> Line | Reject:
    """The object of a line, or why there is none."""
    try:
        return Line(line.number, line.raw, parse_object(line.raw, constants))
    except BadLine as bad:
        text = older_text(source, line.raw)
        if text is not None:
            return parsed_line(source, line._replace(raw=text.encode()), constants)
        return source.reject(line.number, str(bad), line.raw)


_KINDS: Final = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}


def parse_object(raw: bytes, constants: Constants = NO_CONSTANTS) -> dict[str, Any]:
    """Parses one JSON object.

    A key given twice is an error. orjson keeps the last one silently, so the keys are counted against the raw
    bytes, which is cheap, and only a mismatch is looked at closely (a line that both repeats a key and writes
    another one with space before its colon can slip through). BadLine has the reason.
    """
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        data = _parse_carefully(raw, constants)
    if not isinstance(data, dict):
        raise BadLine(f"the line contains {_KINDS.get(type(data), 'null')}, not an object")
    keys, marks = _count_keys(data), raw.count(b'":')
    if marks != keys and marks - raw.count(b'\\":') != keys:
        _parse_carefully(raw, constants)
    return data


def _parse_carefully(raw: bytes, constants: Constants) -> Any:
    """Parses with the standard library, which can say what is wrong."""

    def constant(name: str) -> str | None:
        if name not in constants:
            raise BadLine(f"{name} is not a JSON number; leave the field out or give null")
        return constants[name]

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) < len(pairs):
            names = [name for name, _ in pairs]
            raise BadLine(f"the key {_short(next(one for one in names if names.count(one) > 1))} is given twice")
        return data

    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start} of the line") from None
    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
        json.dumps(data, allow_nan=False)
        require_characters(data)
    except json.JSONDecodeError as error:
        raise BadLine(_syntax(text, error)) from None
    except RecursionError:
        raise BadLine("nested too deeply") from None
    except ValueError:
        raise BadLine("contains a number that is too large") from None
    return data


def require_characters(data: Any) -> None:
    """Refuses texts that no UTF-8 file can contain: JSON can write half of a surrogate pair as an escape."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        place = ".".join(next(_broken(data))).encode(errors="replace").decode()
        where = f" in {place}" if place else ""
        raise BadLine(
            f"contains half of a surrogate pair (\\ud800 to \\udfff){where}, which is no character; write the text anew"
        ) from None


def _broken(data: Any) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each text with half of a surrogate pair."""
    if isinstance(data, str) and data != data.encode(errors="replace").decode():
        yield ()
    named = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in named:
        for inner in (key, value):
            yield from ((str(key), *rest) for rest in _broken(inner))


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    if not text.lstrip().startswith(("{", "[")):
        return f"not JSON: the line starts with {_short(text.strip())}"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "half a JSON object: the line ends before the object does (one object a line, not spread over lines)"
    if text[error.pos] == "\0":
        return f"contains a NUL byte, as damaged files do, at character {error.pos + 1}"
    return f"not JSON: {error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at character {error.pos + 1}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _count_keys(data: dict[str, Any]) -> int:
    """Keys of an object and of all within it, level by level."""
    # orjson makes exact types, and type() is half the price of isinstance() here.
    keys = len(data)
    level = [one for one in data.values() if type(one) is dict or type(one) is list]
    for _ in range(1, MAX_DEPTH):
        if not level:
            return keys
        within: list[Any] = []
        for value in level:
            if type(value) is dict:
                keys += len(value)
            for one in value.values() if type(value) is dict else value:
                if type(one) is dict or type(one) is list:
                    within.append(one)  # noqa: PERF401 - most values contain none
        level = within
    if level:
        raise BadLine(f"nested too deeply (more than {MAX_DEPTH} levels)")
    return keys
