"""A small reward model on text features, trained on preference sets and tested on true labels.

Pairs of a Bradley-Terry model: logistic regression without an intercept on the difference of two responses' features,
which are hashed words and pairs of words (4,096 columns, length 1), logarithms of lengths, counts of marks of form, and
the share of the question's words that a response repeats.
"""

import math
import re
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.stats import t as student
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from metajudge.stats.arrays import Bools, Floats, Indices

from .arms import GUARANTEED, KEPT, RAW, THINNED, TRUE, selections, thinned, within
from .recorded import Pairs, Verdicts

COLUMNS = 4096
TEST = 0.4
"""Share of the questions tested on."""

FEWEST = 20
"""With fewer pairs to train on, there is no model."""

COMPARED = {KEPT: THINNED[KEPT], GUARANTEED: THINNED[GUARANTEED], TRUE[KEPT]: THINNED[KEPT]}
"""Selection -> what it is compared with, on as many pairs."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over random divisions with its 95 % interval; None ends with fewer than two divisions."""

    value: float
    low: float | None
    high: float | None
    divisions: int


def features(pairs: Pairs) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """[N, F] features of the first and of the second response of each pair."""
    words = HashingVectorizer(n_features=COLUMNS, ngram_range=(1, 2), alternate_sign=False, norm="l2")
    sides = []
    texts = [[*item.responses.values()] for item in pairs.items]
    style = np.array([[_style(item.question, text) for text in item.responses.values()] for item in pairs.items])
    spread = style.std(axis=(0, 1))
    style /= np.where(spread > 0, spread, 1.0)
    for side in (0, 1):
        hashed = words.transform([both[side] for both in texts])
        sides.append(sparse.hstack([hashed, sparse.csr_matrix(style[:, side])], format="csr"))
    return sides[0], sides[1]


def _style(question: str, text: str) -> tuple[float, ...]:
    words = text.lower().split()
    asked = set(question.lower().split())
    return (
        math.log1p(len(text)),
        math.log1p(len(words)),
        math.log1p(text.count("\n")),
        math.log1p(len(re.findall(r"^\s*(?:[-*]|\d+[.)]) ", text, re.MULTILINE))),
        math.log1p(text.count("```")),
        math.log1p(sum(letter.isdigit() for letter in text)),
        math.log1p(text.count("?") + text.count("!")),
        sum(word in asked for word in words) / max(len(words), 1),
    )


def accuracies(
    pairs: Pairs, every: list[Verdicts], difference: sparse.csr_matrix, seed: int
) -> dict[str, dict[str, float]]:
    """Judge -> selection -> share of the tested pairs in which the model prefers the labelled better response.

    Args:
        difference: [N, F] features of the first response less those of the second.
        seed: of the division of questions into those trained and tested on, and of the thinning.
    """
    tested, rng = divide(pairs, seed)
    found: dict[str, dict[str, float]] = {}
    for verdicts in every:
        mine: dict[str, float] = {}
        for name, (rows, chosen) in training_sets(pairs, verdicts, ~tested, rng).items():
            if len(rows) >= FEWEST:
                mine[name] = _accuracy(pairs, difference, rows, chosen, tested)
        found[verdicts.judge] = mine
    return found


def divide(pairs: Pairs, seed: int) -> tuple[Bools, np.random.Generator]:
    """[N] which items are tested on, by question, and the generator that goes on from there."""
    rng = np.random.default_rng([seed, 24])
    questions = np.unique(pairs.question)
    return np.isin(pairs.question, rng.permutation(questions)[: round(TEST * len(questions))]), rng


def training_sets(
    pairs: Pairs, verdicts: Verdicts, part: Bools, rng: np.random.Generator
) -> dict[str, tuple[Indices, Indices]]:
    """Selection -> items and the place of the response taken as better."""
    rows = {name: within(chosen, part) for name, chosen in selections(verdicts).items()}
    for name, thin in THINNED.items():
        rows[thin] = thinned(rows[RAW], len(rows[name]), rng)
    found = {name: (mine, verdicts.chosen[mine]) for name, mine in rows.items()}
    for name, true in TRUE.items():
        mine = rows[THINNED.get(name, name)]
        found[true] = (mine, pairs.better[mine])
    return found


def _accuracy(pairs: Pairs, difference: sparse.csr_matrix, rows: Indices, chosen: Indices, tested: Bools) -> float:
    sign = np.where(chosen == 0, 1.0, -1.0)
    x = sparse.diags(sign) @ difference[rows]
    both = sparse.vstack([x, -x], format="csr")
    model = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000)
    model.fit(both, np.repeat([1, 0], len(rows)))
    found = difference[np.flatnonzero(tested)] @ model.coef_.ravel()
    truth = np.where(pairs.better[tested] == 0, 1.0, -1.0)
    return float(np.mean((found * truth > 0) + 0.5 * (found == 0)))


def interval(values: Floats) -> Interval:
    """Mean over divisions of one set, with the interval of Nadeau and Bengio.

    Divisions share questions, so their spread alone is too narrow: the variance of the mean is
    ``(1 / J + TEST / (1 - TEST)) s^2`` with J divisions (Nadeau and Bengio, "Inference for the Generalization Error",
    Machine Learning 52, 2003), Student's t with J - 1 degrees of freedom.
    """
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Interval(mean, None, None, n)
    half = float(student.ppf(0.975, n - 1)) * math.sqrt((1 / n + TEST / (1 - TEST)) * float(values.var(ddof=1)))
    return Interval(mean, mean - half, mean + half, n)
