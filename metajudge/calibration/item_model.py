"""The model of the item: P(judgment correct) from what every judge says of its item, and how it is fitted.

One L2-penalised logistic regression. For pairs it is antisymmetric: every feature changes its sign with the verdict and
there is no intercept, so that the probabilities of two opposite verdicts on a pair add up to 1. Its features are each
judge's votes (the signed verdicts, summed over the orders; the judge's own included), their products with the
categories, and the sum of all votes times the share of missing and of strong verdicts. For rankings, grades and
categories the same is seen from the answer: votes and the other signals, with products by side, category and judge.
Where no peer is among the signals (a single judge), the signals of the judge itself take the place of votes.

The strength of the penalty is the only choice left; see :data:`PENALTIES`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from metajudge.calibration.design import (
    BaseMatrix,
    Design,
    Factor,
    Layout,
    Learned,
    design_of,
    layout_of,
    learn,
    transform,
    varying_factors,
)
from metajudge.calibration.levels import Logistic
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""C of the logistic regression to choose from, where all rows of an item together weigh 1."""

MODERATORS = ("consensus.missing", "consensus.strong")
"""Where many games ended without a verdict, or few verdicts are strong, an equal majority says less."""

IN_VOTES = ("order.", "strength.", "peers.", "consensus.")
"""Signals of pairs that votes contain already."""

EVIDENCE = (
    *("order.agree", "order.signed", "strength.strong", "repeats.support", "versions.support", "peers.log_odds"),
    *("consensus.log_odds", "rewards.mean", "agents.mean"),
    *("scale.level_gap", "scale.distance", "scale.level", "question.order"),
)
"""Evidence that may be worth something else for each side, judge and category."""

PRODUCT_PRIOR = 0.5
"""Products of such evidence are scaled to half the size of main effects: the penalty counts four times for them."""

MOST_PRODUCTS = 600
"""Products of such evidence; the last ones of its list are left out beyond that."""

MOST_JUDGES = 20
"""With more judges than this, the judge is no feature: too many columns of few rows each."""

MOST_STEPS, MOST_HALVINGS = 100, 30

CLOSE, CLOSE_AGAIN = 1e-5, 3e-8
"""A fit ends after a step that changes no coefficient by more, with second derivatives of this step's start, or of an
earlier one: what is left to change is then no more than that."""

FALLS = 0.4
"""Second derivatives are reused while each step is at most this fraction of the step before."""

EASE = 1e-6
"""Added to the second derivatives, so that they can be solved for where the intercept alone is left."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model on its design."""

    design: Design
    model: Logistic


@dataclass(frozen=True, slots=True)
class Solution:
    """Where the next fit with the same penalty may start: on nearly the same rows it ends close by.

    Attributes:
        at: [features and intercept].
        curvature: second derivatives near it without the penalty's, for weights that sum to 1; None where unknown.
    """

    at: Floats
    curvature: Floats | None


