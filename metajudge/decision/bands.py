"""Bands: which values, with which confidence, lead to which action; together they leave no gap and never overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from metajudge.decision.interval import UNIT, Interval, Piece, Range, exact, pieces
from metajudge.rubric.model import Text
from metajudge.types.decision import Action
from metajudge.types.frozen import Frozen


class Band(Frozen):
    """A rectangle of values and confidences, and what is to be done there.

    Attributes:
        value: of the score or the probability.
        confidence: left out where it does not matter.
        justification: included with every decision.
    """

    action: Action
    value: Interval = Interval()
    confidence: Interval = Interval()
    justification: Text

    def contains(self, value: float, confidence: float) -> bool:
        return self.value.contains(value) and self.confidence.contains(confidence)

    def __str__(self) -> str:
        confidence = "" if self.confidence.whole else f" with confidence {self.confidence}"
        return f"{self.value}{confidence} -> {self.action}"


class Outcome(Frozen):
    """What is done where a number is missing."""

    action: Action = Action.REVIEW_PRIORITY
    justification: Text = Field(default="A number this decision needs is missing, so a person decides.")


@dataclass(frozen=True, slots=True)
class Problem:
    """A region that no band covers, or that several do."""

    kind: Literal["gap", "overlap"]
    value: Piece
    confidence: Piece | None
    bands: tuple[int, ...] = ()

    def describe(self, basis: str) -> str:
        """The problem in words, with the exact intervals."""
        where = f"{basis} {self.value}"
        if self.confidence is not None:
            where += f" with confidence {self.confidence}"
        if self.kind == "gap":
            return f"gap: no band covers {where}; extend a band or add one"
        names = " and ".join(f"bands[{index}]" for index in self.bands)
        return f"overlap: {names} {'both' if len(self.bands) == 2 else 'all'} cover {where}; keep only one of them"


def problems(bands: Sequence[Band], axis: Range) -> list[Problem]:
    """Every gap and overlap over an axis of values and confidences from 0 to 1, as large regions as possible."""
    rows: list[tuple[Piece, list[tuple[Piece, tuple[int, ...]]]]] = []
    whole = pieces(UNIT, (band.confidence for band in bands))
    for value in pieces(axis, (band.value for band in bands)):
        inside = [index for index, band in enumerate(bands) if band.value.contains(value.start)]
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


def margin(bands: Sequence[Band], axis: Range, value: float, confidence: float | None) -> float | None:
    """How close a decision was: the smallest change of one number alone that leads to another action.

    Args:
        bands: cover the axis without overlap.
        confidence: None where the bands do not look at it.

    Returns:
        The change as a share of its number's range, in [0, 1]; None where no change of one number alone does.
    """
    at = exact(value)
    sure = 0.0 if confidence is None else exact(confidence)
    here = next(band.action for band in bands if band.contains(at, sure))
    found = [
        piece.distance(at) / axis.width
        for piece in pieces(axis, (band.value for band in bands))
        if _action(bands, piece.start, sure) is not here
    ]
    if confidence is not None:
        found += [
            piece.distance(sure)
            for piece in pieces(UNIT, (band.confidence for band in bands))
            if _action(bands, at, piece.start) is not here
        ]
    return exact(min(found)) if found else None


def _action(bands: Sequence[Band], value: float, confidence: float) -> Action:
    return next(band.action for band in bands if band.contains(value, confidence))
