"""One judge's verdicts beside what they are compared with: the other judges, and people one by one."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metajudge.audit.card import CheckName, Reference
from metajudge.audit.draft import TITLES, Draft, Evidence, untested
from metajudge.audit.table import NOTHING, Table
from metajudge.evidence.grouping import Integers, compared, spread
from metajudge.evidence.verdicts import Coded
from metajudge.stats.arrays import Bools, Floats, Indices, Ints


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


@dataclass(frozen=True, eq=False)
class View:
    """The m verdicts of one judge.

    Attributes:
        table: all verdicts of the kind.
        peers: what the other judges say.
        judge: number of the judge.
        rows: [m] places in the table.
        cluster, thing, answer, number: [m] questions, things, answers and numbers of these.
        reference: what verdicts are compared with: labels where any verdict has one, else the other judges' majority.
        target: [m] the answer of the reference; NOTHING where it has none.
        target_number: [m] its number; NaN where it has none.
        right: [m] 1, 0 or NaN by the reference.
    """

    table: Table
    peers: Peers
    judge: int
    rows: Indices
    cluster: Ints
    thing: Ints
    answer: Indices
    number: Floats
    reference: Reference
    target: Indices
    target_number: Floats
    right: Floats

    @property
    def name(self) -> str:
        return self.table.facts.judges[self.judge]

    @property
    def every(self) -> Indices:
        """[m] the numbers of all of them."""
        return np.arange(len(self.rows))

    @property
    def time(self) -> Floats:
        """[m] seconds since 1970; NaN without a time."""
        return self.table.source.time[self.table.rows[self.rows]]

    def named(self, names: Coded[str]) -> Indices:
        """[m] the codes of names that judgments may have."""
        return names.codes[self.table.rows[self.rows]].astype(np.intp)

    @property
    def category(self) -> Indices:
        """[m] the category of each item, NOTHING without one."""
        return self.table.facts.category[self.rows].astype(np.intp)

    @property
    def measure(self) -> str:
        """What the mean of ``right`` is."""
        return "accuracy" if self.reference == "labels" else "agreement with the other judges"

    @property
    def people(self) -> str:
        """By whom ``right`` is."""
        return "people's labels" if self.reference == "labels" else "the majority of the other judges"

    @cached_property
    def first_shown(self) -> Indices:
        """[m] the place in the item of the response that was shown first."""
        table = self.table
        order, shape = table.facts.order[self.rows], table.shape[self.thing]
        found = compared(order, shape, table.facts.orders, table.shapes, lambda shown, ids: ids.index(shown[0]))
        return found.astype(np.intp)

    @property
    def has_target(self) -> Bools:
        """[m] whether the reference has one answer that a verdict can miss: no tie."""
        return np.asarray((self.target != NOTHING) & (self.target != self.table.tie), dtype=np.bool_)

    def others_right(self) -> Floats:
        """[m] how often the other judges are right on the same thing by the same reference; NaN where none is known."""
        peers, scale = self.peers, self.table.scale
        others = np.arange(len(scale)) != self.judge
        if self.reference == "labels":
            rates = peers.correct[others]
        else:
            others &= scale == scale[self.judge]
            rates = self.table.agrees(
                peers.mode[others], peers.number[others], peers.others[others], peers.others_number[others]
            )
        known = ~np.isnan(rates)
        sums, counts = np.where(known, rates, 0.0).sum(axis=0), known.sum(axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)[self.thing]

    def draft(
        self, name: CheckName, unit: str, evidence: Evidence | None, rows: Indices, says: str, **more: Any
    ) -> Draft:
        """A check by the reference on some of the m verdicts; ``more`` replaces attributes of it and of its draft."""
        n, questions = more.get("n", len(rows)), more.get("questions", len(np.unique(self.cluster[rows])))
        few = f"Too few observations to test ({n} from {questions} questions)."
        given = {"name": name, "title": TITLES[name], "unit": unit, "reference": self.reference, "n": n}
        given |= {"questions": questions, "sentence": few if evidence is None else says}
        own: dict[str, Any] = {"things": len(np.unique(self.thing[rows])), "parts": 1, "wrong": 1.0}
        own |= {key: more.pop(key) for key in own if key in more}
        return Draft(untested(**given | more), evidence, **own)


def view_of(table: Table, peers: Peers, judge: int) -> View:
    """The verdicts of one judge, by labels where it has any labelled verdict."""
    rows = np.flatnonzero(table.facts.judge == judge)
    thing, answer, number, right = table.thing[rows], table.answer[rows], table.number[rows], table.correct[rows]
    target, target_number = table.label[thing], table.label_number[thing]
    reference: Reference = "labels"
    if np.isnan(right).all():
        if table.unlike[judge]:
            table = table.without_labels()
        target, target_number = peers.others[judge, thing], peers.others_number[judge, thing]
        right = table.agrees(answer, number, target, target_number)
        reference = "nothing" if np.isnan(right).all() else "majority of the other judges"
    own = rows, table.facts.by_cluster[rows], thing, answer, number
    return View(table, peers, judge, *own, reference, target, target_number, right)
