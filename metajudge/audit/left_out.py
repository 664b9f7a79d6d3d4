"""People left out in turn: what each says of a thing, and what the others say together."""

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
