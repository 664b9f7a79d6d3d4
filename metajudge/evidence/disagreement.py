"""What disagreement alone proves: bounds on how many verdicts can be right. No model, no assumption, no label.

On an item one class is true. Of the judges who answered, those are right who named it. Hence, whatever is true:

1. Two judges who name different classes are not both right. With ``d`` the share of their common items on which they
   differ, their error rates there satisfy ``e1 + e2 >= d``, so the worse of the two errs on at least ``d / 2``.
2. On an item on which the most frequent class was named ``m`` times in ``n`` answers, at most ``m`` answers are right.
   Summed over items: at most ``sum(m) / sum(n)`` of all answers are right.
3. Let ``x`` judges each be right on a share of at least ``y`` of N items that all judges answered. Then together they
   are right at least ``x y N`` times, and on each item at most ``min(x, m)`` of them are right, with ``m`` the
   number of judges who named its most frequent class. Hence ``x y N <= sum(min(x, m))``: the largest such ``x`` bounds
   how many judges can be that good.

An answer without a single class (a tie, under a rule that asks for a winner) is right in no case and counts as wrong.
In 1 and 3 a judge with several answers on an item counts as right there if any of them is; that only widens the bounds.
The bounds are facts about the items at hand, not estimates: they have no interval. They are one-sided. Judges who all
agree may all be wrong, and one judge alone is bounded by nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metajudge.evidence.class_answers import ClassAnswers
from metajudge.stats.arrays import Bools, Floats, Indices

MOST_JUDGES = 60
"""Judges are compared with each other where they are no more than this; else bound 2 alone is given."""

ROUNDING = 1e-9

BLOCK = 1_024
"""Items that are compared at once."""


@dataclass(frozen=True, slots=True)
class PairBound:
    """Two judges on the items that both answered once or more.

    Attributes:
        judges: their names.
        items: common items.
        differ: share of these on which no class was named by both, in [0, 1].
    """

    judges: tuple[str, str]
    items: int
    differ: float

    @property
    def worse_errs(self) -> float:
        """The worse judge's error rate on these items, at least."""
        return self.differ / 2


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Bounds for one group of answers.

    Attributes:
        answers: how many there are, on ``items`` items by ``judges`` judges.
        most_right: share of the answers that can be right at most, in [0, 1].
        pairs: every two judges with common items, by name; empty above :data:`MOST_JUDGES` judges.
        common: items that all judges answered; 0 above :data:`MOST_JUDGES` judges.
        named: on how many of these the most frequent class was named by so many judges, by their number.
    """

    answers: int
    items: int
    judges: int
    most_right: float
    pairs: tuple[PairBound, ...]
    common: int
    named: tuple[int, ...]

    def most_judges(self, accuracy: float) -> int | None:
        """How many judges can each be right on at least this share of the common items; None without common items.

        Args:
            accuracy: in (0, 1].
        """
        if not self.common:
            return None
        for count in range(self.judges, 1, -1):
            right = sum(times * min(count, judges) for judges, times in enumerate(self.named))
            if count * accuracy * self.common <= right + ROUNDING:
                return count
        return 1


def disagreement(answers: ClassAnswers) -> Disagreement:
    """The bounds of one group of answers."""
    size = len(answers.judges)
    codes = answers.item[:, None] * answers.places + np.arange(answers.places)
    counts = np.bincount(codes[answers.hits], minlength=len(answers.subjects) * answers.places)
    most = counts.reshape(-1, answers.places).max(axis=1)
    met, alike = np.zeros((size, size)), np.zeros((size, size))
    named = np.zeros(size + 1, dtype=np.int64)
    for given, classes in _blocks(answers) if size <= MOST_JUDGES else ():
        met += np.einsum("ij,ik->jk", given.astype(np.float64), given.astype(np.float64))
        alike += _alike(classes)
        shared = given.all(axis=1)
        named += np.bincount(classes[shared].sum(axis=1).max(axis=1), minlength=size + 1)
    return Disagreement(
        answers=len(answers.said),
        items=len(answers.subjects),
        judges=size,
        most_right=float(most.sum() / len(answers.said)),
        pairs=tuple(_pairs(answers.judges, met, alike)),
        common=int(named.sum()),
        named=tuple(named.tolist()),
    )


def _blocks(answers: ClassAnswers) -> Iterator[tuple[Bools, Bools]]:
    """Parts of the items: [items, judges] who answered, [items, judges, C] who named which class."""
    order = np.argsort(answers.item, kind="stable")
    items = answers.item[order]
    for begin in range(0, len(answers.subjects), BLOCK):
        end = min(begin + BLOCK, len(answers.subjects))
        here: Indices = order[np.searchsorted(items, begin) : np.searchsorted(items, end)]
        given = np.zeros((end - begin, len(answers.judges)), dtype=bool)
        given[answers.item[here] - begin, answers.judge[here]] = True
        classes = np.zeros((*given.shape, answers.places), dtype=bool)
        row, which = np.nonzero(answers.hits[here])
        classes[answers.item[here[row]] - begin, answers.judge[here[row]], which] = True
        yield given, classes


def _alike(classes: Bools) -> Floats:
    """[judges, judges] number of items on which both named one class."""
    both = np.zeros((classes.shape[0], classes.shape[1], classes.shape[1]), dtype=bool)
    for which in range(classes.shape[2]):
        both |= classes[:, :, None, which] & classes[:, None, :, which]
    return np.asarray(both.sum(axis=0), dtype=np.float64)


def _pairs(judges: tuple[str, ...], met: Floats, alike: Floats) -> Iterator[PairBound]:
    for first, second in combinations(range(len(judges)), 2):
        items = int(met[first, second])
        if items:
            yield PairBound((judges[first], judges[second]), items, (items - int(alike[first, second])) / items)
