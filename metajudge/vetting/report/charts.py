"""Charts of a vetting run, and its judgments with their texts: as they are, or as people see them who judge blind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from metajudge.evidence.words import signal_lines
from metajudge.report.document import CoverageChart, Curve, CurvePoint, Exhibit, Histogram, HistogramPart, Mark, Passage
from metajudge.reviewables.judgments import blind_texts
from metajudge.stats.clustered import clustered_proportion
from metajudge.strategies.rule import Rule
from metajudge.types import Assessment, Judgment
from metajudge.vetting.picture import FATES, Fate, Picture, Shown

BINS: Final = 40
POINTS: Final = 12
"""Selections on the curve, at most."""
FEWEST: Final = 10
"""Labelled judgments that a point of the curve needs."""
SERIES: Final[Mapping[Fate, int]] = {"keep": 2, "ask": 4, "discard": 1}
"""The colour of what is to be done, in charts and headline figures."""
TITLES: Final = {"probability": "Calibrated probability of being right", "agreement": "Share of peers that agree"}
"""What the numbers are, where they are no scores."""
_NAMES: Final = {"keep": "kept", "ask": "a person is asked", "discard": "discarded"}


def histogram(picture: Picture) -> Histogram | None:
    """Scores, or probabilities, by what becomes of the judgments; None where there are none."""
    if not picture.values:
        return None
    values = sorted({value for value, _ in picture.values})
    low, high = 0.0, 1.0
    if picture.by in (None, "score"):  # the scale goes from 1 to 5, unless a score lies beyond
        low, high = min(1.0, float(np.floor(values[0]))), max(5.0, float(np.ceil(values[-1])))
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


LONGEST: Final = 4_000
"""Characters shown of a text; what is left out is counted."""
WEIGHED: Final = ("order", "peers", "repeats", "variants", "rationale")
_FATES: Final = {"keep": "kept", "ask": "ask a person", "discard": "discarded"}


def exhibits(shown: Sequence[Shown], picture: Picture) -> Iterator[Exhibit]:
    """One exhibit for each judgment whose texts are there; the first is open."""
    for number, one in enumerate(shown):
        if one.judgment is None:
            continue
        made = _blind(number, one.judgment) if one.blind else _full(one, one.judgment, picture)
        yield made.model_copy(update={"open": number == 0})


def _full(one: Shown, judgment: Judgment, picture: Picture) -> Exhibit:
    assessment = one.assessment
    verdict = "no verdict" if judgment.verdict is None else f"says {judgment.verdict}"
    value = picture.value(assessment)
    noun = {"probability": "probability", "agreement": "share of agreeing peers"}.get(picture.by or "", "score")
    number = f"no {noun}" if value is None else f"{noun} {value:.3g}"
    status = f"{judgment.judge} {verdict} · {number} · {_FATES[assessment.do.action]}"
    if one.right is not None:
        status += f" · by the label {'right' if one.right else 'wrong'}"
    winner = None if judgment.verdict is None else judgment.verdict.winner
    beside = [
        Passage(title=f"Response {name}{', which the judge prefers' if winner == name else ''}", text=_cut(text))
        for name, text in judgment.item.responses.items()
    ]
    below = [Passage(title=f"What {judgment.judge} wrote", text=_cut(judgment.rationale))] if judgment.rationale else []
    return Exhibit(
        title=judgment.id,
        status=status,
        lines=tuple(_lines(assessment)),
        above=(Passage(title="Question", text=_cut(judgment.item.question)),),
        beside=tuple(beside),
        below=(*below, *_reference(judgment)),
    )


def _blind(number: int, judgment: Judgment) -> Exhibit:
    texts = blind_texts(judgment)
    return Exhibit(
        title=f"Judgment {number + 1}",
        status="to be judged blind",
        lines=("The policy has people judge this one before its result is shown: metajudge review next --blind",),
        above=(Passage(title="Question", text=_cut(judgment.item.question)),),
        beside=tuple(
            Passage(title=f"Response {place}", text=_cut(text)) for place, text in enumerate(texts.values(), start=1)
        ),
        below=_reference(judgment),
    )


def _lines(assessment: Assessment) -> Iterator[str]:
    reason = assessment.do.reason
    yield f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
    for name, signal in (assessment.signals or {}).items():
        if name in WEIGHED and signal.value is not None:
            line = signal_lines({name: signal})[0]
            yield f"{line.words}{f' ({line.detail})' if line.detail else ''}"
    for agent in assessment.members:
        if agent.score is not None:
            yield f"{agent.agent} gives {agent.score:.3g}."
        elif agent.failure is not None:
            yield f"{agent.agent} failed: {agent.failure.message}"


def _reference(judgment: Judgment) -> tuple[Passage, ...]:
    reference = judgment.item.reference
    return (Passage(title="Reference", text=_cut(reference)),) if reference else ()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"
