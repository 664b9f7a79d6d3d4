"""Which judgments are kept, by what, and where the threshold comes from."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from metajudge.calibration.domain import Mark
from metajudge.calibration.promise import Promise
from metajudge.report.document import Absent
from metajudge.scoring.formulas import exceeds
from metajudge.stats.arrays import Bools

from .findings import Threshold
from .observations import Observations

Kind = Literal["raw", "baseline", "evidence", "configuration", "calibrated"]

COVERAGES = (0.8, 0.6, 0.4)
"""Shares kept for the rows at a given coverage."""

NEAR = 0.01
"""Where equal scores raise the coverage by less, the row is still called by the coverage asked for."""

NO_MODEL = Absent(absent="no model is asked")
NO_THRESHOLD = Threshold(value=None, origin="none")


@dataclass(frozen=True, slots=True)
class Selection:
    """One way to keep judgments.

    Attributes:
        kept: [n] over the observations it is made for.
        scored: [n] whether there was a score to decide by.
        cost_usd: of asking models; absent where a price or the usage is unknown.
        asked: the name by the coverage asked for, where another one was reached.
    """

    name: str
    kind: Kind
    kept: Bools
    scored: Bools
    threshold: Threshold = NO_THRESHOLD
    cost_usd: float | Absent = NO_MODEL
    calls: int | Absent = NO_MODEL
    asked: str = ""

    @property
    def column(self) -> str:
        """What the row is called beside those of other judges: by the coverage asked for, not the one reached."""
        return self.asked or self.name


@dataclass(frozen=True, slots=True)
class Score:
    """A number for each observation by which the better ones can be kept; None if missing."""

    name: str
    values: Sequence[float | None]
    probability: bool = False

    @property
    def present(self) -> Bools:
        return np.array([value is not None for value in self.values], dtype=bool)


@dataclass(frozen=True, slots=True)
class Probabilities(ABC):
    """P(correct) of judgments, and what is kept by it.

    Attributes:
        name: of the score that they are.
        probabilities: judgment id -> P(correct); judgments without one are not in it.
        marks: judgment id -> what is to be known about its probability.
    """

    name: str
    probabilities: Mapping[str, float]
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict, kw_only=True)

    @property
    @abstractmethod
    def provenance(self) -> dict[str, str]:
        """How they were made, for the report's end."""

    @property
    def meaning(self) -> tuple[str, ...]:
        """Caveats that hold for the rows of every judge, without the full stop."""
        return ()

    def promise_of(self, name: str, judge: str, category: str) -> Promise | None:
        """The promise that covers a judgment; None without one, and outside the calibration's domain."""
        return None

    @abstractmethod
    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows that they make; none without a score."""

    @abstractmethod
    def notes(self, observations: Observations) -> tuple[str, ...]:
        """What is to be known of them for some observations."""

    def score(self, observations: Observations) -> Score:
        """[n] probabilities of some observations; None if missing."""
        return Score(self.name, [self.probabilities.get(one) for one in observations.ids], probability=True)


def keep_all(observations: Observations, name: str = "raw judgments") -> Selection:
    every = np.ones(len(observations), dtype=bool)
    return Selection(name, "raw", every, every)


def keep_order_consistent(observations: Observations) -> Selection:
    """Those whose judge named the same winner in the other order."""
    order = observations.records.evidence["order"]
    found = [order.at(row) for row in observations.rows.tolist()]
    kept = np.array([one is not None and one.state == "agree" for one in found], dtype=bool)
    known = np.array([one is not None and one.value is not None for one in found], dtype=bool)
    return Selection("both orders agree", "evidence", kept, known)


def keep_above(score: Score, threshold: float, name: str, kind: Kind = "evidence") -> Selection:
    """Those that score strictly above a threshold fixed beforehand."""
    kept = np.array([value is not None and bool(exceeds(value, threshold)) for value in score.values], dtype=bool)
    return Selection(name, kind, kept, score.present, Threshold(value=threshold, origin="fixed beforehand"))


def keep_share(score: Score, share: float, kind: Kind) -> Selection | None:
    """The best-scored share of the observations; None where too few of them have a score.

    Judgments of equal score stay together, so more than the share may be kept: a tie is not settled by position. The
    name then gives the share that is kept. No label is looked at.
    """
    ranked = sorted((value for value in score.values if value is not None), reverse=True)
    count = math.ceil(share * len(score.values) - 1e-9)
    if not 1 <= count <= len(ranked):
        return None
    least = ranked[count - 1]
    kept = np.array([value is not None and value >= least for value in score.values], dtype=bool)
    asked = f"{score.name}, best {100 * share:.0f} %"
    reached = float(kept.mean())
    tied = int(kept.sum()) > count and reached - share >= NEAR
    name = f"{score.name}, best {100 * reached:.1f} % (equal scores; {100 * share:.0f} % asked)"
    return Selection(
        name=name if tied else asked,
        kind=kind,
        kept=kept,
        scored=score.present,
        threshold=Threshold(value=least, origin="set by coverage, no label used"),
        asked=asked,
    )


def keep_shares(score: Score, kind: Kind) -> list[Selection]:
    """:func:`keep_share` at each of :data:`COVERAGES`, as far as there are scores."""
    return [row for share in COVERAGES if (row := keep_share(score, share, kind)) is not None]


def keep_majority(observations: Observations) -> Selection:
    """Those that more than half of the peers agree with; every peer has one vote."""
    shares = observations.agreement
    kept = np.array([share is not None and share > 0.5 for share in shares], dtype=bool)
    known = np.array([share is not None for share in shares], dtype=bool)
    return Selection("majority of peers agrees", "evidence", kept, known)


def agreement_score(observations: Observations) -> Score:
    """The share of the peers that agree."""
    return Score("peers that agree", observations.agreement)


def heuristic_score(observations: Observations) -> Score:
    """The uncalibrated score of free evidence (see :func:`metajudge.evidence.score.signal_score`)."""
    return Score("free evidence", observations.heuristic)
