"""Two texts side by side with the words that differ marked. Pure; bounded for untrusted texts.

Words in common are a longest common subsequence: Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004),
with a row of bits for each word. Time and memory are words * words / 64, at most :data:`LONGEST` words each.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

LONGEST = 6_000
"""Words of a text that are compared; of longer texts whole lines are compared instead."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]+")
_DIFFERENT = Markup('<mark class="differs">%s</mark>')


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts, marked.

    Attributes:
        first, second: the whole texts, escaped; what the other does not have is in ``<mark class="differs">``.
        unit: what was compared: ``words`` (with punctuation) or ``lines``.
        same: units in common, in the same order; ``counts``: units of the first and of the second text.
    """

    first: Markup
    second: Markup
    unit: str
    same: int
    counts: tuple[int, int]

    @property
    def sentence(self) -> str:
        """What the marks mean, with the counts."""
        first, second = self.counts
        return (
            f"Marked: {self.unit} that the other text does not have in the same place. In common: {self.same} of "
            f"{first} and {second} {self.unit}."
        )


def difference(first: str, second: str) -> Difference | None:
    """Marks where two texts differ; None if they have more than :data:`LONGEST` words and more lines than that."""
    for unit, pattern in (("words", _WORDS), ("lines", _LINES)):
        found = [list(pattern.finditer(text)) for text in (first, second)]
        if max(map(len, found)) <= LONGEST:
            one, other = ([part[0] for part in parts] for parts in found)
            kept, kept_other = in_common(one, other)
            return Difference(
                _marked(first, found[0], kept),
                _marked(second, found[1], kept_other),
                unit,
                sum(kept),
                (len(one), len(other)),
            )
    return None


def in_common(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """For each part of two sequences whether it belongs to their longest common subsequence."""
    kept, kept_other = [False] * len(first), [False] * len(second)
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        kept[start] = kept_other[start] = True
        start += 1
    end, end_other = len(first), len(second)
    while end > start and end_other > start and first[end - 1] == second[end_other - 1]:
        end, end_other = end - 1, end_other - 1
        kept[end] = kept_other[end_other] = True
    for place, other in _matches(first[start:end], second[start:end_other]):
        kept[start + place] = kept_other[start + other] = True
    return kept, kept_other


def _matches(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence, last first."""
    rows = _rows(first, second)
    found = []
    column, row = len(first), len(second)
    while column and row:
        if rows[row - 1] >> (column - 1) & 1:
            column -= 1
            continue
        row -= 1
        if not row or rows[row - 1] >> (column - 1) & 1:
            column -= 1
            found.append((column, row))
    return found


def _rows(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """One row of bits for each part of ``second``: bit i is 0 where part i of ``first`` lengthens the subsequence."""
    places: dict[str, int] = {}
    for place, part in enumerate(first):
        places[part] = places.get(part, 0) | 1 << place
    every = (1 << len(first)) - 1
    row, rows = every, []
    for part in second:
        hit = row & places.get(part, 0)
        row = (row + hit | row - hit) & every
        rows.append(row)
    return rows


def _marked(text: str, parts: Sequence[re.Match[str]], kept: Sequence[bool]) -> Markup:
    """The text with a mark around each run of parts that are not kept, spaces within the run included."""
    made, done, place = [], 0, 0
    while place < len(parts):
        if kept[place]:
            place += 1
            continue
        begin = parts[place].start()
        while place < len(parts) and not kept[place]:
            place += 1
        end = parts[place - 1].end()
        made += [escape(text[done:begin]), _DIFFERENT % text[begin:end]]
        done = end
    return Markup("").join([*made, escape(text[done:])])
