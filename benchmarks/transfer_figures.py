"""Figures of probabilities with intervals by question, and differences of two methods on the same draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.quality import log_losses
from metajudge.stats.arrays import Bools, Floats, Indices

BINS = 10
SHARES = (0.6, 0.4)
MEASURES = ("log loss", "calibration error", "best 60 %", "best 40 %")

Interval = list[float | None]
"""Estimate, and the ends of its 95 % interval; None where fewer than :data:`FEWEST` questions were drawn from."""

FEWEST = 10


@dataclass(frozen=True, slots=True)
class Sums:
    """What a method's figures are made of, by question.

    Attributes:
        values: [questions, columns]: loss, rows; for each bin of probability its excess over the outcome; for each
            share kept the right ones and the kept ones.
    """

    values: Floats

    @classmethod
    def of(cls, probabilities: Floats, correct: Bools, question: Indices, seed: int) -> "Sums":
        """Of equal probabilities the ones kept are drawn with a seed."""
        size = int(question.max()) + 1
        place = np.minimum((probabilities * BINS).astype(np.intp), BINS - 1)
        columns = [log_losses(probabilities, correct), np.ones(len(correct))]
        columns += [np.where(place == at, probabilities - correct, 0.0) for at in range(BINS)]
        order = np.lexsort((np.random.default_rng(seed).permutation(len(correct)), -probabilities))
        for share in SHARES:
            kept = np.zeros(len(correct))
            kept[order[: max(1, round(share * len(correct)))]] = 1.0
            columns += [kept * correct, kept]
        return cls(np.column_stack([np.bincount(question, one, size) for one in columns]))

    def measures(self, drawn: Floats) -> Floats:
        """[draws, measures] of :data:`MEASURES`, for how often [draws, questions] each question was drawn."""
        sums = drawn @ self.values
        rows = sums[:, 1]
        found = [sums[:, 0] / rows, 100 * np.abs(sums[:, 2 : 2 + BINS]).sum(axis=1) / rows]
        for at in range(len(SHARES)):
            right, kept = sums[:, 2 + BINS + 2 * at], sums[:, 3 + BINS + 2 * at]
            found.append(100 * right / np.maximum(kept, 1e-9))
        return np.column_stack(found)


@dataclass(frozen=True, slots=True)
class Compared:
    """Figures of several methods on the same judgments.

    Attributes:
        figures: method -> measure -> estimate and interval.
        differences: method -> measure -> the first method's figure less this one's, with its interval.
        draws: method -> [draws + 1, measures], the first of the data themselves; to put inputs together.
    """

    n: int
    questions: int
    figures: dict[str, dict[str, Interval]]
    differences: dict[str, dict[str, Interval]]
    draws: dict[str, Floats]

    def data(self) -> dict[str, object]:
        """For JSON."""
        return {"n": self.n, "questions": self.questions, "figures": self.figures, "differences": self.differences}


def compare(
    methods: Mapping[str, Floats], correct: Bools, questions: Sequence[str], *, resamples: int, seed: int = 0
) -> Compared:
    """Figures with percentile intervals from resampled questions (cluster bootstrap); the first method is compared.

    What is kept is fixed by the data themselves: a draw does not choose it anew. The calibration error is the mean
    distance of probability and outcome over ten bins of equal width, and resampling adds to it.
    """
    question = np.unique(np.array(questions, dtype=str), return_inverse=True)[1].ravel()
    size = int(question.max()) + 1
    drawn = np.random.default_rng([seed, 5]).multinomial(size, np.full(size, 1 / size), size=resamples)
    weights = np.vstack([np.ones(size), drawn]).astype(np.float64)
    draws = {name: Sums.of(one, correct, question, seed).measures(weights) for name, one in methods.items()}
    first = next(iter(draws.values()))
    return Compared(
        n=len(correct),
        questions=size,
        figures={name: intervals(one, size) for name, one in draws.items()},
        differences={name: intervals(first - one, size) for name, one in list(draws.items())[1:]},
        draws=draws,
    )


def intervals(draws: Floats, questions: int) -> dict[str, Interval]:
    """Measure -> estimate (of the first row) and interval (of the others)."""
    low, high = np.quantile(draws[1:], [0.025, 0.975], axis=0)
    found: dict[str, Interval] = {}
    for at, name in enumerate(MEASURES):
        ends: Interval = [None, None] if questions < FEWEST else [round(float(low[at]), 5), round(float(high[at]), 5)]
        found[name] = [round(float(draws[0, at]), 5), *ends]
    return found


def is_below(one: Interval) -> bool:
    """Whether an interval lies below 0."""
    return one[2] is not None and one[2] < 0


def is_above(one: Interval) -> bool:
    """Whether an interval lies above 0."""
    return one[1] is not None and one[1] > 0
