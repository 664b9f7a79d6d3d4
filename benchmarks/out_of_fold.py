"""A calibration fitted to a run's own labels, out of fold by question: what it would keep of new judgments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.folds import question_split
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.quality import precision_at
from metajudge.calibration.sources import DEFAULT_SIGNALS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import VERDICT_KINDS, VerdictKind

from .findings import Threshold
from .observations import Observations
from .selections import COVERAGES, Probabilities, Score, Selection, keep_shares

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_run import RowResult

SCORE_NAME = "calibrated out of fold"
TARGETS = (0.85, 0.9)
"""Precisions that the rows of guaranteed thresholds ask for."""

DELTA = 0.1
SPLIT_SEED = 0
OTHER_HALF = (
    "Rows that aim at a precision apply, to each half of the questions, the threshold that the other half's labels "
    f"guarantee (delta {DELTA:g}, one judgment drawn per question); the probabilities were fitted on both halves, out "
    "of fold, so the guarantee is approximate"
)


@dataclass(frozen=True, slots=True)
class OutOfFold(Probabilities):
    """Probabilities by judgment, means over the seeds, none of which saw a label of its own question.

    Attributes:
        runs: for every seed, judgment id -> probability.
        signals: kind of verdict -> the signals used.
        refused: kind of verdict -> why nothing was fitted.
    """

    runs: Sequence[Mapping[str, float]]
    signals: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]

    @property
    def provenance(self) -> dict[str, str]:
        """How the probabilities were made, for the report's end."""
        used = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in self.signals.items())
        if not used:
            return {}
        seeds = "seed 0" if len(self.runs) == 1 else f"mean over seeds 0 to {len(self.runs) - 1}"
        return {
            "out of fold": f"five folds by question, model chosen within the other folds, {seeds}; signals of {used}"
        }

    @property
    def meaning(self) -> tuple[str, ...]:
        """Caveats that hold for the rows of every judge, without the full stop."""
        refused = [f"nothing is fitted for verdicts of kind {kind}: {why}" for kind, why in self.refused.items()]
        return (*refused, OTHER_HALF) if self.probabilities else tuple(refused)

    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows at given coverage and, where ``full``, those that aim at a precision; none without a score."""
        if not score.present.all():
            return []
        aimed = [_aimed(observations, score, target) for target in TARGETS if full]
        return [*keep_shares(score, "calibrated"), *(row for row in aimed if row is not None)]

    def notes(self, observations: Observations) -> tuple[str, ...]:
        """How much the figures vary with the seed."""
        fitted = any(name in self.probabilities for name in observations.ids)
        return (_by_seed(observations, self.runs),) if fitted and len(self.runs) > 1 else ()


def _aimed(observations: Observations, score: Score, target: float) -> Selection | None:
    """Each half of the questions against the threshold that the other half's labels guarantee."""
    if len(set(observations.of("question"))) < 2:
        return None
    values: Floats = np.array(score.values, dtype=np.float64)
    half = question_split(observations.of("question"), 0.5, SPLIT_SEED)
    kept: Bools = np.zeros(len(values), dtype=bool)
    for part in (0, 1):
        threshold = _threshold(observations, values, half != part, target)
        if threshold is not None:
            kept |= (half == part) & (np.round(values, 9) >= round(threshold, 9))
    origin = Threshold(value=None, origin="guaranteed, set on the other half of the questions")
    return Selection(f"aims at {100 * target:.0f} % precision", "calibrated", kept, score.present, origin)


def _threshold(observations: Observations, values: Floats, at: Bools, target: float) -> float | None:
    questions = [question for question, chosen in zip(observations.of("question"), at, strict=True) if chosen]
    found = guaranteed_threshold(
        values[at], observations.correct[at], questions, target=target, delta=DELTA, approximate=True
    )
    return found.threshold if isinstance(found, Guarantee) else None


def _by_seed(observations: Observations, runs: Sequence[Mapping[str, float]]) -> str:
    """Mean and standard deviation over single seeds of the precision at each coverage."""
    names = [name for name in observations.ids if name in runs[0]]
    correct = observations.correct[[name in runs[0] for name in observations.ids]]
    cells = []
    for share in COVERAGES:
        found = [100 * precision_at(np.array([run[name] for name in names]), correct, share) for run in runs]
        cells.append(f"best {100 * share:.0f} % {np.mean(found):.1f} (sd {np.std(found, ddof=1):.2f})")
    return f"Each of the {len(runs)} seeds by itself, mean precision in % and standard deviation: {', '.join(cells)}."


def fit_out_of_fold(bench: "Bench", seeds: int, results: "Sequence[RowResult]" = ()) -> OutOfFold:
    """Fits a calibration to the labels of the judgments reported, every kind of verdict by itself.

    Args:
        results: configurations that ran; the scores of those that a grid marks as ``calibrated`` are signals, too.
        seeds: divisions into folds; the probabilities are their means.
    """
    scores = _scores(results)
    runs: list[dict[str, float]] = [{} for _ in range(seeds)]
    signals: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for kind in bench.observations.kinds:
        try:
            table = _table(bench, kind, scores)
            values = [out_of_fold(table, seed=seed) for seed in range(seeds)]
        except InputError as error:
            refused[kind] = str(error)
            continue
        signals[kind] = table.signals
        for run, probabilities in zip(runs, values, strict=True):
            run.update(zip(table.judgment_ids, (float(value) for value in probabilities), strict=True))
    means = {name: float(np.mean([run[name] for run in runs])) for name in (runs[0] if runs else {})}
    return OutOfFold(SCORE_NAME, means, runs, signals, refused)


def reward_scores(bench: "Bench") -> list[RewardScore] | None:
    """Scores of reward models beside the data; None without a file of them."""
    path = find_reward_scores(bench.folder)
    return None if path is None else read_reward_scores(path)


def _scores(results: "Sequence[RowResult]") -> AgentScores | None:
    """The scores of the configurations to calibrate: one a judge, so each judgment has one assessment."""
    chosen = [one for one in results if one.row.configuration is not None and one.row.configuration.calibrated]
    assessments = [assessment for one in chosen for assessment in one.assessments.values()]
    return AgentScores.from_assessments(assessments) if assessments else None


def _table(bench: "Bench", kind: VerdictKind, scores: AgentScores | None) -> SignalTable:
    signals = bench.request.signals
    if scores is not None and signals is None:
        signals = (*DEFAULT_SIGNALS[kind], "agents")
    every, wanted = bench.records.facts, set(bench.observations.only(bench.observations.judges, kind).ids)
    facts = every.select(np.flatnonzero((every.kind < 0) | (every.kind == VERDICT_KINDS.index(kind))))
    table = table_of(
        facts,
        signals,
        kind=kind,
        right=bench.rules[kind],
        report=np.array([name in wanted for name in facts.judgment_ids], dtype=bool),
        rewards=reward_scores(bench) if signals is None or "rewards" in signals else None,
        agent_scores=scores if signals is not None and "agents" in signals else None,
    )
    rows = table.select(table.labelled).sorted()
    return rows.without_absent()[0] if bench.request.signals is None else rows  # the judges asked for may lack some
