"""Labelled judgments as a threshold is sought on them: by question, with scores rounded as they are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metajudge.calibration.procedures import Reference, above_floor, fewest_kept, rounded
from metajudge.calibration.question_test import fewest_passing, question_p_values
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import text_digest

STAKES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.95)
"""Shares of the largest possible stake that are bet at once, with equal weights."""


def anytime_p_values(errors: Indices, kept: Indices, target: float, most: int) -> Floats:
    """P-values valid at any time, one for each threshold.

    Args:
        errors: [questions, thresholds] wrong ones among the kept judgments, questions in the order of their labels.
        kept: [questions, thresholds] judgments kept, 0 to ``most``.
        target: precision, in (0, 1).
        most: judgments of one question that may be kept at most.

    Returns:
        [thresholds].
    """
    excess = errors - (1 - target) * kept
    wealth = np.zeros(excess.shape)
    for share in STAKES:
        wealth += np.exp(np.cumsum(np.log1p(-share / (most * target) * excess), axis=0)) / len(STAKES)
    return np.asarray(1 / np.maximum(wealth.max(axis=0, initial=1.0), 1.0))


SET_ASIDE = 0.15
"""Share of the questions whose scores serve as reference where there is no other."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Kept and wrong judgments [questions, thresholds]; ``questions`` and ``judgments`` are how many there are."""

    kept: Indices
    errors: Indices
    judgments: int

    @property
    def questions(self) -> int:
        return len(self.kept)

    @property
    def first(self) -> "Counts":
        """Those at the most selective threshold."""
        return Counts(self.kept[:, :1], self.errors[:, :1], self.judgments)

    def p_values(self, target: float, most: int, *, anytime: bool = False, credited: int | None = None) -> Floats:
        """[thresholds] of the hypothesis that the precision of all kept judgments is below the target.

        Args:
            target: in (0, 1).
            most: judgments of one question that may be kept at most.
            anytime: by bets in the order of the questions.
            credited: right judgments of a question that the test by question gives credit for at most; None for all.
        """
        if anytime:
            return anytime_p_values(self.errors, self.kept, target, most)
        return question_p_values(self.errors, self.kept, target, most, credited)

    def why_none(self, target: float, level: float, alone: bool) -> str:
        """Why no threshold passes, in words; ``alone`` where no question can keep several judgments."""
        kept, errors = self.kept.sum(axis=0), self.errors.sum(axis=0)
        passing = fewest_passing(self.questions, 1 - target, level) if alone else None
        most, least = int((self.kept > 0).sum(axis=0).max(initial=0)), passing or fewest_kept(target, level)
        if most < least:
            return f"at most {most} questions are kept, and below {least} none can pass"
        if not (errors < (1 - target) * kept).any():
            return f"no threshold of the grid keeps more than {100 * target:g} % right"
        return "there are too few labels to separate the best thresholds from the target"


@dataclass(frozen=True, slots=True)
class LabelledSample:
    """Labelled judgments.

    Attributes:
        scores: [n] rounded to 1e-9.
        correct: [n].
        questions: [n].
        names: the questions, in the order in which bets take them.
        place: [n] number of each judgment's question in ``names``.
        most: judgments that a question has at most.
        left_out: questions with more judgments than declared, which are not here.
    """

    scores: Floats
    correct: Bools
    questions: tuple[str, ...]
    names: tuple[str, ...]
    place: Indices
    most: int
    left_out: int = 0

    @classmethod
    def of(
        cls,
        scores: Sequence[float] | Floats,
        correct: Sequence[bool] | Bools,
        questions: Sequence[str],
        declared: int | None = None,
    ) -> "LabelledSample":
        """The sample; the order of the rows plays no part.

        Args:
            scores: [n].
            correct: [n].
            questions: [n].
            declared: most judgments a question may have; questions with more are left out.

        Raises:
            InputError: unequal lengths, nothing given, a score that is no number, or only questions with more judgments
                than declared.
        """
        if not len(scores) == len(correct) == len(questions):
            raise InputError(
                f"{len(scores)} scores, {len(correct)} labels and {len(questions)} questions: "
                "they must match one to one"
            )
        if not len(scores):
            raise InputError(
                "there is no labelled judgment to seek a threshold on: give judgments with true labels "
                '(item.label, such as "A>B")'
            )
        values = rounded(scores)
        if not np.isfinite(values).all():
            raise InputError("a score is not a finite number: leave out judgments without a score")
        names, place, sizes = np.unique(np.array(questions, dtype=str), return_inverse=True, return_counts=True)
        if declared is not None and not declared >= 1:
            raise InputError(f"most_per_question must be at least 1, not {declared}")
        outside = sizes > (declared or sizes.max())
        if outside.all():
            raise InputError(f"every question has more than the {declared} judgments declared (most_per_question)")
        if outside.any():
            inside = np.flatnonzero(~outside[place.ravel()]).tolist()
            taken = cls.of(values[inside], np.asarray(correct)[inside], [questions[row] for row in inside])
            return replace(taken, left_out=int(outside.sum()))
        listed = tuple(names.tolist())
        right = np.asarray(correct, dtype=bool)
        return cls(values, right, tuple(map(str, questions)), listed, place.ravel(), int(sizes.max()))

    def set_aside(self) -> tuple["LabelledSample", Reference]:
        """The sample without some questions, chosen by the digest of their names, and the scores of these."""
        order = sorted(range(len(self.names)), key=lambda at: text_digest(self.names[at]))
        number = max(1, round(SET_ASIDE * len(order)))
        aside = np.isin(self.place, order[:number])
        reference = Reference.of(self.scores[aside], [self.questions[row] for row in np.flatnonzero(aside)])
        return self._select(~aside), reference

    def above(self, floor: float | None) -> "LabelledSample":
        """The questions with a judgment at or above a floor, with all their judgments."""
        inside = above_floor(self.scores, self.place, floor)
        return self if inside.all() else self._select(inside)

    def in_order(self, first_seen: Mapping[str, int] | None) -> "LabelledSample":
        """The same with the questions in the order of their labels: by look, within a look by digest."""
        seen = first_seen or {}
        order = sorted(
            range(len(self.names)), key=lambda at: (seen.get(self.names[at], 0), text_digest(self.names[at]))
        )
        new = np.empty(len(order), dtype=np.intp)
        new[order] = np.arange(len(order))
        names = tuple(self.names[at] for at in order)
        return LabelledSample(self.scores, self.correct, self.questions, names, new[self.place], self.most)

    def counts(self, grid: Sequence[float]) -> Counts:
        """Kept and wrong judgments of each question at each threshold."""
        above = self.scores[:, None] >= rounded(grid)
        order = np.argsort(self.place, kind="stable")
        starts = np.searchsorted(self.place[order], np.arange(len(self.names)))
        kept: Indices = above[order].astype(np.intp)
        errors: Indices = (above & ~self.correct[:, None])[order].astype(np.intp)
        if not len(starts):
            return Counts(kept, errors, 0)
        return Counts(np.add.reduceat(kept, starts), np.add.reduceat(errors, starts), len(self.scores))

    def _select(self, rows: Bools) -> "LabelledSample":
        at = np.flatnonzero(rows)
        kept = [self.questions[row] for row in at]
        if not kept:
            return LabelledSample(self.scores[at], self.correct[at], (), (), self.place[at], self.most)
        return replace(LabelledSample.of(self.scores[at], self.correct[at], kept), most=self.most)
