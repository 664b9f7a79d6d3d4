"""Bands: which values, with which confidence, lead to which action; together they leave no gap and never overlap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from metajudge.rubric.model import Text
from metajudge.stats.arrays import Floats
from metajudge.types.decision import Action
from metajudge.types.frozen import Frozen
from metajudge.types.interval import DECIMALS, UNIT, Interval, Range, exact

_PLAIN, _DOUBT = 1e4, 0.01


def all_exact(values: Floats) -> Floats:
    """:func:`exact` of many numbers.

    A number of up to :data:`_PLAIN` times ten to the ninth is known to one hundredth: where its nearest whole number is
    in no doubt, that divided by ten to the ninth is the same as rounding in decimals. The few others are rounded so.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite and of very large numbers
        scaled = values * 10.0**DECIMALS
        whole = np.rint(scaled)
        doubtful = ~(np.abs(values) < _PLAIN) | (np.abs(np.abs(scaled - whole) - 0.5) < _DOUBT)
    found = whole / 10.0**DECIMALS
    for place in np.flatnonzero(doubtful & np.isfinite(values)).tolist():
        found[place] = exact(values[place])
    return found


def pieces(axis: Range, intervals: Iterable[Interval]) -> list["Piece"]:
    """An axis cut at every bound: half-open pieces in order, the last one closed."""
    low, high = exact(axis.low), exact(axis.high)
    inner = {bound for interval in intervals for bound in interval.bounds if low < bound <= high}
    cuts = [low, *sorted(inner)]
    found = [Piece(start, end, False) for start, end in pairwise(cuts)]
    return [*found, Piece(cuts[-1], high, True)]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an axis of which every interval contains all or nothing."""

    start: float
    end: float
    closed: bool

    def joined(self, other: "Piece") -> "Piece":
        """From where this one starts to where a later one ends."""
        return Piece(self.start, other.end, other.closed)

    def contains(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.start <= value < self.end or (self.closed and value == self.end)

    def distance(self, value: float) -> float:
        """How far a value is from this stretch; 0 inside and at its ends."""
        return max(self.start - value, value - self.end, 0.0)

    def __str__(self) -> str:
        if self.start == self.end:
            return f"exactly {self.start:.10g}"
        return f"[{self.start:.10g}, {self.end:.10g}{']' if self.closed else ')'}"


T = TypeVar("T")


class Band(Frozen):
    """A box of values, confidences and shares of verified quotes, and what is to be done there.

    Attributes:
        value: of the score or the probability.
        confidence: left out where it does not matter.
        quotes: of the share of a case's quotes that stand in its texts; left out where it does not matter.
        justification: included with every decision.
    """

    action: Action
    value: Interval = Interval()
    confidence: Interval = Interval()
    quotes: Interval = Field(
        default=Interval(),
        exclude_if=lambda given: given.whole,
        description="Share of the quotes given as evidence that stand in the case's texts, from 0 to 1; for cases.",
    )
    justification: Text

    def contains(self, value: float, confidence: float | None, quotes: float | None = None) -> bool:
        """Whether it covers these numbers; one that is None is not looked at."""
        return (
            self.value.contains(value)
            and (confidence is None or self.confidence.contains(confidence))
            and (quotes is None or self.quotes.contains(quotes))
        )

    def __str__(self) -> str:
        confidence = "" if self.confidence.whole else f" with confidence {self.confidence}"
        quotes = "" if self.quotes.whole else f", verified quotes {self.quotes}"
        return f"{self.value}{confidence}{quotes} -> {self.action}"


class Outcome(Frozen):
    """What is done where a number is missing."""

    action: Action = Action.REVIEW_PRIORITY
    justification: Text = Field(default="A number this decision needs is missing, so a person decides.")


@dataclass(frozen=True, slots=True)
class Problem:
    """A region that no band covers, or that several do; an axis that is None does not matter there."""

    kind: Literal["gap", "overlap"]
    value: Piece
    confidence: Piece | None
    bands: tuple[int, ...] = ()
    quotes: Piece | None = None

    def describe(self, basis: str) -> str:
        """The problem in words, with the exact intervals."""
        where = f"{basis} {self.value}"
        if self.confidence is not None:
            where += f" with confidence {self.confidence}"
        if self.quotes is not None:
            where += f" with a share of verified quotes in {self.quotes}"
        if self.kind == "gap":
            return f"gap: no band covers {where}; extend a band or add one"
        names = " and ".join(f"bands[{index}]" for index in self.bands)
        return f"overlap: {names} {'both' if len(self.bands) == 2 else 'all'} cover {where}; keep only one of them"


def problems(bands: Sequence[Band], axis: Range) -> list[Problem]:
    """Every gap and overlap over an axis of values, with confidences and shares of quotes from 0 to 1."""
    regions = []
    for quotes in pieces(UNIT, (band.quotes for band in bands)):
        there = [index for index, band in enumerate(bands) if band.quotes.contains(quotes.start)]
        regions.append((quotes, _flat_problems(bands, there, axis)))
    runs = _joined(regions)
    if len(runs) == 1:
        return runs[0][1]
    return [replace(one, quotes=quotes) for quotes, found in runs for one in found]


def _flat_problems(bands: Sequence[Band], there: Sequence[int], axis: Range) -> list[Problem]:
    """Gaps and overlaps of some of the bands over values and confidences, as large regions as possible."""
    rows = []
    whole = pieces(UNIT, (bands[index].confidence for index in there))
    for value in pieces(axis, (bands[index].value for index in there)):
        inside = [index for index in there if bands[index].value.contains(value.start)]
        covering = [tuple(i for i in inside if bands[i].confidence.contains(one.start)) for one in whole]
        rows.append((value, _joined(list(zip(whole, covering, strict=True)))))
    return [
        Problem("overlap" if covering else "gap", value, None if len(runs) == 1 else confidence, covering)
        for value, runs in _joined(rows)
        for confidence, covering in runs
        if len(covering) != 1
    ]


def _joined(regions: Sequence[tuple[Piece, T]]) -> list[tuple[Piece, T]]:
    """Neighbouring pieces with the same in them, as one."""
    runs: list[tuple[Piece, T]] = []
    for piece, found in regions:
        if runs and runs[-1][1] == found:
            runs[-1] = (runs[-1][0].joined(piece), found)
        else:
            runs.append((piece, found))
    return runs


Axis = Literal["value", "confidence", "quotes"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one number alone that leads to another action.

    Attributes:
        bound: where the other action begins, in the number's unit; ``below`` whether it holds below the bound.
        distance: from the number to the bound, in the number's unit; ``share`` of its range, in [0, 1].
    """

    axis: Axis
    bound: float
    below: bool
    distance: float
    share: float
    action: Action


