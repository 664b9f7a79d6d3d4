"""Precision of what was kept, with coverage, recall, intervals and paired comparisons.

``precision = TP / (TP + FP)`` of the kept judgments ("Leveraging LLMs as Meta-Judges", arXiv 2504.17087, equation 4),
``coverage`` kept of all decided, ``recall`` kept right of all right. Every interval is by question, because the two
orders of a pair, and judges on one question, are not independent.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.report.document import Absent, Curve, CurvePoint, ReliabilitySeries
from metajudge.report.document import Bin as ReliabilityBin
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.bootstrap import BootstrapEstimate, Ratio, SharedDraws, bootstrap_differences

from .findings import OVERALL, PrecisionCell, PrecisionDifference, PrecisionRow, Proportion, SwapCounts
from .observations import Observations
from .selections import Score, Selection

SEED = 20_260_101
RESAMPLES = 2_000

NOTHING = Absent(absent="nothing selected")
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
    groups = {OVERALL: np.ones(len(observations), dtype=bool)}
    if by_category:
        groups |= {name: mask for name in categories if (mask := observations.where("category", name)).any()}
    orders = {order: observations.where("order", order) for order in sorted(set(observations.of("order")))}
    baseline = next((s for s in selections if s.kind == "baseline"), None)
    correct, questions = observations.correct, np.array(observations.of("question"))
    frame = _Frame(correct, questions, baseline, draws or SharedDraws(SEED, RESAMPLES))
    columns = {name: frame.cells(selections, mask) for name, mask in groups.items()}
    of_orders = {name: frame.cells(selections, mask) for name, mask in orders.items()}
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


class _Frame:
    """What all cells of a table share."""

    def __init__(
        self, correct: Bools, questions: NDArray[np.str_], baseline: Selection | None, draws: SharedDraws
    ) -> None:
        self.correct, self.questions, self.baseline, self.draws = correct, questions, baseline, draws

    def cells(self, selections: Sequence[Selection], mask: Bools) -> list[PrecisionCell]:
        """Every selection among the judgments of ``mask``; all comparisons are made on the same resamples."""
        raw = self._differences([self._against_raw(one, mask) for one in selections], mask)
        baseline = self._differences([self._against_baseline(one, mask) for one in selections], mask)
        return [self._cell(one, mask, *against) for one, *against in zip(selections, raw, baseline, strict=True)]

    def _cell(
        self,
        selection: Selection,
        mask: Bools,
        against_raw: PrecisionDifference | Absent,
        against_baseline: PrecisionDifference | Absent,
    ) -> PrecisionCell:
        correct, kept = self.correct[mask], selection.kept[mask]
        n, right, selected = len(correct), int(correct.sum()), int(kept.sum())
        hits = int((correct & kept).sum())
        return PrecisionCell(
            n=n,
            right=right,
            selected=selected,
            selected_right=hits,
            precision=Proportion.of(correct[kept], self.questions[mask][kept]) if selected else NOTHING,
            coverage=selected / n,
            recall=hits / right if right else Absent(absent="no judgment is right here"),
            against_raw=against_raw,
            against_baseline=against_baseline,
        )

    def _against_raw(self, selection: Selection, mask: Bools) -> "_Compared | Absent":
        if selection.kind == "raw":
            return Absent(absent="this is the raw row")
        return selection.kept[mask], np.ones(int(mask.sum()), dtype=bool)

    def _against_baseline(self, selection: Selection, mask: Bools) -> "_Compared | Absent":
        if self.baseline is None:
            return Absent(absent="no baseline was run: it asks the judge's own model")
        if selection is self.baseline:
            return Absent(absent="this is the baseline row")
        return selection.kept[mask], self.baseline.kept[mask]

    def _differences(self, wanted: "Sequence[_Compared | Absent]", mask: Bools) -> list[PrecisionDifference | Absent]:
        """Precision of the first selection minus that of the second, whole questions resampled together."""
        correct, questions = self.correct[mask], self.questions[mask].tolist()
        few = len(set(questions)) < FEWEST_QUESTIONS
        why = [one if isinstance(one, Absent) else _incomparable(*one, few=few) for one in wanted]
        pairs = [
            (Ratio(correct & kept, kept), Ratio(correct & other, other))
            for one, absent in zip(wanted, why, strict=True)
            if absent is None and not isinstance(one, Absent)
            for kept, other in (one,)
        ]
        found = iter(bootstrap_differences(pairs, questions, draws=self.draws))
        return [_difference(next(found)) if absent is None else absent for absent in why]


_Compared: TypeAlias = tuple[Bools, Bools]
"""What two selections keep."""


def _incomparable(kept: Bools, other: Bools, *, few: bool) -> Absent | None:
    if not kept.any():
        return NOTHING
    if not other.any():
        return Absent(absent="the row compared with selected nothing")
    if min(kept.sum(), other.sum()) < FEWEST_SELECTED:
        return Absent(absent=f"fewer than {FEWEST_SELECTED} selected: too few to compare")
    return Absent(absent="one question alone has no interval") if few else None


def _difference(found: BootstrapEstimate) -> PrecisionDifference:
    return PrecisionDifference(
        value=found.estimate, low=found.low, high=found.high, questions=found.clusters, resamples=found.resamples
    )


def coverage_curve(observations: Observations, score: Score, steps: int = 20) -> Curve | None:
    """Precision of the best-scored judgments at rising coverage; the band is by question.

    Equal scores stay together, so a score of few values gives few points. Points that keep fewer than ten judgments
    are left out: their bands say nothing. None where no point is left.
    """
    values = np.array([-np.inf if value is None else value for value in score.values])
    ranked = np.sort(values[np.isfinite(values)])[::-1]
    counts = {round(len(values) * step / steps) for step in range(1, steps + 1)}
    thresholds = sorted(
        {ranked[count - 1] for count in counts if FEWEST_SELECTED <= count <= len(ranked)}, reverse=True
    )
    if not thresholds or len(set(observations.of("question"))) < FEWEST_QUESTIONS:
        return None
    points = [_curve_point(observations, values >= threshold) for threshold in thresholds]
    return Curve(name=score.name, points=tuple(points))


def _curve_point(observations: Observations, kept: Bools) -> CurvePoint:
    found = Proportion.of(observations.correct[kept], np.array(observations.of("question"))[kept])
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
    values: Floats = np.array([value for value in score.values if value is not None])
    correct, questions = observations.correct[present], np.array(observations.of("question"))[present]
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


def swap_counts(games: Sequence[tuple[bool | None, bool | None]]) -> SwapCounts:
    """Counts pairs by their two games: right, wrong, or None where no winner was named."""
    both = list(games)
    return SwapCounts(
        both_right=both.count((True, True)),
        both_wrong=both.count((False, False)),
        disagree=both.count((True, False)) + both.count((False, True)),
        one_undecided=sum((first is None) != (second is None) for first, second in both),
        both_undecided=both.count((None, None)),
    )
