"""What further labels can do after an abstention: the chance to pass, by simulation of the procedure itself.

The number of labels at which the best threshold seen so far would just pass is far too small: the best of many
thresholds looks better than it is, and with so few labels the test fails more often than not. Here the precision as a
function of the score is a smooth curve (logistic in the score, with shrunken rises of its own in each eighth of the
ranks), whose coefficients have a posterior: Laplace's approximation, widened where judgments of one question lean the
same way. Each draw takes a curve, draws further questions like those there are, labels them by the curve, and runs the
procedure on old and new labels together at the level that the schedule of looks has left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from pydantic import Field
from scipy.special import expit, logit

from metajudge.errors import InputError
from metajudge.evidence.grouping import spread
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

Passes: TypeAlias = Callable[[Floats, Bools, Sequence[str]], bool]
"""Whether a threshold passes on scores [n], labels [n] and questions [n], at the level of the next look."""

SIZES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Numbers of further questions that are tried, as multiples of those there are."""

WANTED = 0.8
"""The chance to pass from which on a number of labels is recommended."""

DRAWS = 120

PARTS = 8
"""Equal parts of the ranks in each of which the curve may rise by an amount of its own."""

PRIOR_SD = (2.0, 1.0, *(0.6,) * PARTS)
"""Standard deviations of the normal prior of level, slope (over scores with standard deviation 1) and further rises."""

EDGE = 1e-4
SMALLEST = 10


class Chance(Frozen):
    """The chance to pass with so many further labelled questions, and its Monte-Carlo standard error."""

    further: int
    probability: float
    standard_error: float


class Advice(Frozen):
    """What further labels can do.

    Attributes:
        chances: by the number of further questions, ascending.
        foreseen: whether no label was seen, and the curve is the scores themselves, taken as probabilities.
    """

    questions: int
    level: float
    chances: tuple[Chance, ...]
    wanted: float = WANTED
    foreseen: bool = Field(default=False, exclude_if=lambda given: not given)

    @property
    def recommended(self) -> int | None:
        """Further questions with which the chance to pass reaches the wanted one; None where none tried does.

        Between two numbers tried, the chance is taken to rise evenly with the logarithm of all labels.
        """
        before: Chance | None = None
        for one in self.chances:
            if one.probability >= self.wanted:
                return one.further if before is None else self._between(before, one)
            before = one
        return None

    def _between(self, low: Chance, high: Chance) -> int:
        share = (self.wanted - low.probability) / (high.probability - low.probability)
        ends = np.log([self.questions + low.further, self.questions + high.further])
        return int(np.ceil(np.exp(ends[0] + share * (ends[1] - ends[0])) - self.questions))

    def lines(self) -> list[str]:
        """The advice in words."""
        curve = (
            "from the probabilities, as if they were true and a question's judgments right or wrong together"
            if self.foreseen
            else f"from the curve of precision fitted to these {self.questions} questions"
        )
        more = "" if self.foreseen else " more"
        found = [f"The next look is tested at a level of {self.level:.3g}. Chance that it passes, simulated {curve}:"]
        found += [f"  with {one.further}{more} labelled questions {_percent(one.probability)}" for one in self.chances]
        if self.recommended is not None:
            label = f"label about {self.recommended}{more} questions."
            return [*found, f"For a chance of {100 * self.wanted:g} %, {label}"]
        last = self.chances[-1]
        return [
            *found,
            f"A chance of {100 * self.wanted:g} % is not reachable with up to {last.further}{more}: fit on more labels "
            "or other signals so that the scores separate better.",
        ]