def changes(
    bands: Sequence[Band], axis: Range, value: float, confidence: float | None, quotes: float | None = None
) -> list[Change]:
    """For each number the nearest change of it alone that leads to another action; the nearest first.

    Args:
        bands: cover the axis without overlap.
        confidence, quotes: None where the bands do not look at it.
    """
    sure, share = (None if one is None else exact(one) for one in (confidence, quotes))
    point: dict[Any, float | None] = {"value": exact(value), "confidence": sure, "quotes": share}
    here = _action(bands, exact(value), sure, share)
    near = []
    for name, number in point.items():
        if number is None:
            continue
        found, scale = [], axis if name == "value" else UNIT
        for piece in pieces(scale, (getattr(band, name) for band in bands)):
            moved: dict[str, Any] = {**point, name: piece.start}
            action = _action(bands, **moved)
            if action is not here:
                below = piece.end <= number and not piece.contains(number)
                bound, distance = piece.end if below else piece.start, piece.distance(number)
                found.append(Change(name, bound, below, exact(distance), exact(distance / scale.width), action))
        near += [min(found, key=lambda one: one.distance)] if found else []
    return sorted(near, key=lambda one: one.share)


def margin(
    bands: Sequence[Band], axis: Range, value: float, confidence: float | None, quotes: float | None = None
) -> float | None:
    """How close a decision was: the smallest change of one number alone that leads to another action.

    Args:
        bands: cover the axis without overlap.
        confidence, quotes: None where the bands do not look at it.

    Returns:
        The change as a share of its number's range, in [0, 1]; None where no change of one number alone does.
    """
    found = changes(bands, axis, value, confidence, quotes)
    return found[0].share if found else None


def margins(bands: Sequence[Band], axis: Range, values: Floats, confidence: float | None) -> Floats:
    """:func:`margin` of many values that have one confidence, by bands that do not look at quotes.

    Args:
        values: [n] on the axis.

    Returns:
        [n] NaN where no change of one number alone leads to another action.
    """
    cuts = pieces(axis, (band.value for band in bands))
    sure = None if confidence is None else exact(confidence)
    actions = [_action(bands, piece.start, sure, None) for piece in cuts]
    beside = [[one.share for one in changes(bands, axis, piece.start, sure) if one.axis != "value"] for piece in cuts]
    moved = [[piece for piece, found in zip(cuts, actions, strict=True) if found is not action] for action in actions]
    # Along the axis the nearest other action lies in the first such piece below or above.
    pairs = list(zip(cuts, moved, strict=True))
    below = [max((one.end for one in found if one.end <= piece.start), default=-np.inf) for piece, found in pairs]
    above = [min((one.start for one in found if one.start >= piece.end), default=np.inf) for piece, found in pairs]
    compared = all_exact(values)
    at = np.searchsorted([piece.start for piece in cuts], compared, side="right") - 1
    down, up = compared - np.array(below)[at], np.array(above)[at] - compared
    near = np.where(all_exact(down) <= all_exact(up), down, up)
    found = np.minimum(all_exact(near / axis.width), np.array([min(one, default=np.inf) for one in beside])[at])
    return np.where(np.isinf(found), np.nan, found)


def _action(bands: Sequence[Band], value: float, confidence: float | None, quotes: float | None) -> Action:
    return next(band.action for band in bands if band.contains(value, confidence, quotes))
