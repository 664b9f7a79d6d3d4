"""The human ceiling, and a judge's distance from it on the same items by the same comparisons."""

from typing import NamedTuple

import numpy as np

from metajudge.audit.card import Ceiling, Figure
from metajudge.audit.figures import figure
from metajudge.audit.gather import ItemFacts
from metajudge.audit.left_out import others_of
from metajudge.audit.table import Table
from metajudge.audit.view import View
from metajudge.stats.association import mean_of, share_of
from metajudge.types.label import Label
from metajudge.types.right import Right, is_right
from metajudge.types.verdict import AnyVerdict

METHOD = "share of people's answers that are right by the majority of the other people"


class CeilingTable:
    """People's leave-one-out comparisons on the items of one kind.

    Attributes:
        table: verdicts of the kind.
        ceiling: how well people agree; None where no item has two people.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._facts = [table.source.items[at] for at in np.unique(table.item)]
        several = [one for one in self._facts if len(one.people) > 1]
        self._left_out = {one.id: _left_out(one.people, table.right) for one in several}
        self.ceiling = self._ceiling(several)

    def _ceiling(self, several: list[ItemFacts]) -> Ceiling | None:
        compared = [(facts, one) for facts in several for one in self._left_out[facts.id]]
        if not compared:
            return None
        questions = np.array([facts.question for facts, _ in compared], dtype=np.intp)
        found = share_of(np.array([one.agrees for _, one in compared]), questions)
        people = {one.annotator or place for place, (_, one) in enumerate(compared)}
        return Ceiling(kind=self.table.kind, agreement=figure(found, METHOD), annotators=len(people))

    def gap(self, view: View) -> Figure | None:
        """The judge's agreement with all but one of the people, less that of the one left out, item by item."""
        if self.ceiling is None or view.table.unlike[view.judge]:
            return None
        source, rule = self.table.source, self.table.right
        known: dict[tuple[int, int], float | None] = {}
        values, clusters = [], []
        for row, thing, raw in zip(view.rows, view.thing, self.table.raw[view.rows], strict=True):
            key = int(self.table.item[thing]), int(raw)
            if key not in known:
                verdict = source.verdicts.values[raw]
                known[key] = _apart(verdict, self._left_out.get(source.items[key[0]].id, ()), rule)
            value = known[key]
            if value is not None:
                values.append(value)
                clusters.append(int(self.table.cluster[row]))
        if not values:
            return None
        found = mean_of(np.array(values), np.array(clusters, dtype=np.intp))
        return figure(found, "agreement with all people but one, less that of the one", bounds=(-1.0, 1.0))


class _LeftOut(NamedTuple):
    """A person, whether it agrees with the others of an item, and what they say."""

    annotator: str | None
    agrees: float
    others: AnyVerdict


def _left_out(people: tuple[Label, ...], rule: Right) -> tuple[_LeftOut, ...]:
    """For each person with decided others."""
    compared = ((one, is_right(one.value, together, rule), together) for one, together in others_of(people))
    return tuple(_LeftOut(one.annotator, float(right), others) for one, right, others in compared if right is not None)


def _apart(verdict: AnyVerdict, left_out: tuple[_LeftOut, ...], rule: Right) -> float | None:
    pairs = [(is_right(verdict, one.others, rule), one.agrees) for one in left_out]
    known = [float(mine) - person for mine, person in pairs if mine is not None]
    return sum(known) / len(known) if known else None
