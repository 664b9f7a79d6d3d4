"""The elements of one JSON list, one at a time: a file that is a list need not fit into memory."""

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from metajudge.readers.lines import EXCERPT, MAX_LINE_BYTES, BadLine, Line, Reject, Source, open_bytes, parse_object

_CHUNK = 1 << 20
_LONGEST_STRING = 4 * MAX_LINE_BYTES
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{},]', re.S)
"""A whole string, the opening quote of one that continues past the buffer, or one sign of structure."""

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def read_elements(
    source: Source, *, nan_is_null: bool = False, infinite_is_text: bool = False
) -> Iterator[Line | Reject]:
    """Parses the objects of a file that contains one JSON list; ``number`` is 1 for the first one.

    An element that is no object, or a damaged one, is a :class:`Reject`; the others are read as long as brackets and
    quotes balance. Memory: one element.
    """
    with open_bytes(source) as stream:
        number = 0
        try:
            for raw in _elements(stream):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    reason = f"the entry is longer than {MAX_LINE_BYTES // 2**20} MiB"
                    yield source.reject(number, reason, raw[:EXCERPT])
                    continue
                try:
                    data = parse_object(raw, nan_is_null=nan_is_null, infinite_is_text=infinite_is_text)
                except BadLine as bad:
                    yield source.reject(number, str(bad).replace("the line ", "the entry "), raw)
                else:
                    yield Line(number, raw, data)
        except (EOFError, OSError, zlib.error) as error:
            reason = f"the file is damaged or ends early; nothing after this entry can be read ({error})"
            yield Reject(source.name, number + 1, reason, "")


def _elements(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of each element of the outermost list.

    Raises:
        EOFError: the list does not end, or text follows it.
    """
    held = stream.read(_CHUNK).removeprefix(_BOM).lstrip(_SPACE)
    if not held.startswith(b"["):
        raise EOFError("no list")
    depth, begin, at, oversize = 1, 1, 1, False
    while True:
        found = _TOKEN.search(held, at)
        if found is None or found[0] == b'"':
            at = len(held) if found is None else found.start()
            more = stream.read(_CHUNK)
            if len(held) - at > _LONGEST_STRING:
                raise EOFError("a text in quotes does not end")
            if not more:
                raise EOFError("the list does not end")
            held, begin, at, oversize = _joined(held, begin, at, oversize, more)
            continue
        at, sign = found.end(), found[0]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
        if (sign == b"," and depth == 1) or depth == 0:
            piece = held[begin : found.start()].strip(_SPACE)
            begin = at
            if piece or sign == b",":
                yield piece if not oversize else piece + b" " * (MAX_LINE_BYTES + 1 - len(piece))
            oversize = False
        if depth == 0:
            if held[at:].strip(_SPACE) or stream.read(_CHUNK).strip(_SPACE):
                raise EOFError("text follows the list")
            return


def _joined(held: bytes, begin: int, at: int, oversize: bool, more: bytes) -> tuple[bytes, int, int, bool]:
    """The unread part with more behind it; of an element that is too long only the place is kept."""
    rest = held[begin:]
    if len(rest) > MAX_LINE_BYTES:
        # Kept is the beginning for the report, and what the search has yet to look at (a string may stand open).
        head = rest[:EXCERPT]
        return head + held[at:] + more, 0, len(head), True
    return rest + more, 0, at - begin, oversize
