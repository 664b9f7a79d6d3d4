"""A log in front of the database, so that a write survives the process the moment it is acknowledged.

A DuckDB commit costs milliseconds however small it is. So every record first goes, with one ``write`` to the
operating system, into a segment file beside the database (which survives ``kill -9``), and is acknowledged then.
The database is updated in groups: a group is the contents of one segment, and the transaction that commits
it also notes the segment's number. Segments up to that number are deleted; later ones are replayed
when the file is opened again, which therefore neither loses nor repeats a record.

A frame is the payload's length and CRC-32 (8 bytes) and the payload. A frame that a kill or a full disk left
incomplete can only be the last of the last segment; it was never acknowledged, and is dropped.
"""

import glob
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from metajudge.errors import StoreError

_HEAD: Final = struct.Struct(">II")
_SEGMENT: Final = re.compile(r"\.ahead-(\d{9})$")


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment that an earlier process left behind."""

    number: int
    path: Path
    payloads: tuple[bytes, ...]


class WriteAhead:
    """The segments beside one database file; owned by the process that has the database's lock.

    Args:
        database: the file they belong to.
        committed: number of the last segment that is in the database.
    """

    def __init__(self, database: Path, committed: int) -> None:
        self._database = database
        self._number = committed + 1
        self._handle: int | None = None

    def left_behind(self) -> Iterator[Segment]:
        """The segments that are not in the database yet, oldest first; those that are, are deleted.

        Raises:
            StoreError: a segment that later ones followed is damaged.
        """
        found = _segments(self._database)
        pending = [(number, path) for number, path in found if number >= self._number]
        for number, path in found:
            if number < self._number:
                path.unlink()
        for number, path in pending:
            payloads, complete = _read(path)
            if not complete and (number, path) != pending[-1]:
                raise StoreError(
                    f"{path}, part of the log of the store {self._database}, is damaged: restore it from a copy, or "
                    "move it away to continue without the calls and assessments in it"
                )
            self._number = number + 1
            yield Segment(number, path, tuple(payloads))

    def append(self, payload: bytes) -> int:
        """Writes a record to the current segment and returns the segment's number.

        Raises:
            OSError: it could not be written in full; nothing may be appended after that.
        """
        if self._handle is None:
            path = segment_path(self._database, self._number)
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        frame = _HEAD.pack(len(payload), zlib.crc32(payload)) + payload
        written = os.write(self._handle, frame)
        if written != len(frame):
            raise OSError(f"only {written} of {len(frame)} bytes could be written; is the disk full?")
        return self._number

    def rotate(self) -> None:
        """Ends the current segment; the next record begins a new one."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            self._number += 1

    def drop(self, number: int) -> None:
        """Deletes a segment that is in the database."""
        segment_path(self._database, number).unlink(missing_ok=True)


def segment_path(database: Path, number: int) -> Path:
    """Where a segment is kept: beside the database."""
    return database.with_name(f"{database.name}.ahead-{number:09}")


def _segments(database: Path) -> list[tuple[int, Path]]:
    beside = database.parent.glob(f"{glob.escape(database.name)}.ahead-*")
    return sorted((int(found[1]), path) for path in beside if (found := _SEGMENT.search(path.name)))


def _read(path: Path) -> tuple[list[bytes], bool]:
    """The whole payloads of a segment, and whether nothing else is in it."""
    data = path.read_bytes()
    payloads: list[bytes] = []
    place = 0
    while place < len(data):
        if len(data) - place < _HEAD.size:
            return payloads, False
        size, checksum = _HEAD.unpack_from(data, place)
        payload = data[place + _HEAD.size : place + _HEAD.size + size]
        if len(payload) != size or zlib.crc32(payload) != checksum:
            return payloads, False
        payloads.append(payload)
        place += _HEAD.size + size
    return payloads, True
