"""Caches of what a run learned about its input, for both databases; see :mod:`metajudge.store.bulk`.

Facts are kept in segments, one for each call, and found by a map in memory from a line's digest to its place. A segment
that is gone, or a line that another process added, is a line without facts: both are computed anew.
"""

import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metajudge.store.bulk import DIGEST_BYTES, FoundFacts, Numbers
from metajudge.store.compact_map import CompactMap
from metajudge.store.known_digests import Halves, halves_of_bytes
from metajudge.store.sql import Ask, Connection, Dialect

MAX_LINES: Final = 5_000_000
MAX_BLOCKS: Final = 50_000
"""How many lines and blocks are kept; the oldest are dropped."""

_PLACES: Final = 24
"""Bits of the number of a line within its segment."""
_AT_HAND: Final = 8
"""Segments in memory at a time."""
_AHEAD: Final = 16
"""Segments that are read together, as they were written: a database reads through all of them for each query."""
_FEW: Final = 16
"""Where a call asks for more than :data:`_AT_HAND` segments, those with less than one line in so many asked for are
left unread: making the facts of a few lines anew costs less than reading a whole segment."""


_Segment: TypeAlias = tuple[Halves, bytes]
"""Digests of lines, and their facts."""


class InputCaches:
    """Facts by line and results by block; any number of calls at a time.

    Args:
        change: runs a function on a connection in a transaction.
        ask: runs a read-only function on a connection.
    """

    def __init__(self, change: Ask, ask: Ask, dialect: Dialect) -> None:
        self._change = change
        self._ask = ask
        self._dialect = dialect
        self.clear()

    def clear(self) -> None:
        """Drops what is in memory; call it when rows were deleted."""
        self._map = CompactMap()
        self._lines: dict[int, int] | None = None
        self._at_hand: OrderedDict[int, _Segment] = OrderedDict()
        self._read_ahead: dict[int, tuple[bytes, bytes]] = {}

    async def keep_facts(self, lines: Sequence[bytes], facts: bytes) -> None:
        if not lines:
            return
        sizes = await self._sizes()
        digests = b"".join(lines)
        number, dropped = await self._change(lambda connection: self._insert(connection, digests, facts, sizes))
        for segment in dropped:
            sizes.pop(segment, None)
        self._note(sizes, number, digests)

    def _insert(
        self, connection: Connection, digests: bytes, facts: bytes, sizes: Mapping[int, int]
    ) -> tuple[int, list[int]]:
        (number,) = self._dialect.numbers(connection, "input_facts", "segment", 1)
        connection.execute("INSERT INTO input_facts VALUES ($1, $2, $3)", [number, digests, facts])
        dropped, left = [], sum(sizes.values())
        for segment in sorted(sizes):
            if left + len(digests) // DIGEST_BYTES <= MAX_LINES:
                break
            dropped.append(segment)
            left -= sizes[segment]
        if dropped:
            connection.execute("DELETE FROM input_facts WHERE segment IN (SELECT unnest($1::BIGINT[]))", [dropped])
        return number, dropped

    async def _sizes(self) -> dict[int, int]:
        """Number of lines of each known segment; loads the map at the first call."""
        if self._lines is None:
            rows = await self._ask(
                lambda connection: connection.execute(
                    "SELECT segment, lines FROM input_facts ORDER BY segment"
                ).fetchall()
            )
            sizes = {segment: len(bytes(lines)) // DIGEST_BYTES for segment, lines in rows}
            halves = halves_of_bytes(b"".join(bytes(lines) for _, lines in rows))[:, 0]
            places = [_places(segment, count) for segment, count in sizes.items()]
            self._map = CompactMap()
            self._map.add(halves, np.concatenate(places) if places else halves)
            self._lines = sizes
        return self._lines

    def _note(self, sizes: dict[int, int], segment: int, digests: bytes) -> None:
        sizes[segment] = len(digests) // DIGEST_BYTES
        self._map.update(halves_of_bytes(digests)[:, 0].tolist(), _places(segment, sizes[segment]).tolist())

    async def find_facts(self, lines: Sequence[bytes]) -> FoundFacts:
        segment, place = np.full(len(lines), -1, dtype=np.int64), np.zeros(len(lines), dtype=np.int64)
        if not lines or not await self._sizes():
            return FoundFacts(segment, place, {})
        asked = halves_of_bytes(b"".join(lines))
        places, there = self._map.get_many(np.ascontiguousarray(asked[:, 0]))
        of = (places >> np.uint64(_PLACES)).astype(np.int64)
        place = (places & np.uint64(2**_PLACES - 1)).astype(np.int64)
        found = await self._segments(self._worth_reading(of[there]))
        for number, (digests, _) in found.items():
            some = np.flatnonzero(there & (of == number))
            segment[some[(digests[place[some]] == asked[some]).all(axis=1)]] = number  # the map has half of a digest
        return FoundFacts(segment, place, {number: facts for number, (_, facts) in found.items()})

    def _worth_reading(self, asked: Numbers) -> list[int]:
        """Segments that the lines asked for are in, each line's given; without those that few are in, if many are."""
        segments, hits = np.unique(asked, return_counts=True)
        if len(segments) <= _AT_HAND or self._lines is None:
            return [int(segment) for segment in segments.tolist()]
        sizes = self._lines
        pairs = zip(segments.tolist(), hits.tolist(), strict=True)
        return [segment for segment, count in pairs if count * _FEW >= sizes.get(segment, 0)]

    async def _segments(self, wanted: Sequence[int]) -> dict[int, _Segment]:
        """Segments by number, ascending in ``wanted``; those that are gone are left out."""
        found = {}
        for segment in wanted:
            known = self._at_hand.get(segment)
            if known is None:
                if segment not in self._read_ahead:
                    self._read_ahead = await self._ask(partial(_read_segments, first=segment))
                if segment not in self._read_ahead:
                    continue
                lines, facts = self._read_ahead.pop(segment)
                known = self._at_hand[segment] = (halves_of_bytes(lines), facts)
            found[segment] = known
        while len(self._at_hand) > _AT_HAND:
            self._at_hand.popitem(last=False)
        return found

    async def keep_results(self, blocks: Sequence[bytes], numbers: Sequence[Numbers]) -> None:
        packed = [_packed(one) for one in numbers]
        await self._change(lambda connection: self._insert_results(connection, blocks, packed))

    def _insert_results(self, connection: Connection, blocks: Sequence[bytes], packed: Sequence[bytes]) -> None:
        segments = self._dialect.numbers(connection, "input_results", "segment", len(blocks))
        for segment, block, numbers in zip(segments, blocks, packed, strict=True):
            connection.execute("DELETE FROM input_results WHERE block = $1", [block])
            connection.execute("INSERT INTO input_results VALUES ($1, $2, $3)", [segment, block, numbers])
        if segments:
            connection.execute("DELETE FROM input_results WHERE segment <= $1", [segments[-1] - MAX_BLOCKS])

    async def find_results(self, blocks: Sequence[bytes]) -> list[Numbers | None]:
        rows = await self._ask(lambda connection: _read_blocks(connection, blocks))
        found = {bytes(block): _unpacked(bytes(numbers)) for block, numbers in rows}
        return [found.get(block) for block in blocks]

    async def newest_version(self) -> int:
        newest: int = await self._ask(_newest_version)
        return newest


def _places(segment: int, lines: int) -> npt.NDArray[np.uint64]:
    """Where the lines of a segment are, as the map has it."""
    return (segment << _PLACES) + np.arange(lines, dtype=np.uint64)


def drop(connection: Connection) -> None:
    """Deletes all rows of the caches, as something that they name is forgotten."""
    connection.execute("DELETE FROM input_facts")
    connection.execute("DELETE FROM input_results")


def _newest_version(connection: Connection) -> int:
    (newest,) = connection.execute(
        "SELECT greatest((SELECT coalesce(max(assessment_id), 0) FROM assessments), "
        "(SELECT coalesce(max(annotation_id), 0) FROM annotations))"
    ).fetchall()[0]
    return int(newest)


def _read_segments(connection: Connection, first: int) -> dict[int, tuple[bytes, bytes]]:
    rows = connection.execute(
        "SELECT segment, lines, facts FROM input_facts WHERE segment BETWEEN $1 AND $2", [first, first + _AHEAD - 1]
    ).fetchall()
    return {segment: (bytes(lines), bytes(facts)) for segment, lines, facts in rows}


def _read_blocks(connection: Connection, blocks: Sequence[bytes]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(blocks), 500):
        some = blocks[start : start + 500]
        places = ", ".join(f"${place}" for place in range(1, len(some) + 1))
        query = f"SELECT block, numbers FROM input_results WHERE block IN ({places}) ORDER BY segment"  # noqa: S608
        found += connection.execute(query, list(some)).fetchall()
    return found


def _packed(numbers: Numbers) -> bytes:
    """Whole numbers as their compressed differences: numbers in a row take next to nothing."""
    return zlib.compress(np.diff(numbers, prepend=np.int64(0)).astype("<i8").tobytes(), 1)


def _unpacked(packed: bytes) -> Numbers:
    return np.cumsum(np.frombuffer(zlib.decompress(packed), dtype="<i8"), dtype=np.int64)
