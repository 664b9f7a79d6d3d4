"""Fitting a prior over sets, and pooling labels of one's own with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from metajudge.calibration.design import Design, design_of, learn, transform
from metajudge.calibration.folds import question_folds
from metajudge.calibration.free_columns import NO_LABELS, OWN, PEERS
from metajudge.calibration.item_model import Workbench, logistic
from metajudge.calibration.levels import Level
from metajudge.calibration.model import Logistic
from metajudge.calibration.pooling import Task, item_weights, learn_prior
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import SignalTable
from metajudge.calibration.transfer import (
    EVIDENCE,
    Evidence,
    Normal,
    OwnLabels,
    Prior,
    Transfer,
    evidence_of,
    evidence_value,
    matrix_of,
)
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices

START = Normal(mean=(0.0, 0.7), variance=(0.15, 0.15))
"""Where levels and slopes start: a slope below 1, since evidence on another set says less than it seems to."""

FEWEST_ROWS = 20
"""An input with fewer rows in a state of the evidence says nothing about that state."""

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


@dataclass(frozen=True, slots=True)
class LabelledInput:
    """Labelled rows of one input, with the set it is a part of; parts of a set count as one set together."""

    part_of: str
    table: SignalTable


def learn_weights(inputs: Sequence[LabelledInput]) -> dict[Evidence, Normal]:
    """The weights of every state of the evidence.

    A state is learned on every input as if no more were known: ``peers`` without P(right) by agreement alone, ``alone``
    without peers.
    """
    found: dict[Evidence, Normal] = {}
    with threadpool_limits(limits=1):
        for place, evidence in enumerate(EVIDENCE):
            tasks = _shared([(one, _task(one.table, place)) for one in inputs])
            start = (np.array(START.mean), np.array(START.variance))
            mean, variance = learn_prior(tasks, *start) if tasks else start
            (level, slope), (of_level, of_slope) = mean.tolist(), variance.tolist()
            found[evidence] = Normal(mean=(level, slope), variance=(of_level, of_slope))
    return found


def seen_in(table: SignalTable, place: int) -> tuple[Indices, Floats]:
    """The rows whose evidence can be seen in a state of it, and what the state reads of each.

    Args:
        place: of the state in :data:`~metajudge.calibration.transfer.EVIDENCE`.
    """
    own, peers, agreed = (table.columns[name] for name in (OWN, PEERS, NO_LABELS))
    there = [peers.present & agreed.present, peers.present, own.present][place]
    rows = np.flatnonzero(there)
    value = evidence_value(own, peers, agreed, np.full(len(table), place, dtype=np.intp))
    return rows, value[rows]


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


def _task(table: SignalTable, place: int) -> Task | None:
    rows, value = seen_in(table, place)
    if len(rows) < FEWEST_ROWS:
        return None
    weights = item_weights([table.item_ids[row] for row in rows.tolist()])
    return Task(np.column_stack([np.ones(len(rows)), value]), table.correct[rows], weights)


def _shared(given: Sequence[tuple[LabelledInput, Task | None]]) -> list[Task]:
    """The tasks that there are, each with its share of its set."""
    parts = [one.part_of for one, task in given if task is not None]
    return [
        Task(task.matrix, task.correct, task.weights, 1 / parts.count(one.part_of))
        for one, task in given
        if task is not None
    ]
