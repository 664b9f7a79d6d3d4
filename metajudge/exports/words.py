"""Words of many texts at once, as hashes in one array."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Ints

Hashes: TypeAlias = NDArray[np.uint64]
Mask: TypeAlias = NDArray[np.bool_]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
AT_ONCE: Final = 800_000
"""Characters that are split into words at once: that takes a hundred times as many bytes."""
_SEPARATOR = "\x00"
_WORD = np.zeros(256, dtype=bool)
"""Whether a byte is part of a word: digits, small letters, and all that is beyond ASCII."""
_WORD[[*range(0x30, 0x3A), *range(0x61, 0x7B), *range(0x80, 0x100)]] = True


@dataclass(frozen=True, slots=True)
class Words:
    """The words of some texts, one after the other.

    Attributes:
        hashes: [words] 64 bits a word; equal words have equal hashes.
        ends: [texts] place in ``hashes`` behind each text's last word.
    """

    hashes: Hashes
    ends: Ints

    @property
    def starts(self) -> Ints:
        """[texts] place of each text's first word."""
        return np.concatenate([np.zeros(1, dtype=np.int64), self.ends[:-1]])

    def every(self, step: int, first: int = 0) -> "Words":
        """The words of the texts ``first``, ``first + step`` and so on."""
        sizes = (self.ends - self.starts)[first::step]
        return Words(self.hashes[self.texts % step == first], np.cumsum(sizes))

    @property
    def texts(self) -> Ints:
        """[words] which text each word is of."""
        return np.repeat(np.arange(len(self.ends)), self.ends - self.starts)


def words_of(texts: Sequence[str]) -> Words:
    """Splits texts into words: runs of letters and digits in lower case; every CJK character is a word of its own.

    A word's hash is a polynomial in its bytes modulo 2^64, mixed; all words are hashed in a few passes over one array.
    """
    whole = _SEPARATOR.join([*texts, ""])
    if whole.count(_SEPARATOR) > len(texts):  # no text may contain it, and it is part of no word
        whole = _SEPARATOR.join([*(text.replace(_SEPARATOR, " ") for text in texts), ""])
    data = np.frombuffer(whole.lower().encode("utf-8", "replace"), dtype=np.uint8)
    if not len(data):
        return Words(np.zeros(0, dtype=np.uint64), np.zeros(len(texts), dtype=np.int64))
    boundaries = np.flatnonzero(data == 0) + 1
    word, single = _WORD[data], (data >= 0xE3) & (data <= 0xED)
    previous = np.concatenate([[False], word[:-1]])
    after_single = np.zeros(len(data), dtype=bool)
    after_single[3:] = single[:-3]
    starts = np.flatnonzero(word & (~previous | single | after_single))
    following = np.concatenate([word[1:], [False]])
    before = np.concatenate([(single | after_single)[1:], [True]])
    last = (np.append(data[1:], np.uint8(0)) & 0xC0) != 0x80  # the next byte begins a character
    stops = np.flatnonzero(word & (~following | before & ((data < 0x80) | last))) + 1
    # The sum of byte * BASE^(place in the word), from one running sum over all bytes.
    powers, inverse = _powers(1 << len(data).bit_length())
    terms = np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[: len(data)])
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), terms])
    hashes = mixed((sums[stops] - sums[starts]) * inverse[starts] + (stops - starts).astype(np.uint64))
    return Words(hashes, np.searchsorted(starts, boundaries, side="left").astype(np.int64))


def mixed(values: Hashes) -> Hashes:
    """Spreads every bit over the whole word (the finaliser of SplitMix64)."""
    found = values ^ (values >> np.uint64(30))
    found = found * _MIX[0]
    found ^= found >> np.uint64(27)
    found = found * _MIX[1]
    found ^= found >> np.uint64(31)
    return found


def runs_of(words: Words, length: int) -> tuple[Hashes, Ints]:
    """Hashes of every run of so many words within a text, and the text of each."""
    count = len(words.hashes) - length + 1
    if count <= 0:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    found = np.zeros(count, dtype=np.uint64)
    for offset in range(length):
        found = found * _BASE + words.hashes[offset : offset + count]
    texts = words.texts
    whole = texts[:count] == texts[length - 1 :]
    return mixed(found[whole]), texts[:count][whole]


@lru_cache(maxsize=2)
def _powers(count: int) -> tuple[Hashes, Hashes]:
    """Powers of BASE and of its inverse, from 0."""
    found = []
    for base in (int(_BASE), pow(int(_BASE), -1, 1 << 64)):
        powers = np.full(count, base, dtype=np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers, dtype=np.uint64))
    return found[0], found[1]
