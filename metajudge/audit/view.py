"""One judge's verdicts beside what they are compared with."""

from dataclasses import dataclass

import numpy as np

from metajudge.audit.card import Reference
from metajudge.audit.peers import Peers
from metajudge.audit.table import NOTHING, Table
from metajudge.stats.arrays import Bools, Floats, Indices


@dataclass(frozen=True, slots=True)
class View:
    """The m verdicts of one judge.

    Attributes:
        table: all verdicts of the kind.
        peers: what the other judges say.
        judge: number of the judge.
        rows: [m] places in the table.
        reference: what verdicts are compared with: labels where any verdict has one, else the other judges' majority.
        target: [m] the answer of the reference; NOTHING where it has none.
        target_number: [m] its number; NaN where it has none.
        right: [m] 1, 0 or NaN by the reference.
    """

    table: Table
    peers: Peers
    judge: int
    rows: Indices
    reference: Reference
    target: Indices
    target_number: Floats
    right: Floats

    @property
    def name(self) -> str:
        return self.table.source.judges.values[self.judge]

    @property
    def cluster(self) -> Indices:
        """[m] questions."""
        return self.table.cluster[self.rows]

    @property
    def thing(self) -> Indices:
        """[m] things."""
        return self.table.thing[self.rows]

    @property
    def answer(self) -> Indices:
        """[m] answers."""
        return self.table.answer[self.rows]

    @property
    def number(self) -> Floats:
        """[m] numbers."""
        return self.table.number[self.rows]

    def things(self, rows: Indices) -> int:
        """How many different things some of the m verdicts are on."""
        return len(np.unique(self.thing[rows]))

    @property
    def first_shown(self) -> Indices:
        """[m] the place in the item of the response that was shown first."""
        table, orders = self.table, self.table.source.orders.values
        things = table.source.things[table.kind]
        pairs: Indices = table.order[self.rows].astype(np.intp) * len(things) + self.thing
        codes, place = np.unique(pairs, return_inverse=True)
        found = [things[code % len(things)].ids.index(orders[code // len(things)][0]) for code in codes.tolist()]
        return np.array(found, dtype=np.intp)[np.asarray(place.ravel(), dtype=np.intp)]

    @property
    def has_target(self) -> Bools:
        """[m] whether the reference has one answer that a verdict can miss: no tie."""
        tie = len(self.table.classes) - 1 if self.table.kind in ("pairwise", "ranking") else NOTHING
        return np.asarray((self.target != NOTHING) & (self.target != tie), dtype=np.bool_)

    def others_right(self) -> Floats:
        """[m] how often the other judges are right on the same thing by the same reference; NaN where none is known."""
        scale = self.table.scale
        if self.reference == "labels":
            rates = np.delete(self.peers.correct, self.judge, axis=0)
        else:
            rates = np.array(
                [
                    _agreement(self.table, self.peers, judge)
                    for judge in range(len(self.peers.mode))
                    if judge != self.judge and scale[judge] == scale[self.judge]
                ]
            )
        if not len(rates):
            return np.full(len(self.rows), np.nan)
        known = ~np.isnan(rates)
        sums = np.where(known, rates, 0.0).sum(axis=0)
        counts = known.sum(axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)[self.thing]


def view_of(table: Table, peers: Peers, judge: int) -> View:
    """The verdicts of one judge, by labels where it has any labelled verdict."""
    rows = np.flatnonzero(table.judge == judge)
    thing = table.thing[rows]
    if not np.isnan(table.correct[rows]).all():
        target, number = table.label[thing], table.label_number[thing]
        return View(table, peers, judge, rows, "labels", target, number, table.correct[rows])
    if table.unlike[judge]:
        table = table.without_labels()
    others, numbers = peers.others[judge, thing], peers.others_number[judge, thing]
    right = table.right_by(rows, others, numbers)
    known = not np.isnan(right).all()
    reference: Reference = "majority of the other judges" if known else "nothing"
    return View(table, peers, judge, rows, reference, others, numbers, right)


def _agreement(table: Table, peers: Peers, judge: int) -> Floats:
    """[T] whether a judge's answer is right by the majority of the judges other than itself."""
    mode, others = peers.mode[judge], peers.others[judge]
    if table.kind == "grade" and table.right.name != "side":
        margin = (table.right.value or 0.0) if table.right.name == "within" else 0.0
        apart = np.abs(peers.number[judge] - peers.others_number[judge]) - margin
        return np.where(np.isnan(apart), np.nan, (np.round(apart, 9) <= 0).astype(np.float64))
    known = (mode != NOTHING) & (others != NOTHING)
    return np.where(known, (mode == others).astype(np.float64), np.nan)
