"""Pooling labels of one's own with a prior over sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from metajudge.calibration.design import Design, design_of, learn, transform
from metajudge.calibration.folds import question_folds
from metajudge.calibration.item_model import Workbench, logistic
from metajudge.calibration.levels import Level
from metajudge.calibration.model import Logistic
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import SignalTable
from metajudge.calibration.transfer import OwnLabels, Prior, Transfer, evidence_of, matrix_of
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats

MOST_OF_ITEM = 24
"""Judgments of an item that are learned from: more of them say nearly the same."""

OWN_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""C of what labels of one's own add, as in :data:`~metajudge.calibration.item_model.PENALTIES`."""

FEW_PENALTY = 0.1
"""C where questions are too few to choose it by, and where others are not clearly better: near the best one with 10 to
100 labelled questions of every set."""

ENOUGH = 50
"""Questions to choose another penalty by."""

FOLDS = 5

DIGITS = 9


def thinned(table: SignalTable, most: int, seed: int) -> SignalTable:
    """At most so many rows of each item, drawn."""
    order = np.random.default_rng(seed).permutation(len(table))
    item = np.unique(np.array(table.item_ids, dtype=str), return_inverse=True)[1].ravel()[order]
    by_item = np.argsort(item, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(item[by_item]) > 0])
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return table.select(np.sort(order[by_item[rank < most]]))


def pool(table: SignalTable, prior: Prior, *, seed: int = 0, penalty: float | None = None) -> Transfer:
    """The prior with labels of one's own; without any it is the prior alone.

    A model of the item (:mod:`metajudge.calibration.item_model`) is fitted to what the prior leaves unexplained,
    together with the six weights, which are drawn to the prior. Its penalty is :data:`FEW_PENALTY`; with :data:`ENOUGH`
    questions another one where it is better by more than a standard error on questions left out.

    Args:
        table: with the signal ``free`` and those of the model of the item; rows without a label are left out.
        seed: of folds, and of the draw where an item has more than :data:`MOST_OF_ITEM` rows.
        penalty: C; None to choose it.
    """
    rows = thinned(table.select(table.labelled), MOST_OF_ITEM, seed)
    if not len(rows):
        return Transfer(prior=prior)
    with threadpool_limits(limits=1):
        return Transfer(prior=prior, own=_own(rows, prior, penalty or _penalty(rows, prior, seed)))


def _penalty(rows: SignalTable, prior: Prior, seed: int) -> float:
    """Of the penalties whose loss on questions left out is within a standard error of the least, the usual one."""
    if len(set(rows.questions)) < ENOUGH:
        return FEW_PENALTY
    question = np.unique(np.array(rows.questions, dtype=str), return_inverse=True)[1].ravel()
    fold, losses = question_folds(rows.questions, FOLDS, [seed, 0]), np.zeros((len(OWN_PENALTIES), question.max() + 1))
    for part in range(FOLDS):
        at = np.flatnonzero(fold == part)
        test, work = rows.select(at), _Work.of(rows.select(fold != part), prior)
        for place, penalty in enumerate(OWN_PENALTIES):
            found, _ = Transfer(prior=prior, own=work.fit(penalty)).probabilities(test)
            losses[place] += np.bincount(question[at], log_losses(found, test.correct), losses.shape[1])
    worse = losses - losses[losses.sum(axis=1).argmin()]
    within = worse.sum(axis=1) <= np.sqrt(worse.shape[1]) * worse.std(axis=1)
    near = [abs(np.log(one / FEW_PENALTY)) if fits else np.inf for one, fits in zip(OWN_PENALTIES, within, strict=True)]
    return OWN_PENALTIES[int(np.argmin(near))]


def _own(rows: SignalTable, prior: Prior, penalty: float) -> OwnLabels:
    return _Work.of(rows, prior).fit(penalty)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Rows ready to be fitted with any penalty; ``features`` [n, k] are of the model of the item."""

    rows: SignalTable
    prior: Prior
    design: Design | None
    features: Floats
    weights: Floats
    matrix: Floats

    @classmethod
    def of(cls, rows: SignalTable, prior: Prior) -> "_Work":
        weights = item_weights(rows.item_ids) * (1.0 if rows.weights is None else rows.weights / rows.weights.mean())
        matrix, plain = matrix_of(*evidence_of(rows)), rows.without("free")
        try:
            bench = Workbench(plain, plain.categories)
        except InputError:  # no signal varies: the six weights are all there is to learn
            return cls(rows, prior, None, np.zeros((len(rows), 0)), weights, matrix)
        learned = learn(bench.base, bench.layout)
        features = transform(bench.base, bench.layout, learned)
        return cls(rows, prior, design_of(bench.layout, learned), features, weights, matrix)

    def fit(self, penalty: float) -> OwnLabels:
        """The most probable coefficients; the six weights are put on the scale on which the penalty is their prior."""
        mean, variance = self.prior.moments
        size = np.sqrt(variance / penalty)
        whole = np.column_stack([self.features, self.matrix * size])
        known = self.matrix @ mean
        (found,) = logistic(whole, self.rows.correct, [penalty], self.weights, intercept=False, offset=known)
        coefficients = np.round(found.coefficients, DIGITS)
        width = self.features.shape[1]
        at = mean + size * coefficients[width:]
        odds = self.features @ coefficients[:width] + self.matrix @ at
        certain = (self.matrix * (self.weights * expit(odds) * expit(-odds))[:, None]).T @ self.matrix
        left = np.diag(np.linalg.inv(certain + np.diag(1 / variance)))
        return OwnLabels(
            at=tuple(np.round(at, DIGITS).tolist()),
            variance=tuple(np.round(left, DIGITS).tolist()),
            penalty=penalty,
            added=None if self.design is None else self._level(penalty, tuple(coefficients[:width].tolist())),
        )

    def _level(self, penalty: float, coefficients: tuple[float, ...]) -> Level:
        assert self.design is not None
        model = Logistic(penalty=penalty, intercept=0.0, coefficients=coefficients)
        categories = tuple(sorted(set(self.rows.categories)))
        return Level(depth="full", categories=categories, design=self.design, model=model)


def pooled_out_of_fold(table: SignalTable, prior: Prior, *, folds: int, seed: int) -> Floats:
    """[n] probabilities of labelled rows, each by the prior and the labels of other questions."""
    fold = question_folds(table.questions, folds, [seed, 0])
    found = np.zeros(len(table))
    for part in range(folds):
        test = np.flatnonzero(fold == part)
        probabilities, known = pool(table.select(fold != part), prior).probabilities(table.select(test))
        found[test] = np.where(known, probabilities, table.correct[fold != part].mean())
    return found


def item_weights(items: Sequence[str]) -> Floats:
    """[n] what rows count for: those of an item together 1 on average."""
    return np.full(len(items), len(set(items)) / max(1, len(items)))
