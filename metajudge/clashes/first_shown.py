"""Judges that take what they see first: how often a top choice was shown first, against what chance gives. Pure.

The order in which a judge sees K answers is drawn at random for every evaluation and judge. A judge whose choice does
not depend on the order therefore finds its top choice in the first place with probability 1/K, independently in every
evaluation, whatever the answers are. The number of such evaluations is a sum of Bernoulli draws; its upper tail is
computed exactly, as the convolution of one binomial distribution for each K.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from metajudge.clashes.record import ClashRecord
from metajudge.types.frozen import Frozen

LEVEL = 0.01
"""Of the test, shared among the judges of a run (Bonferroni)."""
FEWEST = 8
"""Evaluations below which no judge is tested: with seven pairs even the extreme has p = .0078."""


class FirstShown(Frozen):
    """One judge over a run.

    Attributes:
        n: evaluations in which it put one answer first, alone; with at least two answers.
        first: of these, how often that answer was the one shown first.
        expected: what chance gives.
        p_value: chance of ``first`` or more if the order plays no part, one-sided; None below :data:`FEWEST`.
        level: what ``p_value`` has to lie under for the judge to be reported.
        reported: whether it does.
    """

    judge: str
    n: int
    first: int
    expected: float
    p_value: float | None
    level: float
    reported: bool

    def sentence(self) -> str:
        """What was found, with the test."""
        counts = f"judge {self.judge} preferred the answer it was shown first in {self.first} of {self.n} evaluations"
        chance = f"chance gives {self.expected:.1f}"
        if self.p_value is None:
            return f"{counts} ({chance}; below {FEWEST} evaluations nothing is tested)"
        test = f"exact one-sided p = {self.p_value:.2g}, level {self.level:.2g}"
        verdict = "its votes follow the order shown" if self.reported else "no sign that the order decides"
        return f"{counts} ({chance}; {test}): {verdict}"


def first_shown(records: Iterable[ClashRecord]) -> list[FirstShown]:
    """Every judge of a run, observers included, by name.

    Args:
        records: those that count; each was judged under an order of its own.
    """
    seen: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for record in records:
        for vote in record.votes:
            if vote.groups is not None and vote.groups.winner is not None and len(vote.order) > 1:
                seen[vote.judge].append((len(vote.order), vote.order[0] == vote.groups.winner))
    return compared_with_chance(seen)


def compared_with_chance(seen: dict[str, list[tuple[int, bool]]]) -> list[FirstShown]:
    """The same from plain data.

    Args:
        seen: judge -> for each evaluation how many answers were shown, and whether its choice stood first.
    """
    level = LEVEL / max(1, sum(len(rows) >= FEWEST for rows in seen.values()))
    return [_one(judge, seen[judge], level) for judge in sorted(seen)]


def _one(judge: str, rows: Sequence[tuple[int, bool]], level: float) -> FirstShown:
    first = sum(was_first for _, was_first in rows)
    sizes = [size for size, _ in rows]
    p_value = _upper_tail(first, sizes) if len(rows) >= FEWEST else None
    return FirstShown(
        judge=judge,
        n=len(rows),
        first=first,
        expected=sum(1 / size for size in sizes),
        p_value=p_value,
        level=level,
        reported=p_value is not None and p_value < level,
    )


def _upper_tail(first: int, sizes: Sequence[int]) -> float:
    """P(sum >= first) where each draw is 1 with probability 1/size."""
    import numpy as np
    from scipy.stats import binom

    masses = np.ones(1)
    for size, n in sorted(Counter(sizes).items()):
        masses = np.convolve(masses, binom.pmf(np.arange(n + 1), n, 1 / size))
    return float(min(1.0, masses[first:].sum()))
