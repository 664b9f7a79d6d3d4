"""The verdicts that are furthest from their labels."""

import numpy as np

from metajudge.audit.card import Disagreement
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.stats.arrays import Floats
from metajudge.types.verdict import Pairwise

MOST = 10


def worst(view: View, most: int = MOST) -> tuple[Disagreement, ...]:
    """Wrong verdicts by distance from the label; equal ones where more people say the same, then the stronger verdict.

    Verdicts that are still equal are ordered by the id of the judgment, so that the list does not depend on the order
    of the file.
    """
    table, source = view.table, view.table.source
    if view.reference != "labels":
        return ()
    distance = _distances(view)
    rows = np.flatnonzero((view.right == 0) & (distance > 0))
    kept, items = source.rows[table.kind], table.item[view.thing]

    def rank(at: int) -> tuple[float, int, int, int, str]:
        row = int(view.rows[at])
        people = source.items[int(items[at])].people
        verdict = source.verdicts.values[int(table.raw[row])]
        strength = verdict.strength if isinstance(verdict, Pairwise) else 0
        alike = len({one.value for one in people}) <= 1
        return -float(distance[at]), -int(alike), -len(people), -strength, kept.id[row]

    return tuple(_one(view, at, float(distance[at])) for at in sorted((int(row) for row in rows), key=rank)[:most])


def _distances(view: View) -> Floats:
    """[m] in [0, 1]: of grades and ordered categories by the scale, half where one side is a tie, else 1."""
    table = view.table
    if table.spread and not table.binary:
        low, high = np.nanmin(table.number), np.nanmax(table.number)
        spread = max(table.spread, float(high - low))
        gap = np.minimum(1.0, np.abs(view.number - view.target_number) / spread)
        return np.asarray(np.where(np.isnan(gap), 0.0, gap), dtype=np.float64)
    known = (view.answer != NOTHING) & (view.target != NOTHING)
    apart = (known & (view.answer != view.target)).astype(np.float64)
    if table.kind in ("pairwise", "ranking"):
        tie = len(table.classes) - 1
        apart[(view.answer == tie) | (view.target == tie)] /= 2
    return np.asarray(apart, dtype=np.float64)


def _one(view: View, at: int, distance: float) -> Disagreement:
    table, source = view.table, view.table.source
    row, thing = int(view.rows[at]), source.things[table.kind][int(view.thing[at])]
    item = source.items[thing.item]
    label, verdict = item.truth(), source.verdicts.values[int(table.raw[row])]
    answer = int(view.answer[at])
    shown = answer if table.kind in ("pairwise", "ranking") and answer < len(thing.ids) else 0
    return Disagreement(
        judgment=source.rows[table.kind].id[row],
        item=item.id,
        verdict=verdict.to_json(),
        label=None if label is None else label.to_json(),
        people=len(item.people),
        unanimous=len({one.value for one in item.people}) == 1,
        distance=distance,
        question=item.excerpt,
        response=thing.excerpts[shown],
        rationale=source.rows[table.kind].rationale[row],
    )
