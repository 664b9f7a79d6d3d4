"""The human ceiling, and a judge's distance from it on the same items by the same comparisons."""

import numpy as np

from metajudge.audit.card import Ceiling, Figure
from metajudge.audit.figures import figure
from metajudge.audit.gather import ItemFacts
from metajudge.audit.left_out import others_of
from metajudge.audit.table import Table
from metajudge.audit.view import View
from metajudge.stats.association import mean_of, share_of
from metajudge.stats.human_ceiling import human_ceiling
from metajudge.types.label import Label, majority
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
        rule = self.table.right
        answers = [[(one.annotator, one.value) for one in facts.people] for facts in several]
        counted = human_ceiling(answers, majority, lambda one, other: is_right(one, other, rule))
        pairs = [(facts.question, share) for facts in several for share, _ in self._left_out[facts.id]]
        if not pairs or counted.agreement is None:
            return None
        questions = np.array([question for question, _ in pairs], dtype=np.intp)
        found = share_of(np.array([share for _, share in pairs]), questions)
        return Ceiling(kind=self.table.kind, agreement=figure(found, METHOD), annotators=counted.annotators)

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


def _left_out(people: tuple[Label, ...], rule: Right) -> tuple[tuple[float, AnyVerdict], ...]:
    """For each person with decided others: whether it agrees with them, and what they say."""
    compared = ((is_right(said, together, rule), together) for said, together in others_of(people))
    return tuple((float(right), together) for right, together in compared if right is not None)


def _apart(verdict: AnyVerdict, left_out: tuple[tuple[float, AnyVerdict], ...], rule: Right) -> float | None:
    pairs = [(is_right(verdict, others, rule), person) for person, others in left_out]
    known = [float(mine) - person for mine, person in pairs if mine is not None]
    return sum(known) / len(known) if known else None
