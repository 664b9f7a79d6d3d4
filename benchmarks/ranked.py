"""Precision of the best-scored share, and the coverage at a precision, with intervals from resampled questions.

Where equal scores reach beyond the share asked for, the tie counts with its mean: no tie is settled by position. The
same seed draws the same questions, so that figures of several scores can be compared resample by resample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from metajudge.report import Measured
from metajudge.stats.arrays import Floats

SEED = 20_260_101
RESAMPLES = 1_000
Figure = Callable[[Floats, Floats], Floats]
"""From sums of right ones and of all, [groups, resamples], to [resamples]."""

_CELLS = 2_000_000
"""Cells of one chunk of resamples: distinct scores times resamples."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of the data and of each resample of their questions.

    Attributes:
        estimate: of the data.
        drawn: [resamples].
    """

    estimate: float
    drawn: Floats

    def measured(self, confidence: float = 0.95) -> Measured:
        """The estimate with its percentile interval."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(self.drawn, [tail, 1 - tail])
        return Measured(value=self.estimate, low=float(low), high=float(high))


class Ranked:
    """Scores from the best one down, and how many right ones of each question stand at each.

    Args:
        scores: [n], finite.
        right: [n] 0 or 1.
        questions: [n] the question of each.
    """

    def __init__(self, scores: ArrayLike, right: ArrayLike, questions: Sequence[str]) -> None:
        values, correct = -np.asarray(scores, dtype=np.float64).round(9), np.asarray(right, dtype=np.float64)
        distinct, rank = np.unique(values, return_inverse=True)
        names, of = np.unique(np.asarray(questions, dtype=str), return_inverse=True)
        shape, at = (len(distinct), len(names)), (rank.ravel(), of.ravel())
        self._right = coo_array((correct, at), shape=shape).tocsr()
        self._all = coo_array((np.ones(len(values)), at), shape=shape).tocsr()
        self._groups, self._questions = shape

    def precision(self, share: float) -> Spread:
        """Precision of the best ``share`` in (0, 1]."""
        return self._spread(lambda right, every: _precision(right, every, share))

    def coverage(self, target: float) -> Spread:
        """The largest share whose best-scored judgments have at least this precision, ties together; 0 where none.

        It is read off the same labels that it is measured on: what the scores allow, not what a threshold promises.
        """
        return self._spread(lambda right, every: _coverage(right, every, target))

    def _spread(self, figure: Figure) -> Spread:
        whole = figure(*self._sums(np.ones((self._questions, 1))))
        rng, drawn = np.random.default_rng(SEED), []
        step = max(1, _CELLS // max(self._groups, self._questions))
        for start in range(0, RESAMPLES, step):
            size = min(step, RESAMPLES - start)
            picked = rng.integers(0, self._questions, size=(size, self._questions))
            picked += self._questions * np.arange(size)[:, None]
            counts = np.bincount(picked.ravel(), minlength=size * self._questions).reshape(size, self._questions)
            drawn.append(figure(*self._sums(np.ascontiguousarray(counts.T, dtype=np.float64))))
        return Spread(float(whole[0]), np.concatenate(drawn))

    def _sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """[groups, resamples] right ones and all, from the best score down to each."""
        return np.cumsum(self._right @ weights, axis=0), np.cumsum(self._all @ weights, axis=0)


def _precision(right: Floats, every: Floats, share: float) -> Floats:
    target = share * every[-1]
    edge = (every >= target - 1e-9).argmax(axis=0)
    at = np.arange(every.shape[1])
    before = np.maximum(edge - 1, 0)
    above, hits = np.where(edge > 0, every[before, at], 0.0), np.where(edge > 0, right[before, at], 0.0)
    tied, tied_hits = every[edge, at] - above, right[edge, at] - hits
    return np.asarray((hits + (target - above) * tied_hits / tied) / target)


def _coverage(right: Floats, every: Floats, target: float) -> Floats:
    reached = right >= target * every - 1e-9
    return np.asarray(np.where(reached & (every > 0), every, 0.0).max(axis=0) / every[-1])
