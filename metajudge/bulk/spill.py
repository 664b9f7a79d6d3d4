"""Texts of judgments on their way to a store, in a temporary file until their evidence is known.

The file has no name and is gone when the process ends. Where the disk has no room for it, the input is read again in
its place.
"""

import tempfile
from array import array
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Final

from metajudge.store.rows import item_row, judgment_row
from metajudge.types import Judgment
from metajudge.types.digests import json_bytes

NOWHERE: Final = -1
WINDOW: Final = 1 << 20
"""Bytes that are read at once: payloads are asked for in the order in which they came."""


class Spill:
    """Payloads of the rows of judgments and items (:mod:`metajudge.store.rows`): 12 bytes of memory a judgment."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._starts = array("q")
        self._lengths = array("i")
        self._items: dict[str, tuple[int, int]] = {}
        self._full = False
        self._window, self._window_start = b"", 0

    def add(self, judgment: Judgment) -> None:
        """Takes the texts of the next judgment."""
        item = judgment.item
        if item.digest not in self._items:
            self._items[item.digest] = self._write(item_payload(judgment))
        start, length = self._write(judgment_payload(judgment))
        self._starts.append(start)
        self._lengths.append(length)

    def skip(self, judgments: int) -> None:
        """Leaves the texts of the next judgments out."""
        self._starts.extend([NOWHERE] * judgments)
        self._lengths.extend([0] * judgments)

    def judgment(self, row: int) -> bytes | None:
        """The payload of a judgment's row; None where it was left out."""
        return self._read(self._starts[row], self._lengths[row]) if row < len(self._starts) else None

    def item(self, digest: str) -> bytes | None:
        """The payload of an item's row; None where it was left out."""
        return self._read(*self._items.get(digest, (NOWHERE, 0)))

    def close(self) -> None:
        """Drops the file."""
        if self._file is not None:
            with suppress(OSError):  # what a full disk left in the buffer
                self._file.close()
            self._file = None

    def _write(self, payload: bytes) -> tuple[int, int]:
        if self._full:
            return NOWHERE, 0
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=1 << 20, prefix="metajudge-")  # noqa: SIM115 - until close()
            self._file.write(payload)
        except OSError:  # no room: what is left out is read again
            self._full = True
            return NOWHERE, 0
        start, self._end = self._end, self._end + len(payload)
        return start, len(payload)

    def _read(self, start: int, length: int) -> bytes | None:
        if start == NOWHERE or self._file is None or self._full:
            return None
        at = start - self._window_start
        if at < 0 or at + length > len(self._window):
            self._file.seek(start)
            self._window, self._window_start, at = self._file.read(max(length, WINDOW)), start, 0
        return self._window[at : at + length]


def item_payload(judgment: Judgment) -> bytes:
    """The payload of an item's row."""
    payload: str = item_row(judgment)[3]
    return payload.encode()


def judgment_payload(judgment: Judgment) -> bytes:
    """The payload of a judgment's row."""
    if judgment.meta or judgment.item.says_more:
        payload: str = judgment_row(judgment)[5]
        return payload.encode()
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
    return json_bytes(fields)
