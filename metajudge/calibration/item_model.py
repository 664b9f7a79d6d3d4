"""The model of the item: a penalised logistic regression on what each judge says of it and what is known of the row.

Of pairs with peers it is antisymmetric: each judge's net vote for the response that the verdict prefers, again by
category, and the sum of votes where games are missing or strong. Of other rows it has every signal, the judge, the
category and the answer, and products of the evidence with category and answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_expit, logit

from metajudge.calibration.design import Base, Design, Factor, design_of, varying_factors
from metajudge.calibration.levels import Logistic
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Bools, Floats, Indices

PENALTIES = (0.1, 0.4, 1.6, 6.4)
"""C of the logistic regression to choose from, where all rows together weigh as much as there are questions."""

MODERATORS = ("consensus.missing", "consensus.strong")
"""Where many games ended without a verdict, or few verdicts are strong, an equal majority says less."""

IN_VOTES = ("order.", "strength.", "peers.", "consensus.", "format.")
"""Signals of pairs that votes contain already, or that add nothing beside them."""

EVIDENCE = (
    *("order.agree", "order.signed", "strength.strong", "repeats.support", "versions.support", "peers.support"),
    *("rewards.mean", "agents.mean"),
)
"""Evidence that may be worth something else for each category and answer."""

PRODUCT_PRIOR = 0.5
"""Products of such evidence are scaled to half the size of main effects: the penalty counts four times for them."""

MOST_PRODUCTS = 1000
"""The last products are left out beyond that."""

MOST_JUDGES = 20
"""With more judges than this, the judge is no feature: too many columns of few rows each."""

CONSTANT = 0.3
"""Penalty of the intercept: it is drawn to 0 about as two more labels, one right and one wrong, would draw it."""

MOST_STEPS, MOST_HALVINGS, CLOSE = 100, 30, 1e-6
"""A fit ends after a step that changes no coefficient by more."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model on its design."""

    design: Design
    model: Logistic


class Workbench:
    """The rows of a table, ready for several fits on parts of them.

    Rows of one question with equal evidence and outcome are fitted and answered once. All rows count alike, or by the
    table's weights; together they weigh as much as there are questions, the unit of dependence.

    Args:
        prior: to whose log-odds the model is added; the intercept is then drawn to 0 as well.
    """

    def __init__(self, rows: SignalTable, prior: Shrink | None = None) -> None:
        self.prior, self._known = prior, np.zeros(len(rows)) if prior is None else prior.odds(rows)
        rows = rows.without("share")
        factors = varying_factors(rows, rows.categories)
        pairs = rows.kind == "pairwise"
        if pairs:  # how much a judge says speaks for neither response; what is not the second place is the first
            factors = [one for one in factors if one.name != "format.words" and (one.kind, one.name) != ("side", "2")]
        self.antisymmetric = pairs and any(_is_vote(factor) for factor in factors)
        self.design = _of_votes(factors) if self.antisymmetric else _of_answers(factors, sides=not pairs)
        self.base = self.design.base(rows, rows.categories)
        self.correct = rows.correct
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        self.weights = weights * (len(set(rows.questions)) / weights.sum())
        self._first, self._case = _cases(self.base, self._known, rows.correct, rows.questions)

    @property
    def cases(self) -> int:
        """How many rows are left where equal ones count once."""
        return len(self._first)

    @property
    def centre(self) -> float:
        """Log-odds of a judgment without evidence: 0 for votes on pairs, else those of the share of right ones."""
        return 0.0 if self.antisymmetric else float(logit((self.correct.sum() + 1) / (len(self.correct) + 2)))

    def fit(self, penalties: Sequence[float], train: Indices) -> list[Fitted]:
        """Fits the model on some rows, for every C of the L2 penalty.

        Without a prior, rows that are all right or all wrong, and a design without features, give the base rate drawn
        toward 1/2, ``(right + 1) / (n + 2)``.
        """
        right = self.correct[train]
        if self.prior is None and (right.all() or not right.any() or not self.design.features):
            rate = Logistic(penalty=1.0, intercept=float(logit((right.sum() + 1) / (len(right) + 2))), coefficients=())
            return [Fitted(Design(factors=self.design.factors, features=()), rate) for _ in penalties]
        weights: Floats = np.bincount(self._case[train], self.weights[train], len(self._first)).astype(np.float64)
        rows = self._first[cases := np.flatnonzero(weights)]
        base = self.base.rows(rows)
        design = self.design.learned(base) if len(rows) else self.design
        x, found = design.matrix(base), []
        if not self.antisymmetric:
            x = np.column_stack([x, np.ones(len(x))])
        at = np.zeros(x.shape[1])
        for penalty in penalties:
            ridge = np.full(len(at), 1 / penalty)
            if not self.antisymmetric:
                ridge[-1] = CONSTANT if self.prior is None else 1.0
            at = logistic(x, self.correct[rows], weights[cases], ridge, at, self._known[rows])
            coefficients, constant = (at, 0.0) if self.antisymmetric else (at[:-1], at[-1])
            model = Logistic(penalty=penalty, intercept=float(constant), coefficients=tuple(coefficients.tolist()))
            found.append(Fitted(design, model))
        return found

    def predict(self, fitted: Fitted, rows: Indices) -> Floats:
        """Probabilities of some rows."""
        asked, place = np.unique(self._case[rows], return_inverse=True)
        first = self._first[asked]
        matrix = fitted.design.matrix(self.base.rows(first))
        return fitted.model.probabilities(matrix, self._known[first])[place.ravel()]


