"""Judgments with their texts, read again where they are needed: by place in a file, or in a second pass."""

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.bulk.spill import Spill, item_payload, judgment_payload
from metajudge.errors import InputError
from metajudge.readers import JudgmentSource
from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import MAX_LINE_BYTES, RawLine, Reject
from metajudge.types import Judgment
from metajudge.types.digests import raw_digest

DIGEST: Final = 16
"""Bytes of a digest."""

Parser: TypeAlias = Callable[[RawLine], Judgment | Reject]
"""Makes a checked judgment of a line."""


class Texts(Protocol):
    """Gives the texts of an input's judgments once more; rows that ascend from call to call are cheapest.

    Every method raises :class:`InputError` where the input was changed meanwhile.
    """

    def judgment(self, row: int) -> Judgment:
        """A judgment."""

    def judgment_payload(self, row: int) -> bytes:
        """The payload of its row in a store."""

    def item_payload(self, row: int, digest: str) -> bytes:
        """The payload of its item's row in a store, by the item's digest."""


class GivenTexts:
    """Judgments at hand."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self._judgments = judgments

    def judgment(self, row: int) -> Judgment:
        return self._judgments[row]

    def judgment_payload(self, row: int) -> bytes:
        return judgment_payload(self.judgment(row))

    def item_payload(self, row: int, digest: str) -> bytes:
        return item_payload(self.judgment(row))


class SourceTexts:
    """What was spilled of an input, else a further pass over it, which goes on from call to call.

    Args:
        spill: has the texts of all judgments; None where few texts will be asked for.
    """

    def __init__(self, source: JudgmentSource, spill: Spill | None = None) -> None:
        self._source = source
        self._spill = spill
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

    def judgment_payload(self, row: int) -> bytes:
        spilled = None if self._spill is None else self._spill.judgment(row)
        return judgment_payload(self.judgment(row)) if spilled is None else spilled

    def item_payload(self, row: int, digest: str) -> bytes:
        spilled = None if self._spill is None else self._spill.item(digest)
        return item_payload(self.judgment(row)) if spilled is None else spilled

    def close(self) -> None:
        """Drops what was spilled."""
        if self._spill is not None:
            self._spill.close()


class LineTexts:
    """Lines of plain files, each by its place, and what was spilled of them: 40 bytes a line.

    Args:
        spill: takes the texts of lines that are parsed; None where few texts will be asked for.
    """

    def __init__(self, readers: Sequence[JudgmentLines], spill: Spill | None = None) -> None:
        self._readers = readers
        self._spill = spill
        self._files = array("i")
        self._offsets = array("q")
        self._digests = bytearray()
        self._rows: NDArray[np.int64] | None = None
        self._open: tuple[int, BinaryIO, Parser] | None = None
        self._last: tuple[int, Judgment] | None = None

    def add(self, reader: int, offset: int, digest: bytes, judgment: Judgment) -> None:
        """Notes the place of the next line."""
        self._files.append(reader)
        self._offsets.append(offset)
        self._digests += digest
        if self._spill is not None:
            self._spill.add(judgment)

    def add_known(self, reader: int, offsets: Sequence[int], digests: Sequence[bytes]) -> None:
        """Notes the places of the next lines, which an earlier run has read."""
        self._files.extend([reader] * len(offsets))
        self._offsets.extend(offsets)
        self._digests += b"".join(digests)
        if self._spill is not None:
            self._spill.skip(len(offsets))

    def digest(self, line: int) -> bytes:
        """The digest of the line that was added at this place."""
        return bytes(self._digests[line * DIGEST : (line + 1) * DIGEST])

    def leave_out(self, rows: Sequence[int]) -> None:
        """Leaves rows out, once all lines are there; the others move up."""
        if rows:
            self._rows = np.setdiff1d(np.arange(len(self._files)), rows)

    def judgment(self, row: int) -> Judgment:
        place = self._place(row)
        if self._last is None or self._last[0] != place:
            self._last = (place, self._parsed(place))
        return self._last[1]

    def judgment_payload(self, row: int) -> bytes:
        spilled = None if self._spill is None else self._spill.judgment(self._place(row))
        return judgment_payload(self.judgment(row)) if spilled is None else spilled

    def item_payload(self, row: int, digest: str) -> bytes:
        spilled = None if self._spill is None else self._spill.item(digest)
        return item_payload(self.judgment(row)) if spilled is None else spilled

    def close(self) -> None:
        """Closes the files that are open."""
        self._close_input()
        if self._spill is not None:
            self._spill.close()

    def _close_input(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _place(self, row: int) -> int:
        return row if self._rows is None else int(self._rows[row])

    def _parsed(self, place: int) -> Judgment:
        reader = self._files[place]
        if self._open is None or self._open[0] != reader:
            self._close_input()
            path = self._readers[reader].source.path
            self._open = (reader, path.open("rb", buffering=1 << 16), self._readers[reader].parser())
        _, stream, parse = self._open
        offset = self._offsets[place]
        if stream.tell() != offset:
            stream.seek(offset)
        raw = stream.readline(MAX_LINE_BYTES + 1)
        raw = (raw.removeprefix(b"\xef\xbb\xbf") if offset == 0 else raw).rstrip(b"\r\n")
        found = parse(RawLine(0, offset, raw))
        if isinstance(found, Reject) or raw_digest(raw) != self.digest(place):
            name = self._readers[reader].source.name
            raise InputError(f"{name} was changed while it was read: run the same command again")
        return found
