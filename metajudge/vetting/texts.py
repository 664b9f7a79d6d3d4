"""Judgments with their texts, read again where they are needed: by place in a file, or in a second pass."""

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource
from metajudge.reading.containers.lines import MAX_LINE_BYTES, RawLine, Reject
from metajudge.reading.jsonl import JudgmentLines
from metajudge.store.rows import judgment_row
from metajudge.types import Judgment
from metajudge.types.digests import json_bytes, raw_digest

DIGEST: Final = 16
"""Bytes of a digest."""

Parser: TypeAlias = Callable[[RawLine], Judgment | Reject]
"""Makes a checked judgment of a line."""


class Texts(Protocol):
    """Gives the texts of an input's judgments once more; rows that ascend from call to call are cheapest.

    :class:`InputError` is raised where the input was changed meanwhile.
    """

    def judgment(self, row: int) -> Judgment:
        """A judgment."""


class GivenTexts:
    """Judgments at hand."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self._judgments = judgments

    def judgment(self, row: int) -> Judgment:
        return self._judgments[row]


class SourceTexts:
    """A further pass over an input, which goes on from call to call."""

    def __init__(self, source: JudgmentSource) -> None:
        self._source = source
        self._pass: Iterator[Judgment] = iter(())
        self._last: Judgment | None = None
        self._at = sys.maxsize

    def judgment(self, row: int) -> Judgment:
        if row < self._at:
            self._pass, self._at, self._last = self._source.all(), -1, None
        if row > self._at:
            self._last = next(islice(self._pass, row - self._at - 1, None), None)
            self._at = row
        if self._last is None:
            raise InputError("the input became shorter while it was read: run the same command again")
        return self._last


class LineTexts:
    """Lines of plain files, each by its place: 28 bytes a line."""

    def __init__(self, readers: Sequence[JudgmentLines]) -> None:
        self.readers = readers
        self._files = array("i")
        self._offsets = array("q")
        self._digests = bytearray()
        self._rows: NDArray[np.int64] | None = None
        self._open: tuple[int, BinaryIO, Parser] | None = None
        self._last: tuple[int, Judgment] | None = None

    def add(self, reader: int, offset: int, digest: bytes) -> None:
        """Notes the place of the next line."""
        self._files.append(reader)
        self._offsets.append(offset)
        self._digests += digest

    def digest(self, line: int) -> bytes:
        """The digest of the line that was added at this place."""
        return bytes(self._digests[line * DIGEST : (line + 1) * DIGEST])

    def place(self, row: int) -> tuple[int, int, bytes]:
        """The place of a judgment's line, as :meth:`add` was given it."""
        line = self._place(row)
        return self._files[line], self._offsets[line], self.digest(line)

    def leave_out(self, rows: Sequence[int]) -> None:
        """Leaves rows out, once all lines are there; the others move up."""
        if rows:
            self._rows = np.setdiff1d(np.arange(len(self._files)), rows)

    def judgment(self, row: int) -> Judgment:
        place = self._place(row)
        if self._last is None or self._last[0] != place:
            self._last = (place, self._parsed(place))
        return self._last[1]

    def close(self) -> None:
        """Closes the file that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _place(self, row: int) -> int:
        return row if self._rows is None else int(self._rows[row])

    def _parsed(self, place: int) -> Judgment:
        reader = self._files[place]
        if self._open is None or self._open[0] != reader:
            self.close()
            path = self.readers[reader].source.path
            self._open = (reader, path.open("rb", buffering=1 << 16), self.readers[reader].parser())
        _, stream, parse = self._open
        offset = self._offsets[place]
        if stream.tell() != offset:
            stream.seek(offset)
        raw = stream.readline(MAX_LINE_BYTES + 1)
        raw = (raw.removeprefix(b"\xef\xbb\xbf") if offset == 0 else raw).rstrip(b"\r\n")
        found = parse(RawLine(0, offset, raw))
        if isinstance(found, Reject) or raw_digest(raw) != self.digest(place):
            name = self.readers[reader].source.name
            raise InputError(f"{name} was changed while it was read: run the same command again")
        return found


def judgment_payload(judgment: Judgment) -> str:
    """The payload of a judgment's row."""
    if judgment.meta or judgment.item.says_more:
        payload: str = judgment_row(judgment)[5]
        return payload
    fields: Mapping[str, object] = {
        "version": judgment.version,
        "id": judgment.id,
        "judge": judgment.judge,
        "verdict": None if judgment.verdict is None else judgment.verdict.to_json(),
        "no_verdict": judgment.no_verdict,
        "rationale": judgment.rationale,
        "order": judgment.order,
        "labels": judgment.labels,
        "instruction": judgment.instruction,
        "meta": {},
    }
    return json_bytes(fields).decode()