def logistic(x: Floats, correct: Bools, weights: Floats, ridge: Floats, start: Floats, offset: Floats) -> Floats:
    """The coefficients that minimise ``sum w loss + ridge coefficients^2 / 2``, by Newton's method with halved steps.

    Args:
        x: [n, features].
        correct: [n].
        weights: [n] at least 0.
        ridge: [features] above 0.
        start: [features] where to start.
        offset: [n] log-odds that are known already.
    """
    signs, at, rough = np.where(correct, 1.0, -1.0), start, x.astype(np.float32)

    def loss(tried: Floats, margins: Floats) -> float:
        return float(ridge @ tried**2) / 2 - float(weights @ log_expit(margins))

    margins = signs * (x @ at + offset)
    reached = loss(at, margins)
    for _ in range(MOST_STEPS):
        wrong = expit(-margins)
        scaled = rough * np.sqrt(weights * wrong * (1 - wrong)).astype(np.float32)[:, None]
        curvature = (scaled.T @ scaled).astype(np.float64) + np.diag(ridge)
        gradient = ridge * at - x.T @ (weights * signs * wrong)
        step = cho_solve(cho_factor(curvature, check_finite=False), gradient, check_finite=False)
        for _ in range(MOST_HALVINGS):
            margins = signs * (x @ (at - step) + offset)
            if (found := loss(at - step, margins)) <= reached + 1e-12 * abs(reached):
                break
            step = step / 2
        at, reached = at - step, found
        if float(np.abs(step).max(initial=0.0)) < CLOSE:
            break
    return at


def _cases(base: Base, known: Floats, correct: Bools, questions: Sequence[str]) -> tuple[Indices, Indices]:
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


def _of_votes(factors: Sequence[Factor]) -> Design:
    """Votes, votes by category, all votes by moderators; of other signals what votes do not contain."""
    signals = {factor.name: at for at, factor in enumerate(factors) if factor.kind == "signal"}
    votes = [at for at, factor in enumerate(factors) if _is_vote(factor)]
    extra = [
        at
        for at, factor in enumerate(factors)
        if factor.kind in ("signal", "absent") and not _is_vote(factor) and not factor.name.startswith(IN_VOTES)
    ]
    moderators = [
        (signals["consensus.sum"], signals[name]) for name in MODERATORS if {name, "consensus.sum"} <= {*signals}
    ]
    by_category = [(vote, at) for vote in votes for at, factor in enumerate(factors) if factor.kind == "category"]
    return design_of(factors, [*votes, *extra], dict.fromkeys([*moderators, *by_category][:MOST_PRODUCTS], 1.0))


def _of_answers(factors: Sequence[Factor], *, sides: bool) -> Design:
    """Everything, and products of evidence and votes with the category and the answer, of evidence with the judge.

    Args:
        sides: whether the answer is in products; the place of a response chosen from two is not.
    """
    kinds: Mapping[str, list[int]] = {
        kind: [at for at, one in enumerate(factors) if one.kind == kind] for kind in ("category", "side", "judge")
    }
    left_out = set(kinds["judge"] if len(kinds["judge"]) > MOST_JUDGES else ())
    main = [at for at, one in enumerate(factors) if at not in left_out and not one.name.startswith("peers.of:")]
    evidence = [at for at, one in enumerate(factors) if one.kind == "signal" and one.name in EVIDENCE]
    votes = [at for at, one in enumerate(factors) if _is_vote(one)]
    judges = [at for at in kinds["judge"] if at not in left_out]
    answers = kinds["side"] if sides else []
    labels = [*answers, *kinds["category"]]
    products = [(side, times) for side in answers for times in (*kinds["category"], *judges)]
    products += [(one, times) for one in evidence for times in (*labels, *judges)]
    products += [(vote, times) for vote in votes for times in labels if "@" not in factors[vote].name]
    return design_of(factors, main, dict.fromkeys(products[:MOST_PRODUCTS], PRODUCT_PRIOR))
