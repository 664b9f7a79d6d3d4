"""Whether two judges agree more than one shared factor explains; see :mod:`metajudge.evidence.dependence`.

Arrays over judges, [J, J], are symmetric; their diagonal means nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from metajudge.evidence.class_answers import Cells
from metajudge.stats.arrays import Bools, Floats, Indices, Ints
from metajudge.stats.multiple import holm

LEVEL: Final = 0.05
"""Chance of any false finding among the pairs of one kind of answers."""
LEAST_FOLLOWS: Final = 0.4
"""Two judges are found dependent where they follow each other in more than this share of what independence leaves."""
LEAST_COPIES: Final = 0.75
"""The same for copies, which count once as evidence."""
LEAST_TEXTS: Final = 0.5
"""Share of equally long rationales beyond chance above which texts count as the same."""
NEAR: Final = 0.9
"""Judges whose answers are correlated so highly are left out of each other's comparison."""
FEWEST_QUESTIONS: Final = 30
"""Questions that two judges must share to be compared."""
GROUPS: Final = 40
"""Groups of questions that the jackknife leaves out in turn."""
LEAST_SHARED: Final = 0.02
"""Mean correlation of the other judges below which they share too little to compare with."""
MOST_BESIDE: Final = 24
FEWEST_BESIDE: Final = 6
ALL_BESIDE: Final = 2_400
"""Other judges that a pair is compared with at most, at least, and times the number of judges; evenly spaced ones of
more."""
MOST_COMPARED: Final = 20_000_000
"""Rationales' lengths are compared on so many answers times pairs of judges at most."""
TINY: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the cells that two judges share, for each group of questions: [groups, J, J] each.

    Attributes:
        products, squares: of centred answers; ``squares[:, i, j]`` are those of judge i.
        questions: [J, J] questions that both answered.
    """

    products: Floats
    squares: Floats
    same: Floats
    count: Floats
    questions: Ints

    @classmethod
    def of(cls, cells: Cells) -> "Sums":
        size, judges = int(cells.question.max()) + 1, cells.there.shape[1]
        groups = min(GROUPS, size)
        member = cells.question % groups
        energy = (cells.centred**2).sum(axis=2)
        found = np.zeros((4, groups, judges, judges))
        for group in range(groups):
            rows = np.flatnonzero(member == group)
            there = cells.there[rows]
            for at, values in ((0, cells.centred[rows]), (2, cells.answer[rows])):
                flat = values.transpose(0, 2, 1).reshape(-1, judges)
                found[at, group] = flat.T @ flat
            found[1, group] = energy[rows].T @ there
            found[3, group] = there.T @ there
        questions = _questions(cells.there, cells.question)
        return cls(found[0], found[1], found[2], found[3], questions)

    def correlations(self) -> tuple[Floats, Floats]:
        """[J, J] over all groups, and [groups, J, J] without each; NaN where a judge does not vary."""
        products, squares = self.products.sum(axis=0), self.squares.sum(axis=0)
        return _correlation(products, squares), _correlation(products - self.products, squares - self.squares)

    @cached_property
    def enough(self) -> Bools:
        """[J, J] whether two judges share enough questions to be compared."""
        return self.questions >= FEWEST_QUESTIONS

    @cached_property
    def shared(self) -> Floats:
        """[J, J] cells that two judges share."""
        return np.asarray(self.count.sum(axis=0))

    @cached_property
    def same_share(self) -> Floats:
        """[J, J] share of same answers, in [0, 1]."""
        return np.asarray(self.same.sum(axis=0) / np.maximum(self.shared, 1))

    @cached_property
    def worth(self) -> Floats:
        """[J, J] by how much the share of same answers rises with their correlation."""
        squares = self.squares.sum(axis=0)
        return np.asarray(np.sqrt(squares * squares.T) / np.maximum(self.shared, 1))


def _correlation(products: Floats, squares: Floats) -> Floats:
    size = squares * np.swapaxes(squares, -1, -2)
    return np.where(size > TINY, products / np.sqrt(np.maximum(size, TINY)), np.nan)


def _expected(correlation: Floats, near: Bools) -> Floats:
    """E(i, j) of every pair, in [0, 1]; NaN where no two others can stand beside it, or they share too little.

    Args:
        correlation: [groups, J, J], the first one over all groups of questions.
        near: [J, J] judges that are left out of each other's comparison: beside a pair stand judges that are near
            neither, two at a time that are not near each other.
    """
    known = np.nan_to_num(correlation)
    judges = known.shape[-1]
    most = max(FEWEST_BESIDE, min(MOST_BESIDE, ALL_BESIDE // judges))
    found = np.full(known.shape, np.nan)
    for one in range(judges):
        for other in range(one + 1, judges):
            beside = np.flatnonzero(~(near[one] | near[other]))
            beside = beside[(beside != one) & (beside != other)]
            beside = beside[np.unique(np.linspace(0, len(beside) - 1, min(len(beside), most)).astype(np.intp))]
            two = ~near[np.ix_(beside, beside)]
            np.fill_diagonal(two, False)
            if not two.any():
                continue
            above = ((known[:, one, beside] @ two) * known[:, other, beside]).sum(axis=-1)
            below = known[:, beside[:, None], beside][:, two].sum(axis=-1)
            if below[0] > LEAST_SHARED * two.sum():
                found[:, one, other] = found[:, other, one] = np.clip(above / np.maximum(below, TINY), 0.0, 1.0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """What the answers of every pair say, [J, J] each.

    Attributes:
        correlation: of their answers, NaN where a judge does not vary.
        expected: the correlation that the shared factor explains, in [0, 1]; NaN where it cannot be told.
        expected_share: the share of same answers that goes with it.
        follows: ``(correlation - expected) / (1 - expected)``.
        adjusted: by limit, P values of ``follows`` against it, one-sided, after Holm's correction over all pairs; 1
            where it cannot be told.
    """

    correlation: Floats
    expected: Floats
    expected_share: Floats
    follows: Floats
    error: Floats
    adjusted: Mapping[float, Floats]

    @classmethod
    def of(cls, sums: Sums) -> "PairTests":
        whole, without = sums.correlations()
        near = np.nan_to_num(whole) >= NEAR
        np.fill_diagonal(near, False)
        every = np.concatenate([whole[None], without])
        expected = _expected(every, near)
        expected[:, ~sums.enough | np.isnan(whole)] = np.nan
        adjusted = {}
        for limit in (LEAST_FOLLOWS, LEAST_COPIES):
            beyond = (every - expected) - limit * (1 - expected)
            error = np.maximum(_jackknife(beyond[1:]), _error_at(sums, beyond[0]))
            adjusted[limit] = _holm(_upper(beyond[0], error, len(without) - 1))
        follows = (every - expected) / np.maximum(1 - expected, TINY)
        share = np.clip(sums.same_share - (whole - expected[0]) * sums.worth, 0.0, 1.0)
        return cls(whole, expected[0], share, follows[0], _jackknife(follows[1:]), adjusted)


def _jackknife(values: Floats) -> Floats:
    """Standard error from values without each group (Quenouille, 1949; Tukey, 1958)."""
    groups = len(values)
    return np.asarray(np.sqrt((groups - 1) / groups * ((values - values.mean(axis=0)) ** 2).sum(axis=0)))


def _error_at(sums: Sums, beyond: Floats) -> Floats:
    """Standard error of the correlation of pairs that follow just to the limit, as that of a share of same answers.

    Questions are the units: it does not vanish where no answers differ.
    """
    at = np.clip(sums.same_share - beyond * sums.worth, TINY, 1 - TINY)
    error = np.sqrt(at * (1 - at) / np.maximum(sums.questions, 1))
    return np.asarray(np.where(sums.worth > TINY, error / np.maximum(sums.worth, TINY), np.inf))


def _upper(value: Floats, error: Floats, df: int) -> Floats:
    """P values of values against 0, towards larger ones, by Student's t; 1 where there is no value."""
    from scipy.special import stdtr

    found = stdtr(max(df, 1), -np.nan_to_num(value) / np.maximum(error, TINY))
    return np.asarray(np.where(np.isnan(value) | (df < 1), 1.0, found))


