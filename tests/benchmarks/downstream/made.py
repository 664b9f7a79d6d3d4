"""Made-up pairs and verdicts: N items of as many questions, longer responses are better."""

import numpy as np
from metajudge.benchmarks.downstream.recorded import NONE, Pairs, Verdicts

from metajudge.types import Item

WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath")


def made_pairs(n: int = 120, seed: int = 0) -> Pairs:
    rng = np.random.default_rng(seed)
    better = rng.integers(0, 2, n)
    items = []
    for number, place in enumerate(better.tolist()):
        texts = [" ".join(rng.choice(WORDS, size)) for size in (6, 18)]
        both = {"A": texts[1 - place], "B": texts[place]}
        items.append(Item(id=f"i{number:03}", question=f"question {number}", responses=both))
    return Pairs(
        items=items,
        better=better,
        question=np.arange(n),
        difficulty=np.linspace(0, 1, n),
        categories=["one" if number < n // 2 else "two" for number in range(n)],
        models=[("x", "y")] * n,
    )


def made_verdicts(pairs: Pairs, wrong: float, seed: int = 1) -> Verdicts:
    """A judge that is wrong so often, has no verdict on each tenth item, and is kept exactly where it is right."""
    rng = np.random.default_rng(seed)
    right = rng.random(len(pairs.items)) >= wrong
    chosen = np.where(right, pairs.better, 1 - pairs.better)
    chosen[::10] = NONE
    return Verdicts("jay", chosen, right, np.zeros(len(pairs.items), dtype=bool), abstained=3)
