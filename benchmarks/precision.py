"""Which judgments are kept, by what; and the precision of what was kept, with intervals and paired comparisons.

``precision = TP / (TP + FP)`` of the kept judgments ("Leveraging LLMs as Meta-Judges", arXiv 2504.17087, equation 4),
``coverage`` kept of all decided, ``recall`` kept right of all right. Every interval is by question, because the two
orders of a pair, and judges on one question, are not independent.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metajudge.calibration.domain import Mark
from metajudge.calibration.promise import Promise
from metajudge.report.document import Absent, Curve, CurvePoint, ReliabilitySeries
from metajudge.report.document import Bin as ReliabilityBin
from metajudge.scoring.formulas import exceeds
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.bootstrap import BootstrapEstimate, Ratio, SharedDraws, bootstrap_differences

from .findings import OVERALL, PrecisionCell, PrecisionDifference, PrecisionRow, Proportion, SwapCounts, Threshold
from .observations import Observations
from .tally import TIE, PairGames

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


@dataclass(frozen=True)
class Score:
    """A number for each observation by which the better ones can be kept; None if missing."""

    name: str
    values: Sequence[float | None]
    probability: bool = False

    @cached_property
    def array(self) -> Floats:
        """[n] the numbers; NaN if missing."""
        return np.array([math.nan if value is None else value for value in self.values], dtype=np.float64)

    @property
    def present(self) -> Bools:
        return ~np.isnan(self.array)


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
    codes = order.codes[observations.rows]
    kept = np.array([*(one.state == "agree" for one in order.values), False], dtype=bool)[codes]
    known = np.array([*(one.value is not None for one in order.values), False], dtype=bool)[codes]
    return Selection("both orders agree", "evidence", kept, known)


def keep_above(score: Score, threshold: float, name: str, kind: Kind = "evidence") -> Selection:
    """Those that score strictly above a threshold fixed beforehand."""
    limit = Threshold(value=threshold, origin="fixed beforehand")
    return Selection(name, kind, exceeds(score.array, threshold), score.present, limit)


def keep_share(score: Score, share: float, kind: Kind) -> Selection | None:
    """The best-scored share of the observations; None where too few of them have a score.

    Judgments of equal score stay together, so more than the share may be kept: a tie is not settled by position. The
    name then gives the share that is kept. No label is looked at.
    """
    ranked = np.sort(score.array[score.present])[::-1]
    count = math.ceil(share * len(score.values) - 1e-9)
    if not 1 <= count <= len(ranked):
        return None
    least = float(ranked[count - 1])
    kept = score.array >= least
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
    shares = agreement_score(observations)
    return Selection("majority of peers agrees", "evidence", shares.array > 0.5, shares.present)


def agreement_score(observations: Observations) -> Score:
    """The share of the peers that agree."""
    return Score("peers that agree", observations.agreement)


SEED = 20_260_101
RESAMPLES = 2_000

NOTHING = Absent(absent="nothing selected")
RAW_ROW = Absent(absent="this is the raw row")
BASELINE_ROW = Absent(absent="this is the baseline row")
NO_BASELINE = Absent(absent="no baseline was run: it asks the judge's own model")
FEWEST_QUESTIONS = 2
FEWEST_SELECTED = 10
"""A bootstrap of fewer judgments than these knows too few outcomes: its interval would be far too narrow."""


def precision_rows(
    observations: Observations,
    selections: Sequence[Selection],
    categories: Sequence[str],
    draws: SharedDraws | None = None,
    *,
    by_category: bool = True,
) -> list[PrecisionRow]:
    """A row for every selection, compared with everything (raw) and with the baseline where there is one.

    Args:
        categories: columns, :data:`OVERALL` not among them; empty ones are left out.
        draws: resamples that the tables of a run share; None for draws of its own.
    """
    draws = draws or SharedDraws(SEED, RESAMPLES)
    groups = {OVERALL: np.ones(len(observations), dtype=bool)}
    if by_category:
        groups |= {name: mask for name in categories if (mask := observations.where("category", name)).any()}
    orders = {order: observations.where("order", order) for order in sorted(set(observations.of("order")))}
    columns = {name: _cells(observations, selections, mask, draws) for name, mask in groups.items()}
    of_orders = {name: _cells(observations, selections, mask, draws) for name, mask in orders.items()}
    return [
        PrecisionRow(
            name=selection.name,
            column=selection.column,
            kind=selection.kind,
            threshold=selection.threshold,
            cells={name: cells[at] for name, cells in columns.items()},
            orders={name: cells[at] for name, cells in of_orders.items()},
            unscored=int((~selection.scored).sum()),
            cost_usd=selection.cost_usd,
            calls=selection.calls,
        )
        for at, selection in enumerate(selections)
    ]


def _cells(
    observations: Observations, selections: Sequence[Selection], mask: Bools, draws: SharedDraws
) -> list[PrecisionCell]:
    """Every selection among the judgments of ``mask``; all comparisons are made on the same resamples."""
    correct, questions = observations.correct[mask], observations.questions[mask]
    every, n, right = np.ones(len(correct), dtype=bool), len(correct), int(correct.sum())
    single = next((one for one in selections if one.kind == "baseline"), None)
    baseline = NO_BASELINE if single is None else single.kept[mask]
    against_raw = [RAW_ROW if one.kind == "raw" else every for one in selections]
    against_baseline = [BASELINE_ROW if one is single else baseline for one in selections]
    kept = [one.kept[mask] for one in selections]
    return [
        PrecisionCell(
            n=n,
            right=right,
            selected=int(mine.sum()),
            selected_right=int((correct & mine).sum()),
            precision=Proportion.of(correct[mine], questions[mine]) if mine.any() else NOTHING,
            coverage=int(mine.sum()) / n,
            recall=int((correct & mine).sum()) / right if right else Absent(absent="no judgment is right here"),
            against_raw=raw,
            against_baseline=alone,
        )
        for mine, raw, alone in zip(
            kept,
            _differences(correct, questions, kept, against_raw, draws),
            _differences(correct, questions, kept, against_baseline, draws),
            strict=True,
        )
    ]


def _differences(
    correct: Bools,
    questions: NDArray[np.str_],
    kept: Sequence[Bools],
    others: Sequence[Bools | Absent],
    draws: SharedDraws,
) -> list[PrecisionDifference | Absent]:
    """Precision of what is kept minus that of another selection, whole questions resampled together."""
    few = len(np.unique(questions)) < FEWEST_QUESTIONS
    pairs: list[tuple[Ratio, Ratio]] = []
    why: list[Absent | None] = []
    for mine, other in zip(kept, others, strict=True):
        why.append(other if isinstance(other, Absent) else _incomparable(mine, other, few=few))
        if why[-1] is None and not isinstance(other, Absent):
            pairs.append((Ratio(correct & mine, mine), Ratio(correct & other, other)))
    found = iter(bootstrap_differences(pairs, questions.tolist(), draws=draws))
    return [_difference(next(found)) if absent is None else absent for absent in why]


def _incomparable(kept: Bools, other: Bools, *, few: bool) -> Absent | None:
    if not kept.any():
        return NOTHING
    if not other.any():
        return Absent(absent="the row compared with selected nothing")
    if min(kept.sum(), other.sum()) < FEWEST_SELECTED:
        return Absent(absent=f"fewer than {FEWEST_SELECTED} selected: too few to compare")
    return Absent(absent="one question alone has no interval") if few else None


def _difference(found: BootstrapEstimate) -> PrecisionDifference:
    fields = {"value": found.estimate, "low": found.low, "high": found.high}
    return PrecisionDifference(**fields, questions=found.clusters, resamples=found.resamples)


def coverage_curve(observations: Observations, score: Score, steps: int = 20) -> Curve | None:
    """Precision of the best-scored judgments at rising coverage; the band is by question.

    Equal scores stay together, so a score of few values gives few points. Points that keep fewer than ten judgments
    are left out: their bands say nothing. None where no point is left.
    """
    values = score.array
    ranked = np.sort(values[score.present])[::-1]
    counts = {round(len(values) * step / steps) for step in range(1, steps + 1)}
    thresholds = sorted(
        {ranked[count - 1] for count in counts if FEWEST_SELECTED <= count <= len(ranked)}, reverse=True
    )
    if not thresholds or len(set(observations.of("question"))) < FEWEST_QUESTIONS:
        return None
    points = [_curve_point(observations, values >= threshold) for threshold in thresholds]
    return Curve(name=score.name, points=tuple(points))


def _curve_point(observations: Observations, kept: Bools) -> CurvePoint:
    found = Proportion.of(observations.correct[kept], observations.questions[kept])
    low, high = found.interval
    return CurvePoint(
        coverage=float(kept.mean()),
        precision=found.share,
        low=min(low, found.share),
        high=max(high, found.share),
        selected=found.n,
    )


def reliability(observations: Observations, score: Score, bins: int = 10) -> ReliabilitySeries | None:
    """Equal-count bins of a probability against the share that was right, with intervals by question.

    Judgments of equal probability share a bin.
    """
    present = score.present
    if not present.any():
        return None
    values = score.array[present]
    correct, questions = observations.correct[present], observations.questions[present]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    found = []
    for number in np.unique(place):
        inside = place == number
        share = Proportion.of(correct[inside], questions[inside])
        found.append(
            ReliabilityBin(
                predicted=float(np.clip(values[inside].mean(), 0, 1)),
                observed=share.share,
                low=share.low,
                high=share.high,
                n=share.n,
            )
        )
    return ReliabilitySeries(name=score.name, bins=tuple(found))


def swap_counts(pairs: Iterable[PairGames]) -> SwapCounts:
    """Counts the pairs judged in both orders by their two games: right, wrong, or None where no winner was named."""
    both = [
        tuple(None if game in (None, TIE) else game == pair.label for game in pair.games)
        for pair in pairs
        if len(pair.games) == 2
    ]
    return SwapCounts(
        both_right=both.count((True, True)),
        both_wrong=both.count((False, False)),
        disagree=both.count((True, False)) + both.count((False, True)),
        one_undecided=sum((first is None) != (second is None) for first, second in both),
        both_undecided=both.count((None, None)),
    )