def _holm(chances: Floats) -> Floats:
    """[J, J] adjusted over the pairs."""
    first, second = np.triu_indices(len(chances), 1)
    found = np.ones(chances.shape)
    found[first, second] = found[second, first] = holm(np.clip(np.nan_to_num(chances[first, second], nan=1.0), 0, 1))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TextTests:
    """What the lengths of the rationales of every pair say, [J, J] each.

    Attributes:
        both: cells in which both gave a long rationale.
        equal: the share of them with the same number of words.
        same: whether that is more than chance and :data:`LEAST_TEXTS` of the rest, after Holm's correction.
    """

    both: Ints
    equal: Floats
    same: Bools

    @classmethod
    def of(cls, cells: Cells) -> "TextTests":
        judges = cells.there.shape[1]
        rows = np.arange(len(cells.question))
        most = max(1, MOST_COMPARED // (judges * judges))
        if len(rows) > most:
            rows = np.unique(np.linspace(0, len(rows) - 1, most).astype(np.intp))
        words = cells.words[rows]
        long = (words > 0).astype(np.float64)
        both = long.T @ long
        lengths, place = np.unique(words, return_inverse=True)
        usual = np.zeros((judges, len(lengths)))
        np.add.at(usual, (np.broadcast_to(np.arange(judges), words.shape), place.reshape(words.shape)), long)
        usual /= np.maximum(usual.sum(axis=1, keepdims=True), 1)
        chance = usual @ usual.T
        counts = np.stack([((words == words[:, [judge]]) & (words > 0)).sum(axis=0) for judge in range(judges)])
        equal = counts / np.maximum(both, 1)
        limit = chance + LEAST_TEXTS * (1 - chance)
        questions = _questions(long, cells.question[rows])
        error = np.sqrt(np.maximum(limit * (1 - limit), TINY) / np.maximum(questions, 1))
        beyond = np.where(questions >= FEWEST_QUESTIONS, equal - limit, np.nan)
        return cls(np.rint(both).astype(np.int64), equal, _holm(_upper(beyond, error, 10_000)) <= LEVEL)


def _questions(there: Floats, question: Indices) -> Ints:
    """[J, J] questions that both judges of a pair have cells of."""
    seen = np.zeros((int(question.max(initial=-1)) + 1, there.shape[1]))
    np.maximum.at(seen, question, there)
    return np.asarray(np.rint(seen.T @ seen).astype(np.int64))