class Workbench:
    """The rows of a table, ready for many fits on different parts of them.

    Rows of one question with equal evidence and outcome are fitted and answered once. All rows count alike, or by the
    table's weights; together they weigh as much as there are items, so that a penalty means the same whether two
    judgments of each item are labelled or fifty.

    Args:
        categories: [n] as the model is to know them.
        prior: to whose log-odds the model is added.

    Raises:
        InputError: no signal varies over the rows.
    """

    def __init__(self, rows: SignalTable, categories: Sequence[str], prior: Shrink | None = None) -> None:
        self.prior, self._known = prior, np.zeros(len(rows)) if prior is None else prior.odds(rows)
        rows = rows.without("share")
        factors = varying_factors(rows, categories, judges=len(set(rows.judges)) > 1)
        if not any(factor.kind == "signal" for factor in factors):
            raise InputError(
                f"nothing tells one judgment from another: {', '.join(rows.signals) or 'no signal'} "
                f"{'is' if len(rows.signals) < 2 else 'are'} the same over the {len(rows)} labelled judgments by "
                f"{', '.join(sorted(set(rows.judges)))}. Add what varies: the same items in the other order, other "
                "judges' verdicts on them, stated confidence (meta.confidence) or agents' scores (--agent-scores). How "
                "often such a judge is right: `metajudge audit`"
            )
        self.antisymmetric = rows.kind == "pairwise" and any(_is_vote(factor) for factor in factors)
        self.layout = _of_votes(factors) if self.antisymmetric else _of_answers(factors)
        self.base = BaseMatrix.of(rows, categories, self.layout.factors)
        self.correct = rows.correct
        self.weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        self.weights = self.weights * (len(set(rows.item_ids)) / self.weights.sum())
        self._first, self._case = _cases(self.base, self._known, rows.correct, rows.questions)
        self._solved: dict[float, Solution] = {}

    def fit(self, penalty: float, train: Indices) -> Fitted:
        """Fits the model on some rows.

        Args:
            penalty: C, the inverse strength of the L2 penalty.
            train: places of rows, right and wrong ones.
        """
        learned, (model,) = self._fitted([penalty], train)
        return Fitted(design_of(self.layout, learned), model)

    def fit_predict(self, penalties: Sequence[float], train: Indices, tests: Sequence[Indices]) -> list[list[Floats]]:
        """By penalty, the probabilities of several sets of rows by a model fitted on others.

        Where the training rows are all right or all wrong there is nothing to fit: their base rate, drawn to 1/2.
        """
        right = self.correct[train]
        if right.all() or not right.any():
            rate = (right.sum() + 1) / (len(right) + 2)
            return [[np.full(len(test), rate) for test in tests] for _ in penalties]
        learned, models = self._fitted(penalties, train)
        found: list[list[Floats]] = [[] for _ in penalties]
        for test in tests:
            asked, place = np.unique(self._case[test], return_inverse=True)
            rows = self._first[asked]
            matrix = transform(self.base.rows(rows), self.layout, learned)
            for one, model in zip(found, models, strict=True):
                one.append(model.probabilities(matrix, self._known[rows])[place.ravel()])
        return found

    def _fitted(self, penalties: Sequence[float], train: Indices) -> tuple[Learned, list[Logistic]]:
        weights: Floats = np.bincount(self._case[train], self.weights[train], self.cases).astype(np.float64)
        cases = np.flatnonzero(weights)
        rows = self._first[cases]
        base = self.base.rows(rows)
        learned = learn(base, self.layout)
        matrix = transform(base, self.layout, learned)
        intercept = not self.antisymmetric
        correct = self.correct[rows]
        solved = logistic(
            matrix,
            correct,
            penalties,
            weights[cases],
            intercept=intercept,
            solved=self._solved,
            offset=self._known[rows],
        )
        return learned, solved

    def loss(self, losses: Floats, rows: Indices | slice = slice(None)) -> float:
        """The sum of some rows' losses, as they count; over all rows it is the number of rows times their mean."""
        weights = self.weights[rows] * (len(self.weights) / self.weights.sum())
        return float((losses * weights).sum())

    @property
    def size(self) -> int:
        """Cases times features."""
        return self.cases * len(self.layout.left)

    @property
    def cases(self) -> int:
        """How many rows are left where equal ones count once."""
        return len(self._first)

    def centre(self, train: Indices) -> float:
        """Log-odds of a judgment without evidence: 0 for pairs with votes, else those of the share of right ones."""
        right = self.correct[train]
        return 0.0 if self.antisymmetric else float(logit((right.sum() + 1) / (len(right) + 2)))


def logistic(
    matrix: Floats,
    correct: Bools,
    penalties: Sequence[float],
    weights: Floats,
    *,
    intercept: bool = True,
    solved: dict[float, Solution] | None = None,
    offset: Floats | None = None,
) -> list[Logistic]:
    """Fits an L2-penalised logistic regression for each penalty C; what was learned leaves as plain numbers.

    Minimises ``C sum w loss + |coefficients|^2 / 2`` by Newton's method, each penalty from the solution of the one
    before. The matrix of second derivatives is computed in single precision, and not anew for every step, which changes
    the way and not the end.

    Args:
        matrix: [n, features].
        correct: [n] right and wrong ones.
        penalties: C, each above 0; ascending ones are fastest.
        weights: [n] at least 0.
        intercept: whether there is one; it is not penalised.
        solved: solutions of an earlier fit with the same features by penalty, to start from; updated.
        offset: [n] log-odds that are known already; the models are what is to be added to them.
    """
    x = np.column_stack([matrix, np.ones(len(matrix))]) if intercept else matrix
    rough, free = x.astype(np.float32), np.arange(x.shape[1]) >= matrix.shape[1]
    known = {} if solved is None else solved
    found, last = [], Solution(np.zeros(x.shape[1]), None)
    for penalty in penalties:
        ridge = np.where(free, 0.0, 1 / penalty)
        last = _minimum(x, rough, correct, weights, ridge, known.get(penalty, last), offset)
        known[penalty], coefficients = last, last.at[: matrix.shape[1]].tolist()
        constant = float(last.at[-1]) if intercept else 0.0
        found.append(Logistic(penalty=penalty, intercept=constant, coefficients=tuple(coefficients)))
    return found


