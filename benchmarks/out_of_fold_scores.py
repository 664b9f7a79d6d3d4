"""Probabilities that were fitted to a run's own labels, out of fold, and what they would keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.domain import Mark
from metajudge.calibration.folds import question_split
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.promise import Promise
from metajudge.calibration.quality import precision_at
from metajudge.stats.arrays import Bools, Floats

from .findings import Threshold
from .observations import Observations
from .selections import COVERAGES, Score, Selection, keep_share

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
class OutOfFold:
    """Probabilities by judgment, none of which saw a label of its own question.

    Attributes:
        probabilities: judgment id -> mean over the seeds.
        runs: for every seed, judgment id -> probability.
        signals: kind of verdict -> the signals used.
        refused: kind of verdict -> why nothing was fitted.
    """

    probabilities: Mapping[str, float]
    runs: Sequence[Mapping[str, float]]
    signals: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]

    @property
    def marks(self) -> Mapping[str, tuple[Mark, ...]]:
        """None: every judgment was fitted on, and has its out-of-fold probability."""
        return {}

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

    def score(self, observations: Observations) -> Score:
        """[n] probabilities of some observations; None if missing."""
        values = [self.probabilities.get(name) for name in observations.ids]
        return Score(SCORE_NAME, values, probability=True)

    def promise_of(self, name: str, judge: str, category: str) -> Promise | None:
        """None: the thresholds of a run hold for its own questions, not for a judgment."""
        return None

    @property
    def meaning(self) -> tuple[str, ...]:
        """Caveats that hold for the rows of every judge, without the full stop."""
        refused = [f"nothing is fitted for verdicts of kind {kind}: {why}" for kind, why in self.refused.items()]
        return (*refused, OTHER_HALF) if self.probabilities else tuple(refused)

    def selections(self, observations: Observations, score: Score, *, full: bool = True) -> list[Selection]:
        """The rows at given coverage and, where ``full``, those that aim at a precision; none without a score."""
        if not score.present.all():
            return []
        rows = [keep_share(score, share, "calibrated") for share in COVERAGES]
        rows += [_aimed(observations, score, target) for target in TARGETS if full]
        return [row for row in rows if row is not None]

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
