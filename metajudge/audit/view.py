"""One judge's verdicts beside what they are compared with."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metajudge.audit.card import CheckName, Reference
from metajudge.audit.draft import Draft, Evidence, untested
from metajudge.audit.gather import Named
from metajudge.audit.peers import Peers
from metajudge.audit.table import NOTHING, Table
from metajudge.evidence.grouping import compared
from metajudge.stats.arrays import Bools, Floats, Indices, Ints


@dataclass(frozen=True, eq=False)
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
        return self.table.facts.judges[self.judge]

    @cached_property
    def cluster(self) -> Ints:
        """[m] questions."""
        return self.table.facts.by_cluster[self.rows]

    @cached_property
    def thing(self) -> Ints:
        """[m] things."""
        return self.table.thing[self.rows]

    @cached_property
    def answer(self) -> Indices:
        """[m] answers."""
        return self.table.answer[self.rows]

    @cached_property
    def number(self) -> Floats:
        """[m] numbers."""
        return self.table.number[self.rows]

    @property
    def every(self) -> Indices:
        """[m] the numbers of all of them."""
        return np.arange(len(self.rows))

    @property
    def time(self) -> Floats:
        """[m] seconds since 1970; NaN without a time."""
        return self.table.source.time[self.table.rows[self.rows]]

    def named(self, names: Named) -> Indices:
        """[m] the codes of names that judgments may have."""
        return names.codes[self.table.rows[self.rows]]

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

    def things(self, rows: Indices) -> int:
        """How many different things some of the m verdicts are on."""
        return len(np.unique(self.thing[rows]))

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
        self, name: CheckName, title: str, unit: str, evidence: Evidence | None, rows: Indices, says: str, **more: Any
    ) -> Draft:
        """A check by the reference on some of the m verdicts; ``more`` replaces attributes of it and of its draft."""
        n, questions = more.get("n", len(rows)), more.get("questions", len(np.unique(self.cluster[rows])))
        few = f"Too few observations to test ({n} from {questions} questions)."
        given = {"name": name, "title": title, "unit": unit, "reference": self.reference, "n": n}
        given |= {"questions": questions, "sentence": few if evidence is None else says}
        things, parts = more.pop("things", self.things(rows)), more.pop("parts", 1)
        return Draft(untested(**given | more), evidence, things, parts)


def view_of(table: Table, peers: Peers, judge: int) -> View:
    """The verdicts of one judge, by labels where it has any labelled verdict."""
    rows = np.flatnonzero(table.facts.judge == judge)
    thing = table.thing[rows]
    if not np.isnan(table.correct[rows]).all():
        target, number = table.label[thing], table.label_number[thing]
        return View(table, peers, judge, rows, "labels", target, number, table.correct[rows])
    if table.unlike[judge]:
        table = table.without_labels()
    others, numbers = peers.others[judge, thing], peers.others_number[judge, thing]
    right = table.agrees(table.answer[rows], table.number[rows], others, numbers)
    known = not np.isnan(right).all()
    reference: Reference = "majority of the other judges" if known else "nothing"
    return View(table, peers, judge, rows, reference, others, numbers, right)