def _minimum(
    x: Floats,
    rough: NDArray[np.float32],
    correct: Bools,
    weights: Floats,
    ridge: Floats,
    start: Solution,
    offset: Floats | None = None,
) -> Solution:
    """Newton's method; a step that does not lower the loss is halved."""
    from scipy.linalg import cho_factor, cho_solve

    signs, at, total = np.where(correct, 1.0, -1.0), start.at, float(weights.sum())
    curvature, factor, before = start.curvature, None, np.inf
    known: Floats | float = 0.0 if offset is None else offset
    margins = signs * (x @ at + known)
    loss = -float(weights @ log_expit(margins)) + float(ridge @ at**2) / 2
    for _ in range(MOST_STEPS):
        wrong = expit(-margins)
        gradient = ridge * at - x.T @ (weights * signs * wrong)
        fresh = curvature is None
        if curvature is None:
            scaled = rough * np.sqrt(weights * wrong * (1 - wrong)).astype(np.float32)[:, None]
            curvature, factor = (scaled.T @ scaled).astype(np.float64) / total, None
        if factor is None:
            factor = cho_factor(total * curvature + np.diag(ridge + EASE), overwrite_a=True, check_finite=False)
        step = whole = cho_solve(factor, gradient, check_finite=False)
        for _ in range(MOST_HALVINGS):
            tried = at - step
            margins = signs * (x @ tried + known)
            reached = -float(weights @ log_expit(margins)) + float(ridge @ tried**2) / 2
            if reached <= loss + 1e-12 * abs(loss):
                break
            step = step / 2
        at, loss, size = tried, reached, float(np.abs(step).max())
        if size < CLOSE if fresh else size < CLOSE_AGAIN and step is whole:
            break
        curvature, before = (curvature if size <= FALLS * before and step is whole else None), size
    return Solution(at, curvature)


def _cases(base: BaseMatrix, known: Floats, correct: Bools, questions: Sequence[str]) -> tuple[Indices, Indices]:
    """The first row of each case (rows of one question with equal evidence and outcome), and the case of each row."""
    question = np.unique(np.array(questions, dtype=str), return_inverse=True)[1].ravel()
    key = np.ascontiguousarray(np.column_stack([base.values, base.absent, known, correct, question]))
    whole = key.view(np.dtype((np.void, key.dtype.itemsize * key.shape[1]))).ravel()
    _, first, case = np.unique(whole, return_index=True, return_inverse=True)
    # Cases in the order of their first rows: sums are made in an order that depends on no byte pattern.
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return first[order], place[case.ravel()]


def _is_vote(factor: Factor) -> bool:
    return factor.kind == "signal" and factor.name.startswith("voices.")


def _of_votes(factors: Sequence[Factor]) -> Layout:
    """Votes, votes by category, all votes by moderators; of other signals what votes do not contain."""
    signals = {factor.name: at for at, factor in enumerate(factors) if factor.kind == "signal"}
    votes = [at for at, factor in enumerate(factors) if _is_vote(factor)]
    categories = [at for at, factor in enumerate(factors) if factor.kind == "category"]
    extra = [
        at
        for at, factor in enumerate(factors)
        if factor.kind in ("signal", "absent") and not _is_vote(factor) and not factor.name.startswith(IN_VOTES)
    ]
    pairs = {(vote, category): 1.0 for vote in votes for category in categories}
    if "consensus.sum" in signals:
        pairs |= {(signals["consensus.sum"], signals[name]): 1.0 for name in MODERATORS if name in signals}
    return layout_of(factors, [*votes, *extra], pairs)


def _of_answers(factors: Sequence[Factor]) -> Layout:
    """Everything, and products of evidence with the side, the category and the judge."""
    judges = sum(factor.kind == "judge" for factor in factors) <= MOST_JUDGES
    main = [
        at
        for at, factor in enumerate(factors)
        if (judges or factor.kind != "judge") and not factor.name.startswith("peers.of:")
    ]
    signals = {factor.name: at for at, factor in enumerate(factors) if factor.kind == "signal"}
    return layout_of(factors, main, dict.fromkeys(_products(factors, signals, judges)[:MOST_PRODUCTS], PRODUCT_PRIOR))


def _products(factors: Sequence[Factor], signals: Mapping[str, int], judged: bool) -> list[tuple[int, int]]:
    """Pairs of factors, the most useful ones first."""
    of_kind = {
        kind: [at for at, one in enumerate(factors) if one.kind == kind] for kind in ("category", "side", "judge")
    }
    evidence = [signals[name] for name in EVIDENCE if name in signals]
    votes = [at for at, factor in enumerate(factors) if _is_vote(factor)]
    categories, sides, judges = of_kind["category"], of_kind["side"], of_kind["judge"] if judged else []
    found = [(side, category) for side in sides for category in categories]
    found += [(one, times) for one in evidence for times in (*sides, *categories)]
    found += [(vote, category) for vote in votes for category in categories]
    found += [(side, judge) for side in sides for judge in judges]
    found += [(one, judge) for one in evidence for judge in judges]
    return found + [(vote, side) for vote in votes for side in sides]
