"""Bytes of files: unpacked, with line ends and characters as today's programs write them."""

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from metajudge.errors import InputError

DAMAGE = (EOFError, OSError, zlib.error)
"""What reading a compressed file raises where it is damaged or cut off."""

_BUFFER: Final = 1 << 18
_PACKED: Final = 1 << 10
"""Bytes of zstd that are unpacked together: they may become 32,000 times as many."""
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_FOREIGN: Final = {
    b"BZh": "compressed with bzip2; unpack it first (gzip and zstd are read as they are)",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it first (gzip and zstd are read as they are)",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"PAR1": "a Parquet file; export it as JSONL, one object a line",
}


def opened(path: Path, name: str) -> BinaryIO:
    """The bytes of a file; see :func:`~metajudge.reading.containers.lines.open_bytes`."""
    try:
        stream = cast("io.BufferedReader", path.open("rb", buffering=_BUFFER))
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    head = stream.peek(8)
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            stream.close()
            raise InputError(f"{name} is {what}")
    if head.startswith(b"\x1f\x8b"):
        unpacked = gzip.GzipFile(fileobj=stream)
        pieces = iter(lambda: unpacked.read1(_BUFFER), b"")
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        pieces = _unpacked(stream)
    elif _is_odd(head):
        pieces = iter(lambda: stream.read(_BUFFER), b"")
    else:
        return stream
    return io.BufferedReader(_Pieces(_as_utf8(pieces), stream), _BUFFER)


def unzstd(packed: bytes, most: int) -> bytes:
    """What is packed with zstd; OSError where it is damaged, or has more bytes than these."""
    stream = io.BytesIO(packed)
    data = io.BufferedReader(_Pieces(_unpacked(stream), stream), _BUFFER).read(most + 1)
    if len(data) > most:
        raise OSError("it is longer than it says")
    return data


class _Pieces(io.RawIOBase):
    """A file whose bytes are made a piece at a time; any fault in them is an OSError."""

    def __init__(self, pieces: Iterator[bytes], below: BinaryIO) -> None:
        self._pieces, self._below = pieces, below
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while not self._left:
                self._left = memoryview(next(self._pieces))
        except StopIteration:
            return 0
        except DAMAGE:
            raise
        except Exception as error:
            raise OSError(str(error)) from None
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count

    def close(self) -> None:
        self._below.close()
        super().close()


def _unpacked(stream: BinaryIO) -> Iterator[bytes]:
    import zstandard

    frame = None
    for packed in iter(lambda: stream.read(_PACKED), b""):
        left = packed
        while left:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(left)
            left = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends before the end-of-stream marker was reached")


def _is_odd(head: bytes) -> bool:
    """Whether a text is UTF-16, or has the line ends of old Macs."""
    return head.startswith(_UTF_16) or (b"\r" in head[:-1] and b"\n" not in head)


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = next(pieces, b"")
    rest: Iterable[bytes] = chain([first], pieces)
    if first.startswith(_UTF_16):
        decoder = codecs.getincrementaldecoder("utf-16")()
        rest = (decoder.decode(piece, final=not piece).encode() for piece in chain(rest, [b""]))
        rest = chain([first := next(rest)], rest)
    if _is_odd(first):
        rest = (piece.replace(b"\r", b"\n") for piece in rest)
    yield from rest


_OLDER: Final = {"cp1252": "Windows-1252", "mac_roman": "Mac Roman"}
"""The encodings before UTF-8 that are known, the likeliest first, with their names."""
_RUN: Final = re.compile(r"[^\x00-\x7f]+")
_EXAMPLE: Final = re.compile(r"\w{0,20}[^\x00-\x7f]\w{0,20}")
_IN_WORDS: Final = frozenset("\u2018\u2019\u201c\u201d\u2013\u2014\u2026\xb7\xa0\xab\xbb")
"""Marks that may stand between two letters: quotes, dashes, dots, a hard space."""
_SINGLE: Final = frozenset("àéèóòøåöæí")
"""Letters that are words of some language."""


@lru_cache(maxsize=16)
def older_encoding(path: Path, _changed: int) -> tuple[str, str, str] | None:
    """The encoding of a text that is no UTF-8, its name for people and a word of the text; None where none makes sense.

    A text of which one line is UTF-8 has none: the other lines are damaged.
    """
    for encoding, title in _OLDER.items():
        with suppress(UnicodeDecodeError, *DAMAGE), opened(path, str(path)) as stream:
            odd, example = Counter[bool](), ""
            for raw in iter(lambda: stream.readline(1 << 20), b""):
                if raw.isascii():
                    continue
                with suppress(UnicodeDecodeError):
                    raw.decode()
                    return None
                text = raw.decode(encoding)
                odd.update(_odd_characters(f" {text} "))
                example = example or _EXAMPLE.findall(text)[0][:40]
            if example and 20 * odd[True] <= odd.total():
                return encoding, title, example
    return None


def _odd_characters(text: str) -> Iterator[bool]:
    """For each character that is not ASCII: whether it would be odd in a text of a Western language."""
    for run in _RUN.finditer(text):
        many = sum(map(str.isalpha, run[0])) > 2
        for at in range(*run.span()):
            before, one, after = text[at - 1], text[at], text[at + 1]
            if one.isalpha():
                alone = not any(near.isascii() and near.isalnum() for near in (before, after))
                yield many or (one.lower() not in _SINGLE if alone else one.isupper() and before.islower())
            else:
                yield before.isalpha() and after.isalpha() and one not in _IN_WORDS
