"""What the other judges, and people one by one, say of the same things."""

from dataclasses import dataclass

import numpy as np

from metajudge.audit.table import NOTHING, Table
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.label import Label, majority
from metajudge.types.verdict import AnyVerdict


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
        count = np.searchsorted(self.thing, things, side="right") - start
        row = np.repeat(np.arange(len(things)), count)
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return row, start[row] + within


def others_of(people: tuple[Label, ...]) -> list[tuple[Label, AnyVerdict]]:
    """For each person whose others are decided: the person's answer and that of the others together.

    Args:
        people: one answer a person (:func:`~metajudge.types.label.answers`).
    """
    together = [majority([one.value for one in (*people[:at], *people[at + 1 :])]) for at in range(len(people))]
    return [(one, others) for one, others in zip(people, together, strict=True) if others is not None]


def left_out(table: Table) -> LeftOut:
    """All comparisons; those whose answers are not of the table's kind are left out."""
    rows: list[tuple[int, int, float, int, float]] = []
    items = table.source.items
    for number, thing in enumerate(table.source.things[table.kind]):
        people = items[thing.item].people
        if len(people) < 2:
            continue
        for one, together in others_of(people):
            said = one.value
            codes = table.coding.code(said, thing.ids), table.coding.code(together, thing.ids)
            if NOTHING not in codes:
                rows.append((number, codes[0], table.coding.number(said), codes[1], table.coding.number(together)))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    thing_, answer, target = (columns[at].astype(np.intp) for at in (0, 1, 3))
    return LeftOut(thing_, answer, columns[2], target, columns[4])


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
        voters: [J, T] other judges with an answer.
        people: each person beside the others.
    """

    mode: Indices
    number: Floats
    correct: Floats
    others: Indices
    others_number: Floats
    voters: Indices
    people: LeftOut

    def without(self, first: int, second: int, classes: int) -> Indices:
        """[T] the most frequent answer of all judges but two; :data:`NOTHING` without one."""
        rest = np.delete(self.mode, [first, second], axis=0)
        return _top(sum((_one_hot(row, classes) for row in rest), np.zeros((self.mode.shape[1], classes))))


def build_peers(table: Table) -> Peers:
    """One vote a judge and thing, whatever the number of orders and repeats."""
    judges, things, classes = len(table.source.judges), len(table.item), len(table.classes)
    at = table.judge * things + table.thing
    size = judges * things
    mode = np.full(size, NOTHING, dtype=np.intp)
    known = table.answer != NOTHING
    cells, counts = np.unique(at[known] * classes + table.answer[known], return_counts=True)
    undecided = classes - 1 if table.kind in ("pairwise", "ranking") else NOTHING
    _take_modes(mode, cells // classes, cells % classes, counts, undecided)
    modes = mode.reshape(judges, things)
    number = _means(at, table.number, size).reshape(judges, things)
    correct = _means(at, table.correct, size).reshape(judges, things)
    graded = table.kind == "grade" and table.right.name != "side"
    scale = table.scale
    modes[table.unlike if (table.label != NOTHING).any() else scale != _most(scale[table.judge])] = NOTHING
    return Peers(
        mode=modes,
        number=number,
        correct=correct,
        others=np.full_like(modes, NOTHING) if graded else _others(modes, classes),
        others_number=_other_medians(number, scale),
        voters=(modes != NOTHING).sum(axis=0)[None] - (modes != NOTHING),
        people=left_out(table),
    )


def _most(scales: Indices) -> int:
    """The scale of most verdicts."""
    return int(np.bincount(scales).argmax())


def _take_modes(mode: Indices, cell: Indices, answer: Indices, counts: Indices, undecided: int) -> None:
    """Writes the most frequent answer of each cell; ``undecided`` where two are equally frequent."""
    order = np.lexsort((-counts, cell))
    cell, answer, counts = cell[order], answer[order], counts[order]
    first = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]]) if len(cell) else np.zeros(0, dtype=np.intp)
    after = np.minimum(first + 1, len(cell) - 1)
    tied = (first + 1 < len(cell)) & (cell[after] == cell[first]) & (counts[after] == counts[first])
    mode[cell[first]] = np.where(tied, undecided, answer[first])


def _means(at: Indices, values: Floats, size: int) -> Floats:
    known = ~np.isnan(values)
    counts = np.bincount(at[known], minlength=size)
    sums = np.bincount(at[known], weights=values[known], minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _one_hot(answers: Indices, classes: int) -> Floats:
    found = np.zeros((len(answers), classes))
    known = np.flatnonzero(answers != NOTHING)
    found[known, answers[known]] = 1.0
    return found


def _others(modes: Indices, classes: int) -> Indices:
    votes = sum((_one_hot(row, classes) for row in modes), np.zeros((modes.shape[1], classes)))
    return np.array([_top(votes - _one_hot(row, classes)) for row in modes], dtype=np.intp).reshape(modes.shape)


def _top(votes: Floats) -> Indices:
    """[T] the answer with most votes; :data:`NOTHING` without votes and where two have equally many."""
    top = votes.max(axis=1)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    return np.where((top > 0) & alone, votes.argmax(axis=1), NOTHING)


def _other_medians(number: Floats, scale: Indices) -> Floats:
    """[J, T] the median of the numbers of the other judges on the same scale."""
    if len(number) < 2 or np.isnan(number).all():
        return np.full_like(number, np.nan)
    found = np.full_like(number, np.nan)
    for judge in range(len(number)):
        rest = number[(scale == scale[judge]) & (np.arange(len(number)) != judge)]
        some = ~np.isnan(rest).all(axis=0)
        found[judge, some] = np.nanmedian(rest[:, some], axis=0)
    return found