def advise(
    scores: Sequence[float] | Floats,
    correct: Sequence[bool] | Bools | None,
    questions: Sequence[str],
    *,
    passes: Passes,
    level: float,
    draws: int = DRAWS,
    sizes: Sequence[float] = SIZES,
) -> Advice:
    """The chance that the next look passes, by the number of further labelled questions.

    Args:
        scores: [n] of the labelled judgments; higher is more trustworthy.
        correct: [n]; None before any label: then the scores are taken as probabilities, all judgments of a question as
            right or wrong together, and ``sizes`` as numbers of questions.
        questions: [n] the question of each judgment.
        level: that level, in (0, 1).
        sizes: numbers of further questions to try, as multiples of those there are.

    Raises:
        InputError: nothing is labelled.
    """
    if not len(scores):
        raise InputError("there is no labelled judgment to give advice from")
    data = _Labelled.of(scores, correct, questions)
    seen = 1 if correct is None else len(data.starts)
    numbers = sorted({max(SMALLEST, int(np.ceil(size * seen))) for size in sizes})
    rng = np.random.default_rng([0, 19])
    fitted = _Curve.of(data) if correct is not None else _Curve.as_stated(data)
    passed = np.zeros((draws, len(numbers)), dtype=bool)
    for at, curve in enumerate(fitted.draws(draws, rng)):
        further = data.further(numbers[-1], curve, fitted.lean, rng)
        passed[at] = [passes(*data.with_further(further, number)) for number in numbers]
    # More labels of the same kind never hurt on the whole: what falls is noise of the draws.
    share = np.maximum.accumulate(passed.mean(axis=0))
    return Advice(
        questions=0 if correct is None else len(data.starts),
        foreseen=correct is None,
        level=level,
        chances=tuple(
            Chance(
                further=number,
                probability=float(one),
                standard_error=float(np.sqrt(max(one * (1 - one), 0.25 / draws) / draws)),
            )
            for number, one in zip(numbers, share, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Further:
    """Drawn questions: rows of the labelled ones, their new labels, and the number of the new question."""

    rows: Indices
    correct: Bools
    number: Indices


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Labelled judgments sorted by question.

    Attributes:
        scores: [n].
        features: [n, 2 + PARTS], see :func:`_features`.
        correct: [n]; empty before any label.
        names: [n] of the questions.
        place: [n] number of the question.
        starts, sizes: [q] first row of each question and how many it has.
    """

    scores: Floats
    features: Floats
    correct: Bools
    names: tuple[str, ...]
    place: Indices
    starts: Indices
    sizes: Indices

    @classmethod
    def of(
        cls, scores: Sequence[float] | Floats, correct: Sequence[bool] | Bools | None, questions: Sequence[str]
    ) -> "_Labelled":
        names = np.array(questions, dtype=str)
        order = np.argsort(names, kind="stable")
        values = np.asarray(scores, dtype=np.float64)[order]
        _, starts, place, sizes = np.unique(names[order], return_index=True, return_inverse=True, return_counts=True)
        return cls(
            values,
            _features(values),
            np.zeros(0, dtype=bool) if correct is None else np.asarray(correct, dtype=bool)[order],
            tuple(names[order].tolist()),
            place.ravel(),
            starts,
            sizes,
        )

    def further(self, number: int, curve: Floats, lean: float, rng: np.random.Generator) -> _Further:
        """Questions like these with labels by a curve; a share ``lean`` of the questions is right or wrong as one."""
        drawn = rng.integers(0, len(self.starts), size=number)
        rows, owner = spread(self.starts[drawn], self.starts[drawn] + self.sizes[drawn])
        right = expit(self.features[rows] @ curve)
        together = (rng.random(number) < lean)[owner]
        chance = np.where(together, rng.random(number)[owner], rng.random(len(owner)))
        return _Further(rows, np.asarray(chance < right), owner)

    def with_further(self, further: _Further, number: int) -> tuple[Floats, Bools, list[str]]:
        """Scores, labels and questions of the labelled judgments and of the first so many drawn questions."""
        used, known = further.number < number, len(self.correct)
        return (
            np.concatenate([self.scores[:known], self.scores[further.rows[used]]]),
            np.concatenate([self.correct, further.correct[used]]),
            [*self.names[:known], *(f"+{one}" for one in further.number[used])],
        )


@dataclass(frozen=True, slots=True)
class _Curve:
    """The posterior of the curve: mean [k] and covariance [k, k], and how judgments of one question lean together."""

    mean: Floats
    covariance: Floats
    lean: float

    @classmethod
    def of(cls, data: _Labelled) -> "_Curve":
        precision = np.diag(1 / np.square(PRIOR_SD))
        prior = np.array([float(logit((data.correct.sum() + 1) / (len(data.correct) + 2))), 1.0, *[0.0] * PARTS])
        mean = prior.copy()
        x, y = data.features, data.correct.astype(np.float64)
        for _ in range(50):
            right = expit(x @ mean)
            hessian = (x * (right * (1 - right))[:, None]).T @ x + precision
            step = np.linalg.solve(hessian, x.T @ (y - right) - precision @ (mean - prior))
            mean = mean + np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-8:
                break
        right = expit(x @ mean)
        spread = np.sqrt(np.maximum(right * (1 - right), EDGE))
        lean = _lean((y - right) / spread, data)
        # With m judgments a question that lean together, n judgments tell as much as n / (1 + (m - 1) lean).
        mean_size = float(np.square(data.sizes).sum() / data.sizes.sum())
        information = hessian - precision
        return cls(mean, np.linalg.inv(information / (1 + (mean_size - 1) * lean) + precision), lean)

    @classmethod
    def as_stated(cls, data: _Labelled) -> "_Curve":
        """The scores as probabilities, without doubt; judgments of one question are right or wrong together."""
        values = logit(np.clip(data.scores, EDGE, 1 - EDGE))
        mean = np.array([values.mean(), values.std(), *[0.0] * PARTS])
        return cls(mean, np.zeros((len(mean), len(mean))), 1.0)

    def draws(self, number: int, rng: np.random.Generator) -> Floats:
        """[number, k] curves."""
        found = rng.multivariate_normal(self.mean, self.covariance, size=number)
        found[:, 1] = np.maximum(found[:, 1], 0)  # scores are no worse than chance
        return found


def _lean(residuals: Floats, data: _Labelled) -> float:
    """Mean product of two residuals of one question, in [0, 1], over judgments in the upper half of the scores.

    These are the ones that a threshold may keep. Of all, the mean would hide how much they lean together: where a judge
    contradicts itself in the other order, one of two judgments is right and the other has a low score.
    """
    upper = data.scores >= np.median(data.scores)
    place, kept = data.place[upper], residuals[upper]
    sums, squares, sizes = (np.bincount(place, values) for values in (kept, np.square(kept), np.ones(len(kept))))
    pairs = float((sizes * (sizes - 1)).sum())
    return float(np.clip((np.square(sums) - squares).sum() / pairs, 0, 1)) if pairs else 0.0


def _features(scores: Floats) -> Floats:
    """[n, 2 + PARTS]: 1, the score with standard deviation 1 (of probabilities their log-odds), rises by rank."""
    from scipy.stats import rankdata  # imported where it is used: it takes half a second

    inside = scores.min() >= 0 and scores.max() <= 1
    values = logit(np.clip(scores, EDGE, 1 - EDGE)) if inside else scores
    spread = float(values.std())
    z = (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
    rises = np.clip(PARTS * (rankdata(scores) - 0.5)[:, None] / len(scores) - np.arange(PARTS), 0, 1)
    return np.column_stack([np.ones_like(z), z, rises - rises.mean(axis=0)])


def _percent(probability: float) -> str:
    """To the nearest 5 %: the draws tell no more."""
    rounded = 5 * round(20 * probability)
    return "under 5 %" if rounded < 5 else "over 95 %" if rounded > 95 else f"about {rounded} %"
