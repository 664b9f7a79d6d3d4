"""Charts of a vetting run: how scores lie, and precision at falling coverage."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from metajudge.report.document import CoverageChart, Curve, CurvePoint, Histogram, HistogramPart, Mark
from metajudge.stats.clustered import clustered_proportion
from metajudge.strategies.rule import Rule
from metajudge.vetting.report.picture import FATES, Fate, Picture

BINS: Final = 40
POINTS: Final = 12
"""Selections on the curve, at most."""
FEWEST: Final = 10
"""Labelled judgments that a point of the curve needs."""
SERIES: Final[Mapping[Fate, int]] = {"keep": 2, "ask": 4, "discard": 1}
"""The colour of what is to be done, in charts and headline figures."""
TITLES: Final = {
    "probability": "Calibrated probability of being right",
    "agreement": "Share of peers that agree",
}
"""What the numbers are, where they are no scores."""
_NAMES: Final = {"keep": "kept", "ask": "a person is asked", "discard": "discarded"}


def histogram(picture: Picture) -> Histogram | None:
    """Scores, or probabilities, by what becomes of the judgments; None where there are none."""
    if not picture.values:
        return None
    values = sorted({value for value, _ in picture.values})
    low, high = _ends(values[0], values[-1]) if picture.by in (None, "score") else (0.0, 1.0)
    edges = [low + (high - low) * place / BINS for place in range(BINS + 1)]
    counts = {fate: [0] * BINS for fate in FATES}
    for (value, fate), count in picture.values.items():
        place = int((value - low) / (high - low) * BINS + 1e-9)
        counts[fate][min(max(place, 0), BINS - 1)] += count
    name = TITLES.get(picture.by or "score", "Score")
    line = "" if picture.threshold is None else f" The line is the cut, {picture.threshold:.4g}."
    total = sum(picture.values.values())
    return Histogram(
        title=f"{name} of {total:,} judgments",
        description=f"Judgments without a score are not drawn.{line}",
        x_title=name,
        edges=tuple(round(edge, 6) for edge in edges),
        parts=tuple(
            HistogramPart(name=_NAMES[fate], series=SERIES[fate], counts=tuple(counts[fate]))
            for fate in FATES
            if any(counts[fate])
        ),
        reference=picture.threshold,
    )


def coverage_chart(picture: Picture) -> CoverageChart | None:
    """Precision of the best-scored judgments at falling coverage; None with too few labels.

    Selections end between different scores alone: judgments with equal scores are kept together or not at all.
    """
    labelled = picture.labelled
    if len(labelled) < FEWEST:
        return None
    values = np.round(np.array(labelled.values), 9)
    order = np.argsort(-values, kind="stable")
    values, right = values[order], np.array(labelled.right, dtype=np.float64)[order]
    questions = np.array(labelled.questions, dtype=np.uint64)[order]
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, len(values))
    ends = ends[ends >= min(FEWEST, len(values))]
    wanted = np.linspace(0, len(values), POINTS + 1)[1:]
    chosen = sorted({int(ends[np.argmin(np.abs(ends - one))]) for one in wanted})
    points = []
    for end in chosen:
        found = clustered_proportion(right[:end], questions[:end])
        points.append(
            CurvePoint(
                coverage=end / len(values), precision=found.estimate, low=found.low, high=found.high, selected=end
            )
        )
    name = {"probability": "by probability", "agreement": "by agreement"}.get(picture.by or "", "by score")
    marks: tuple[Mark, ...] = ()
    if picture.threshold is not None:
        kept = Rule(picture.by or "score", picture.threshold).keeps(values)
        if kept.any():
            share = float(right[kept].mean())
            marks = (Mark(name="at the threshold", coverage=float(kept.mean()), precision=share),)
    return CoverageChart(
        title=f"Precision against coverage, {len(values):,} labelled judgments",
        description="Each point keeps the judgments with the highest scores; equal scores stay together. The "
        "band is pointwise, so the best point is no threshold to rely on: `metajudge calibrate threshold` tests one.",
        curves=(Curve(name=name, points=tuple(points)),),
        marks=marks,
        raw=float(right.mean()),
    )


def _ends(low: float, high: float) -> tuple[float, float]:
    """The ends of the scale: 1 and 5, unless a score lies beyond."""
    return min(1.0, float(np.floor(low))), max(5.0, float(np.ceil(high)))
