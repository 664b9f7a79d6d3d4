"""The models to choose from, and how each is fitted on some rows of a table.

- ``isotonic``: isotonic regression on one score, the strongest single piece of evidence there is.
- ``main``: logistic regression on signals and categories.
- ``moderated``: with products. What evidence is worth depends on the task, and on how the whole item was judged: where
  many games ended without a verdict or few verdicts are strong, an equal majority says less. Products are shrunk more.
- ``voices``: with each peer model's own vote, and its product with the categories.
- ``judges``: with the judge as a feature, and its product with the evidence.
- ``answers``: for rankings, grades and categories, a model of the answer itself: every judge's voice, the judge and the
  side, and products of voices with categories and sides, of side with judge and category. Seen from the answer instead
  of the verdict this is a logistic regression on what each judge said.
- ``boosting``: gradient boosted trees on signals, categories and judges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metajudge.calibration.design import (
    BaseMatrix,
    Design,
    Factor,
    Layout,
    design_of,
    layout_of,
    learn,
    transform,
)
from metajudge.calibration.estimators import boosting, isotonic, logistic
from metajudge.calibration.model import Model
from metajudge.stats.arrays import Bools, Floats, Indices

Family = Literal["isotonic", "main", "moderated", "voices", "judges", "answers", "boosting"]

EVIDENCE = ("order.agree", "peers.votes", "consensus.log_odds", "consensus.sum", "rewards.mean", "agents.mean")
MODERATED = ("consensus.log_odds", "consensus.sum", "rewards.mean", "agents.mean")
MODERATORS = ("consensus.missing", "consensus.strong")
JUDGE_EVIDENCE = ("order.agree", "strength.strong", "consensus.log_odds", "peers.votes")
SINGLE_SCORES = ("consensus.log_odds", "agents.mean", "rewards.mean", "order.signed", "strength.strong")

PRODUCT_PRIOR = 0.5
"""Products are scaled to half the size of main effects: the same penalty counts four times for them."""

MOST_JUDGES = 20
"""With more judges than this, the judge is no feature of a pooled model: too many columns of few rows each."""

PENALTIES = (0.03, 0.1, 0.3)
"""C of the logistic regressions, on standardised columns."""

ANSWER_PENALTIES = (0.003, 0.03)
"""C of the family ``answers``, which has many products."""

ANSWER_EVIDENCE = (
    *("order.agree", "repeats.support", "versions.support", "peers.log_odds", "consensus.log_odds", "rewards.mean"),
    *("scale.level_gap", "scale.distance", "scale.level", "question.order"),
)
"""Evidence that may be worth something else for each side, judge and category."""

MOST_PRODUCTS = 600
"""Products of the family ``answers``; the last ones of its list are left out beyond that."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model to try: a family of features and, for logistic regression, a penalty."""

    family: Family
    penalty: float = 0.1

    @property
    def name(self) -> str:
        return self.family if self.family in ("isotonic", "boosting") else f"{self.family} C={self.penalty:g}"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model on its design."""

    design: Design
    model: Model


class Workbench:
    """The factors of a table's rows, ready for many fits on different parts of them.

    Args:
        factors: see :func:`~metajudge.calibration.design.varying_factors`.
        base: their values on all rows.
        correct: [n].
        weights: [n] what rows count for; None for all alike.
    """

    def __init__(
        self, factors: Sequence[Factor], base: BaseMatrix, correct: Bools, weights: Floats | None = None
    ) -> None:
        self.factors, self.base, self.correct = tuple(factors), base, correct
        self.weights = None if weights is None else weights / weights.mean()
        self._layouts: dict[Family, tuple[Layout, Indices]] = {}

    def count(self, kind: str, prefix: str = "") -> int:
        """How many factors of a kind have a name that starts so."""
        return sum(factor.kind == kind and factor.name.startswith(prefix) for factor in self.factors)

    def fit(self, candidate: Candidate, train: Indices, seed: int = 0) -> Fitted:
        """Fits a candidate on some rows."""
        layout, used = self._layout(candidate.family)
        base = self.base.columns(used).rows(train)
        fitted = learn(base, layout)
        model = _fit(candidate, transform(base, layout, fitted), self.correct[train], seed, self._weights(train))
        return Fitted(design_of(layout, fitted), model)

    def fit_predict(
        self, candidate: Candidate, train: Indices, tests: Sequence[Indices], seed: int = 0
    ) -> list[Floats]:
        """Probabilities of several sets of rows by a candidate fitted once on others.

        Where the training rows are all right or all wrong there is nothing to fit: their base rate, drawn to 1/2.
        """
        right = self.correct[train]
        if right.all() or not right.any():
            return [np.full(len(test), (right.sum() + 1) / (len(right) + 2)) for test in tests]
        layout, used = self._layout(candidate.family)
        base = self.base.columns(used)
        fitted = learn(base.rows(train), layout)
        model = _fit(candidate, transform(base.rows(train), layout, fitted), right, seed, self._weights(train))
        return [model.probabilities(transform(base.rows(test), layout, fitted)) for test in tests]

    def loss(self, losses: Floats, rows: Indices | slice = slice(None)) -> float:
        """The sum of some rows' losses, as they count."""
        return float(losses.sum() if self.weights is None else (losses * self.weights[rows]).sum())

    def _weights(self, rows: Indices) -> Floats | None:
        return None if self.weights is None else self.weights[rows]

    def _layout(self, family: Family) -> tuple[Layout, Indices]:
        if family not in self._layouts:
            layout = _layout(family, self.factors)
            place = {factor: at for at, factor in enumerate(self.factors)}
            self._layouts[family] = layout, np.array([place[factor] for factor in layout.factors], dtype=np.intp)
        return self._layouts[family]


