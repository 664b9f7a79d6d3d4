"""What the other judges, and people one by one, say of the same things."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from metajudge.audit.table import NOTHING, Table
from metajudge.evidence.grouping import Integers, spread
from metajudge.stats.arrays import Floats, Indices


@dataclass(frozen=True, slots=True)
class LeftOut:
    """L comparisons of a person with the majority of the other people of an item, ordered by thing.

    Attributes:
        thing: [L] numbers.
        answer: [L] what the person says.
        number: [L] the same as a number; NaN where answers have none.
        target: [L] what the others say together.
        target_number: [L] the same as a number.
    """

    thing: Indices
    answer: Indices
    number: Floats
    target: Indices
    target_number: Floats

    def beside(self, things: Indices) -> tuple[Indices, Indices]:
        """Each verdict beside each comparison on its thing.

        Args:
            things: [m] the thing of each verdict.

        Returns:
            [pairs] places in ``things`` and [pairs] places in the comparisons.
        """
        start = np.searchsorted(self.thing, things, side="left")
        at, row = spread(start, np.searchsorted(self.thing, things, side="right"))
        return row, at


def left_out(table: Table) -> LeftOut:
    """All comparisons; those whose answers are not of the table's kind are left out."""
    rows, coding = [], table.coding
    for number, (item, shape) in enumerate(zip(table.item.tolist(), table.shape.tolist(), strict=True)):
        ids = table.shapes[shape]
        for mine, others in table.left_out.get(item, ()):
            answer, target = coding.code(mine.value, ids), coding.code(others, ids)
            if answer is not None and target is not None:
                rows.append((number, answer, target, coding.number(mine.value, ids), coding.number(others, ids)))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    thing, answers, targets = columns[:3].astype(np.intp)
    return LeftOut(thing, answers, columns[3], targets, columns[4])


@dataclass(frozen=True, slots=True)
class Peers:
    """Answers by judge and thing, J judges and T things.

    Attributes:
        mode: [J, T] the judge's most frequent answer; where two are equally frequent a tie, which grades and categories
            do not have: :data:`NOTHING` there, and without an answer.
        number: [J, T] its mean number; NaN without.
        correct: [J, T] the share of its verdicts that are right by the label; NaN without.
        others: [J, T] the most frequent answer of the other judges; :data:`NOTHING` without one.
        others_number: [J, T] the median of the other judges' numbers.
        people: each person beside the others.
    """

    mode: Indices
    number: Floats
    correct: Floats
    others: Indices
    others_number: Floats
    people: LeftOut

    def without(self, first: int, second: int, classes: int) -> Indices:
        """[T] the most frequent answer of all judges but two; :data:`NOTHING` without one."""
        return _top(_votes(np.delete(self.mode, [first, second], axis=0), classes))


def build_peers(table: Table) -> Peers:
    """One vote a judge and thing, whatever the number of orders and repeats."""
    shape = len(table.facts.judges), len(table.first)
    at, size, classes = table.facts.judge * shape[1] + table.thing, shape[0] * shape[1], len(table.coding.classes)
    known = table.answer != NOTHING
    mode = _modes(at[known], table.answer[known], size, table.tie).reshape(shape)
    number, correct = (_means(at, values, size).reshape(shape) for values in (table.number, table.correct))
    scale = table.scale
    most = np.bincount(scale[table.facts.judge]).argmax()  # the scale of most verdicts
    mode[table.unlike if (table.label != NOTHING).any() else scale != most] = NOTHING
    others = np.full_like(mode, NOTHING)
    if not table.numeric:
        votes = _votes(mode, classes)
        others[:] = [_top(votes - _votes([own], classes)) for own in mode]
    return Peers(
        mode=mode,
        number=number,
        correct=correct,
        others=others,
        others_number=_other_medians(number, scale),
        people=left_out(table),
    )


def _modes(cell: Integers, answer: Indices, size: int, tie: int) -> Indices:
    """[size] the most frequent answer of each cell, ``tie`` where two are equally frequent."""
    bound = int(answer.max(initial=0)) + 1
    given, counts = np.unique(cell * bound + answer, return_counts=True)
    cells, most = given // bound, np.zeros(size, dtype=np.intp)
    np.maximum.at(most, cells, counts)
    top = counts == most[cells]
    mode = np.full(size, NOTHING, dtype=np.intp)
    mode[cells[top]] = given[top] % bound
    mode[np.bincount(cells[top], minlength=size) > 1] = tie
    return mode


def _means(at: Indices, values: Floats, size: int) -> Floats:
    known = ~np.isnan(values)
    counts = np.bincount(at[known], minlength=size)
    sums = np.bincount(at[known], weights=values[known], minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _votes(modes: Iterable[Indices], classes: int) -> Floats:
    """[T, classes] how many judges give each answer."""
    return np.asarray(sum((row[:, None] == np.arange(classes)).astype(np.float64) for row in modes))


def _top(votes: Floats) -> Indices:
    """[T] the answer with most votes; :data:`NOTHING` without votes and where two have equally many."""
    top = votes.max(axis=1)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    return np.where((top > 0) & alone, votes.argmax(axis=1), NOTHING)


def _other_medians(number: Floats, scale: Indices) -> Floats:
    """[J, T] the median of the numbers of the other judges on the same scale."""
    found = np.full_like(number, np.nan)
    for judge in range(len(number)):
        rest = number[(scale == scale[judge]) & (np.arange(len(number)) != judge)]
        some = ~np.isnan(rest).all(axis=0)
        if some.any():
            found[judge, some] = np.nanmedian(rest[:, some], axis=0)
    return found
