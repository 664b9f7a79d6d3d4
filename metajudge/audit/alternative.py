"""The alternative-annotator test: whether a judge may stand in for one of several people.

Calderon, Reichart and Dror, "The alternative annotator test for LLM-as-a-judge" (2025). Each person is left out in
turn, and the judge and this person are compared with the remaining people, item by item. Of pairs, rankings,
categories and sides of a pass mark the nearer one is the one that more of the others agree with; of grades the one with
the smaller mean squared distance from theirs. Both count as nearer where they are equally near.
"""

import numpy as np

from metajudge.audit.card import Alternative
from metajudge.audit.figures import jackknifed
from metajudge.audit.table import NOTHING, Table
from metajudge.audit.view import View
from metajudge.evidence.grouping import spread, starts_of
from metajudge.stats.arrays import Floats, Indices, Ints, coded
from metajudge.stats.association import mean_of
from metajudge.stats.multiple import benjamini_yekutieli

FEWEST_PEOPLE, FEWEST_ITEMS = 3, 30
"""The test takes so many people, each with so many items that another person labelled, too."""

EPSILONS = (0.1, 0.15, 0.2)
"""What a judge is cheaper by: the authors' values for crowd workers, skilled annotators and experts."""

LEVEL = 0.05
"""The false discovery rate over the people (Benjamini and Yekutieli, 2001)."""


def alternative(view: View) -> Alternative | None:
    """The test of one judge; None with too few people.

    The winning rate omega is the share of people for whom ``P(person nearer) - P(judge nearer) < epsilon`` is shown, by
    a one-sided t test whose standard error is by question; the judge passes from one half on. The average advantage
    probability rho is the mean over people of the share of items on which the judge is at least as near.
    """
    person, thing, said = _answers(view.table)
    mode, number = view.peers.mode[view.judge], view.peers.number[view.judge]
    own = number if view.table.numeric else np.where(mode == NOTHING, np.nan, mode)
    starts = starts_of(thing, len(own))
    other, row = spread(starts[thing], starts[thing + 1])  # each answer beside every answer on its thing
    known = (other != row) & ~np.isnan(own[thing[row]])
    other, row = other[known], row[known]
    judge, left_out = (
        np.bincount(row, weights=_apart(view.table, mine, said[other]), minlength=len(said))
        for mine in (own[thing[row]], said[row])
    )
    rows = np.flatnonzero(np.bincount(row, minlength=len(said)))
    often = np.bincount(person[rows], minlength=1)
    rows = rows[often[person[rows]] >= FEWEST_ITEMS]
    people, seat = np.unique(person[rows], return_inverse=True)
    if len(people) < FEWEST_PEOPLE:
        return None
    nearer = np.round(judge - left_out, 9)[rows]
    gain, question = np.sign(-nearer), view.table.question[thing[rows]]
    tests = [mean_of(gain[seat == one], question[seat == one]) for one in range(len(people))]
    member = np.eye(len(people))[seat.ravel()]
    advantage = jackknifed(
        np.hstack((member, member * (nearer <= 0)[:, None])),
        question,
        lambda sums: np.asarray((sums[:, len(people) :] / sums[:, : len(people)]).mean(axis=1)),
        "mean over people, each left out in turn, of the share of items on which the judge is at least as near to the "
        "other people as that person (alternative-annotator test, rho)",
        (0.0, 1.0),
    )
    winning = {}
    for epsilon in EPSILONS:
        p_values = [one.p_value(-epsilon, sides=1) if one.usable else 1.0 for one in tests]
        winning[f"{epsilon:g}"] = float((benjamini_yekutieli(p_values) <= LEVEL).mean())
    return None if advantage is None else Alternative(advantage=advantage, annotators=len(people), winning=winning)


def _answers(table: Table) -> tuple[Ints, Indices, Floats]:
    """[L] the number of a named person, the thing, and the answer (of grades the number), ordered by thing."""
    given = []
    for number, (item, shape) in enumerate(zip(table.item.tolist(), table.shape.tolist(), strict=True)):
        for label in table.source.people[item]:
            of = table.coding.number if table.numeric else table.coding.code
            answer = None if label.annotator is None else of(label.value, table.shapes[shape])
            if answer is not None:
                given.append((label.annotator, number, float(answer)))
    names, things, answers = zip(*given, strict=True) if given else ((), (), ())
    return coded(list(names))[1], np.array(things, dtype=np.intp), np.array(answers, dtype=np.float64)


def _apart(table: Table, one: Floats, other: Floats) -> Floats:
    """How far answers are from others: the squared distance of grades, else 1 for another answer."""
    return (one - other) ** 2 if table.numeric else (one != other).astype(np.float64)
