"""Judges of known worth on questions that are hard for all of them, and others that follow the first one."""

import numpy as np

from metajudge.types import Item, Judgment, Pairwise

WORTH = {"ant": 0.75, "bee": 0.8, "cat": 0.7, "dog": 0.75, "elk": 0.8}


def judged(
    questions=300, seed=0, copies=(), follows=1.0, judges=tuple(WORTH), spread=1.0, meta=None, rationale="", prefix="i"
):
    """Judgments in both orders by independent judges on questions that are hard for all; copies follow the first one."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, spread, questions)
    chance = {name: 1 / (1 + np.exp(-(np.log(WORTH[name] / (1 - WORTH[name])) + hard))) for name in judges}
    right = {name: rng.random((questions, 2)) < chance[name][:, None] for name in judges}
    for name in copies:
        own = np.random.default_rng([seed, 1]).random((questions, 2)) < 0.75
        chosen = rng.random(questions) < follows
        right[name] = np.where(chosen[:, None], right[judges[0]], own)
    for number in range(questions):
        item = Item(
            id=f"{prefix}{number}",
            question=f"question {prefix} {number}",
            responses={"A": "one", "B": "two"},
            label=Pairwise("A", "B", 1),
        )
        for name, said in right.items():
            for place, order in enumerate((("A", "B"), ("B", "A"))):
                winner, loser = ("A", "B") if said[number, place] else ("B", "A")
                yield Judgment(
                    id=f"{prefix}{number}-{name}-{place}",
                    item=item,
                    judge=name,
                    order=order,
                    verdict=Pairwise(winner, loser, 1),
                    rationale=f"{rationale} " * (20 + (7 * number + ord(name[0]) * (1 + place)) % 40)
                    if rationale
                    else "",
                    meta=(meta or {}).get(name, {}),
                )
