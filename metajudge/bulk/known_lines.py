"""Lines that an earlier run has read, recognised by their digests: their facts are not made again."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from metajudge.evidence.facts import CODED, COUNTED, NUMBERS, Facts
from metajudge.evidence.units import ItemFact
from metajudge.store.bulk import DIGEST_BYTES, BulkStore, Numbers
from metajudge.types import parse_verdict

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


_LENGTH: Final = 4
"""Bytes of the length of the JSON in front: ids and tables. Columns of int32 and of float64 follow."""


def packed(facts: Facts, rows: NDArray[np.integer[Any]]) -> bytes:
    """The facts of chosen rows; :func:`unpacked` reads them."""
    front: dict[str, Any] = {"ids": [facts.judgment_ids[row] for row in rows.tolist()]}
    columns = []
    for name, table in CODED.items():
        values, codes = getattr(facts, table), getattr(facts, name)[rows]
        used = np.unique(codes[codes >= 0])
        places = np.full(len(values) + 1, -1, dtype="<i4")  # the last one is meant by the code -1
        places[used] = np.arange(len(used))
        columns.append(places[codes])
        front[table] = [_PLAIN.get(table, _same)(values[code]) for code in used.tolist()]
    columns += [getattr(facts, name)[rows].astype("<i4") for name in COUNTED]
    numbers = [getattr(facts, name)[rows].astype("<f8") for name in NUMBERS]
    text = orjson.dumps(front)
    return b"".join((len(text).to_bytes(_LENGTH, "big"), text, *(one.tobytes() for one in (*columns, *numbers))))


def unpacked(content: bytes) -> Facts:
    """The facts that :func:`packed` was given."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    front = orjson.loads(content[_LENGTH:end])
    size, names = len(front["ids"]), (*CODED, *COUNTED)
    codes = np.frombuffer(content, dtype="<i4", offset=end, count=size * len(names)).reshape(len(names), size)
    rest = np.frombuffer(content, dtype=np.uint8, offset=end + codes.nbytes).tobytes()
    numbers = np.frombuffer(rest, dtype="<f8").reshape(len(NUMBERS), size)
    tables = {table: [_READ.get(table, _same)(value) for value in front[table]] for table in CODED.values()}
    columns: dict[str, Any] = dict(zip(names, codes.astype(np.int32), strict=True))
    columns |= tables | dict(zip(NUMBERS, numbers, strict=True))
    return Facts(judgment_ids=front["ids"], **columns)


def _same(value: Any) -> Any:
    return value


def _verdict(value: Any) -> Any:
    return value.to_json()


def _item(value: Sequence[Any]) -> ItemFact:
    name, content, question, scale, *asked = value
    return ItemFact(name, content, question, None if scale is None else tuple(scale), *asked)


_PLAIN: Final[dict[str, Callable[[Any], Any]]] = {"items": list, "verdicts": _verdict, "truths": _verdict}
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "items": _item,
    "orders": tuple,
    "verdicts": parse_verdict,
    "truths": parse_verdict,
    "rationales": tuple,
}