def candidates(bench: Workbench, *, quick: bool = False) -> list[Candidate]:
    """What can be tried with these factors; ``quick`` tries one penalty, which hardly matters in large tables."""
    penalties = (0.1,) if quick else PENALTIES
    found = [Candidate("isotonic")] if _single_score(bench.factors) is not None else []
    found += [Candidate("main", penalty) for penalty in penalties]
    if any(bench.count("signal", name) for name in MODERATED):
        found += [Candidate("moderated", penalty) for penalty in penalties]
    if bench.count("signal", "peers.of:") and bench.count("category"):
        found.append(Candidate("voices"))
    if 0 < bench.count("judge") <= MOST_JUDGES:
        found.append(Candidate("judges"))
    if bench.count("signal", "voices."):
        found += [Candidate("answers", penalty) for penalty in (ANSWER_PENALTIES[:1] if quick else ANSWER_PENALTIES)]
    found.append(Candidate("boosting"))
    return found


def _fit(candidate: Candidate, matrix: Floats, correct: Bools, seed: int, weights: Floats | None) -> Model:
    if candidate.family == "isotonic":
        return isotonic(matrix, correct, weights)
    if candidate.family == "boosting":
        return boosting(matrix, correct, seed, weights)
    return logistic(matrix, correct, candidate.penalty, weights)


def _single_score(factors: Sequence[Factor]) -> int | None:
    names = [factor.name if factor.kind == "signal" else "" for factor in factors]
    return next((names.index(name) for name in SINGLE_SCORES if name in names), None)


def _layout(family: Family, factors: Sequence[Factor]) -> Layout:
    if family == "isotonic":
        single = _single_score(factors)
        assert single is not None
        return layout_of(factors, [single], {})
    voices = family in ("voices", "answers", "boosting")
    judges = family in ("judges", "answers") or (
        family == "boosting" and sum(factor.kind == "judge" for factor in factors) <= MOST_JUDGES
    )
    main = [
        at
        for at, factor in enumerate(factors)
        if (judges or factor.kind != "judge") and (voices or not factor.name.startswith(("peers.of:", "voices.")))
    ]
    return layout_of(factors, main, {} if family in ("main", "boosting") else _products(family, factors))


def _products(family: Family, factors: Sequence[Factor]) -> dict[tuple[int, int], float]:
    signals = {factor.name: at for at, factor in enumerate(factors) if factor.kind == "signal"}
    categories = [at for at, factor in enumerate(factors) if factor.kind == "category"]
    moderators = [signals[name] for name in MODERATORS if name in signals]
    pairs = [(signals[name], times) for name in MODERATED if name in signals for times in (*categories, *moderators)]
    if family == "voices":
        evidence = [at for name, at in signals.items() if name in EVIDENCE or name.startswith("peers.of:")]
        pairs += [(at, times) for at in evidence for times in categories]
    if family == "answers":
        return dict.fromkeys(_answer_products(factors, signals)[:MOST_PRODUCTS], PRODUCT_PRIOR)
    if family == "judges":
        judges = [at for at, factor in enumerate(factors) if factor.kind == "judge"]
        pairs += [(signals[name], times) for name in JUDGE_EVIDENCE if name in signals for times in judges]
    return dict.fromkeys(pairs, PRODUCT_PRIOR)


def _answer_products(factors: Sequence[Factor], signals: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of factors, the most useful ones first."""
    of_kind = {
        kind: [at for at, one in enumerate(factors) if one.kind == kind] for kind in ("category", "side", "judge")
    }
    evidence = [signals[name] for name in ANSWER_EVIDENCE if name in signals]
    voices = [at for name, at in signals.items() if name.startswith("voices.")]
    categories, sides, judges = of_kind["category"], of_kind["side"], of_kind["judge"]
    found = [(side, category) for side in sides for category in categories]
    found += [(one, times) for one in evidence for times in (*sides, *categories)]
    found += [(voice, category) for voice in voices for category in categories]
    found += [(side, judge) for side in sides for judge in judges]
    found += [(one, judge) for one in evidence for judge in judges]
    return found + [(voice, side) for voice in voices for side in sides]
