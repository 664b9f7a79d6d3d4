"""Bands: which values, with which confidence, lead to which action; together they leave no gap and never overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from metajudge.decision.interval import Piece, all_exact, pieces
from metajudge.rubric.model import Text
from metajudge.stats.arrays import Floats
from metajudge.types.decision import Action
from metajudge.types.frozen import Frozen
from metajudge.types.interval import UNIT, Interval, Range, exact


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
    runs: list[tuple[Piece, list[Problem]]] = []
    for quotes in pieces(UNIT, (band.quotes for band in bands)):
        there = [index for index, band in enumerate(bands) if band.quotes.contains(quotes.start)]
        found = _flat_problems(bands, there, axis)
        if runs and runs[-1][1] == found:
            runs[-1] = (runs[-1][0].joined(quotes), found)
        else:
            runs.append((quotes, found))
    if len(runs) == 1:
        return runs[0][1]
    return [replace(one, quotes=quotes) for quotes, found in runs for one in found]


def _flat_problems(bands: Sequence[Band], there: Sequence[int], axis: Range) -> list[Problem]:
    """Gaps and overlaps of some of the bands over values and confidences, as large regions as possible."""
    rows: list[tuple[Piece, list[tuple[Piece, tuple[int, ...]]]]] = []
    whole = pieces(UNIT, (bands[index].confidence for index in there))
    for value in pieces(axis, (bands[index].value for index in there)):
        inside = [index for index in there if bands[index].value.contains(value.start)]
        runs: list[tuple[Piece, tuple[int, ...]]] = []
        for confidence in whole:
            covering = tuple(i for i in inside if bands[i].confidence.contains(confidence.start))
            if runs and runs[-1][1] == covering:
                runs[-1] = (runs[-1][0].joined(confidence), covering)
            else:
                runs.append((confidence, covering))
        if rows and rows[-1][1] == runs:
            rows[-1] = (rows[-1][0].joined(value), runs)
        else:
            rows.append((value, runs))
    return [
        Problem("overlap" if covering else "gap", value, None if len(runs) == 1 else confidence, covering)
        for value, runs in rows
        for confidence, covering in runs
        if len(covering) != 1
    ]


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
    at = exact(value)
    sure, share = (None if one is None else exact(one) for one in (confidence, quotes))
    here = _action(bands, at, sure, share)
    axes: list[tuple[Axis, Range, float | None]] = [("value", axis, at), ("confidence", UNIT, sure)]
    found = []
    for name, scale, number in (*axes, ("quotes", UNIT, share)):
        if number is None:
            continue
        one = _nearest(name, scale, number, bands, {"value": at, "confidence": sure, "quotes": share}, here)
        if one is not None:
            found.append(one)
    return sorted(found, key=lambda one: one.share)


def _nearest(
    name: Axis, scale: Range, number: float, bands: Sequence[Band], point: Mapping[Axis, float | None], here: Action
) -> Change | None:
    found = []
    for piece in pieces(scale, (getattr(band, name) for band in bands)):
        moved = {**point, name: piece.start}
        assert moved["value"] is not None
        action = _action(bands, moved["value"], moved["confidence"], moved["quotes"])
        if action is not here:
            below = piece.end <= number and not piece.contains(number)
            bound = piece.end if below else piece.start
            distance = piece.distance(number)
            found.append(Change(name, bound, below, exact(distance), exact(distance / scale.width), action))
    return min(found, key=lambda one: one.distance, default=None)


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


def margins(
    bands: Sequence[Band], axis: Range, values: Floats, confidence: float | None, quotes: float | None = None
) -> Floats:
    """:func:`margin` of many values that have one confidence and one share of quotes.

    Args:
        values: [n] on the axis.

    Returns:
        [n] NaN where no change of one number alone leads to another action.
    """
    cuts = pieces(axis, (band.value for band in bands))
    sure, share = (None if one is None else exact(one) for one in (confidence, quotes))
    actions = [_action(bands, piece.start, sure, share) for piece in cuts]
    beside = [
        [one.share for one in changes(bands, axis, piece.start, sure, share) if one.axis != "value"] for piece in cuts
    ]
    moved = [[piece for piece, found in zip(cuts, actions, strict=True) if found is not action] for action in actions]
    # Along the axis the nearest other action lies in the first such piece below or above.
    below = [
        max((one.end for one in found if one.end <= piece.start), default=-np.inf)
        for piece, found in zip(cuts, moved, strict=True)
    ]
    above = [
        min((one.start for one in found if one.start >= piece.end), default=np.inf)
        for piece, found in zip(cuts, moved, strict=True)
    ]
    compared = all_exact(values)
    at = np.searchsorted([piece.start for piece in cuts], compared, side="right") - 1
    down, up = compared - np.array(below)[at], np.array(above)[at] - compared
    near = np.where(all_exact(down) <= all_exact(up), down, up)
    found = np.minimum(all_exact(near / axis.width), np.array([min(one, default=np.inf) for one in beside])[at])
    return np.where(np.isinf(found), np.nan, found)


def _action(bands: Sequence[Band], value: float, confidence: float | None, quotes: float | None) -> Action:
    return next(band.action for band in bands if band.contains(value, confidence, quotes))
