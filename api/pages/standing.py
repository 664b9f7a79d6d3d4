"""The judgments that a threshold keeps, sends to review and discards, and the resulting precision. Pure.

Scores and probabilities are counted in steps of one hundredth, so that any threshold of whole hundredths divides them
exactly. A score must exceed its threshold; a probability must reach it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from metajudge.stats.clustered import counted_proportion
from metajudge.stats.interval_estimate import Estimate
from metajudge.store.labelled import STEPS, Basis, Step


@dataclass(frozen=True)
class Ladder:
    """All judgments by score or probability.

    Attributes:
        without: judgments without this number; they are sent to review.
        changes: see :class:`metajudge.store.labelled.Steps`.
        threshold: what decided, in hundredths; the range of thresholds includes it.
    """

    basis: Basis
    steps: tuple[Step, ...]
    without: int
    questions: int = 0
    changes: Sequence[tuple[int, int, int, int]] = ()
    threshold: int | None = None

    @cached_property
    def n(self) -> int:
        return self.without + sum(step.n for step in self.steps)

    @property
    def labelled(self) -> int:
        return sum(step.labelled for step in self.steps)

    @property
    def low(self) -> int:
        """The lowest threshold: 0, or the whole score below the lowest one, which keeps all."""
        if self.basis == "probability" or not self.steps:
            return 0
        lowest = self.steps[0].value - 1
        return STEPS * (min(lowest, lowest if self.threshold is None else self.threshold) // STEPS)

    @property
    def high(self) -> int:
        """The highest threshold."""
        if self.basis == "probability" or not self.steps:
            return STEPS
        highest = max(self.steps[-1].value, self.threshold or 0)
        return max(STEPS * math.ceil(highest / STEPS), self.low + STEPS)

    @cached_property
    def precisions(self) -> dict[int, Estimate]:
        """Value of a step -> the share right from it on, with the 95 % interval by question; without labels none."""
        found: dict[int, Estimate] = {}
        kinds: Counter[tuple[int, int]] = Counter()
        for value, changes in groupby(self.changes, key=itemgetter(0)):
            for _, right, labelled, change in changes:
                kinds[right, labelled] += change
            there = {kind: often for kind, often in kinds.items() if often}
            found[value] = counted_proportion(list(there), list(there.values()))
        return found

    def precision(self, lowest: int) -> Estimate | None:
        """That of the judgments from a step on; None where none of them has a label."""
        value = min((one for one in self.precisions if one >= lowest), default=None)
        return None if value is None else self.precisions[value]

    def keeps(self, value: int, threshold: int) -> bool:
        return value > threshold if self.basis == "score" else value >= threshold

    def to_json(self) -> dict[str, Any]:
        """For the page's script: of each step also the interval of the share right from it on."""
        rows = []
        for step in self.steps:
            found = self.precision(step.value)
            ends = (None, None) if found is None else (found.low, found.high)
            rows.append([step.value, step.n, step.labelled, step.right, *ends])
        return {"basis": self.basis, "without": self.without, "low": self.low, "high": self.high, "steps": rows}


@dataclass(frozen=True, slots=True)
class Standing:
    """The effect of two thresholds.

    Attributes:
        asked: judgments sent to review: those between the thresholds, and those without a number.
        precision: share correct of the kept with a label, with its interval by question; None without labels.
    """

    kept: int
    asked: int
    discarded: int
    precision: Estimate | None

    @property
    def coverage(self) -> float | None:
        """Share kept of all; None without judgments."""
        total = self.kept + self.asked + self.discarded
        return self.kept / total if total else None


def standing(ladder: Ladder, keep: int, discard: int) -> Standing:
    """Applies two thresholds in hundredths.

    Args:
        keep: scores above it, or probabilities of at least it, are kept.
        discard: scores up to it, or probabilities below it, are discarded; at most ``keep``.
    """
    above = [step for step in ladder.steps if ladder.keeps(step.value, keep)]
    kept = sum(step.n for step in above)
    discarded = sum(step.n for step in ladder.steps if not ladder.keeps(step.value, min(discard, keep)))
    precision = ladder.precision(above[0].value) if above else None
    return Standing(kept, ladder.n - kept - discarded, discarded, precision)


def tenths(share: float) -> str:
    """A share as per cent with one decimal, halves upwards: as the page's script rounds."""
    return f"{math.floor(share * 1000 + 0.5) / 10:.1f} %"


def words_of(now: Standing) -> dict[str, str]:
    """The page's texts by the id of their place; its script writes the same."""
    coverage, precision = now.coverage, now.precision
    return {
        "precision": "none" if precision is None else tenths(precision.estimate),
        "interval": (
            "no kept judgment has a label"
            if precision is None
            else f"{tenths(precision.low)} to {tenths(precision.high)}, {precision.n} labelled"
        ),
        "coverage": "none" if coverage is None else tenths(coverage),
        "kept": str(now.kept),
        "asked": str(now.asked),
        "discarded": str(now.discarded),
    }


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Coverage and precision at one threshold, in hundredths."""

    threshold: int
    coverage: float
    precision: Estimate


def curve(ladder: Ladder) -> list[CurvePoint]:
    """Precision against coverage, from the least selective threshold on; thresholds that keep no label are left out."""
    edge = 1 if ladder.basis == "score" else 0
    found, kept = [], 0
    for step in reversed(ladder.steps):
        kept += step.n
        precision = ladder.precision(step.value)
        if precision is not None:
            found.append(CurvePoint(step.value - edge, kept / ladder.n, precision))
    return list(reversed(found))


def thinned(points: Sequence[CurvePoint], most: int = 200) -> list[CurvePoint]:
    """At most ``most`` points, including both ends."""
    if len(points) <= most:
        return list(points)
    places = {round(place * (len(points) - 1) / (most - 1)) for place in range(most)}
    return [points[place] for place in sorted(places)]
