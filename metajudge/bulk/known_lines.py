"""Lines that an earlier run has read, recognised by their digests: their facts are not made again."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.facts import Facts
from metajudge.evidence.packed_facts import packed, unpacked
from metajudge.store.bulk import DIGEST_BYTES, BulkStore, Numbers

VERSION: Final = 3
"""Of what is kept, its first byte; raise it when a line's facts or digests would come out differently."""

_DIGESTS: Final = 2 * DIGEST_BYTES
_HEAD: Final = Struct(">BI")
"""The version, and the number of lines."""
_PORTIONS: Final = 8
"""Unpacked at a time."""

Digests: TypeAlias = NDArray[np.uint8]
"""[n, 32] the digests of a judgment's record and of what vetting it depends on."""


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """What is known of lines that were kept together."""

    digests: Digests
    facts: Facts


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of n lines.

    Attributes:
        segment: [n] numbers of portions; -1 where nothing is known.
        place: [n] of the lines in their portions.
        portions: by number.
    """

    segment: Numbers
    place: Numbers
    portions: dict[int, Portion]

    def runs(self) -> Iterator[tuple[int, int, Portion | None]]:
        """Lines that follow each other and are of one portion, or of none: the first one and the one after the last."""
        starts = np.flatnonzero(np.diff(self.segment, prepend=-2)).tolist()
        for start, end in zip(starts, [*starts[1:], len(self.segment)], strict=True):
            yield start, end, self.portions.get(int(self.segment[start]))


class KnownLines:
    """Keeps what was made of lines, in a store.

    Args:
        store: None to know nothing.
    """

    def __init__(self, store: BulkStore | None) -> None:
        self.store = store
        self._portions: dict[int, Portion | None] = {}

    async def find(self, lines: Sequence[bytes]) -> Known:
        """What is known of lines by their digests."""
        if self.store is None:
            nothing = np.full(len(lines), -1, dtype=np.int64)
            return Known(nothing, nothing, {})
        found = await self.store.find_facts(lines)
        portions = {number: self._portion(number, content) for number, content in found.facts.items()}
        return Known(found.segment, found.place, {number: one for number, one in portions.items() if one is not None})

    async def keep(self, lines: Sequence[bytes], digests: bytes, facts: Facts, rows: NDArray[np.integer[Any]]) -> None:
        """Keeps what is known of lines, some thousand at a time.

        Args:
            digests: :data:`Digests` of these lines.
            rows: their facts.
        """
        if self.store is not None:
            text = zlib.compress(packed(facts, rows), 1)
            await self.store.keep_facts(lines, b"".join((_HEAD.pack(VERSION, len(lines)), digests, text)))

    def _portion(self, number: int, content: bytes) -> Portion | None:
        """A portion; None where another version kept it."""
        if number not in self._portions:
            while len(self._portions) >= _PORTIONS:
                del self._portions[next(iter(self._portions))]
            self._portions[number] = _read(content)
        return self._portions[number]


def _read(content: bytes) -> Portion | None:
    version, lines = _HEAD.unpack_from(content)
    if version != VERSION:
        return None
    end = _HEAD.size + lines * _DIGESTS
    digests = np.frombuffer(content[_HEAD.size : end], dtype=np.uint8).reshape(lines, _DIGESTS)
    return Portion(digests, unpacked(zlib.decompress(content[end:])))
