"""Rules of majorities by their strength: Schulze and ranked pairs.

Schulze asks who has the stronger chain of majorities ("A new monotonic, clone-independent, reversal symmetric, and
Condorcet-consistent single-winner election method", 2011). Ranked pairs locks majorities from the strongest down,
skipping those that would close a cycle (Tideman, 1987).

There majorities of equal strength must come one after the other in **some** order, and the result may depend on it.
Instead of settling that by name, position or lot, every order is followed ("parallel universes": Conitzer, Rognlie and
Xia, "Preference functions that score rankings and maximum likelihood estimation", 2009; Brill and Fischer, "The price
of neutrality for the ranked pairs method", 2012). That is NP-hard, so the search is bounded.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from metajudge.voting.ballots import Profile, Unranked, of_ballots
from metajudge.voting.consensus import Consensus, layered, places_below, ranked_by
from metajudge.voting.pairwise import PairCounts, check_choice, pair_counts

Strength: TypeAlias = Literal["margins", "winning_votes"]
"""How strong a majority is: its lead, or its votes. They differ only with ties or unranked candidates."""

Reach = tuple[int, ...]
"""Per candidate, a bit mask of those ranked below it in the locked relation, transitively; acyclic."""

Edge = tuple[int, int]


@of_ballots
def schulze(profile: Profile, *, unranked: Unranked = "below", strength: Strength = "margins") -> Consensus:
    """Ranks by strongest paths: a is ranked above b where the strongest chain from a to b beats that from b to a.

    A chain of majority wins is as strong as its weakest. "Stands above" is transitive but may leave candidates
    incomparable; the first group are all candidates with none above them (the Schulze winners), the next those
    whom only earlier groups stand above, and so on. Scores are the number of candidates in lower groups.
    """
    check_choice("strength", strength, ("margins", "winning_votes"))
    counts = pair_counts(profile, unranked)
    margins = counts.margins
    paths = np.where(margins > 0, margins if strength == "margins" else counts.prefer, 0)
    for via in range(len(paths)):
        np.maximum(paths, np.minimum(paths[:, via, None], paths[None, via, :]), out=paths)
    np.fill_diagonal(paths, 0)
    ranking = layered(counts.candidates, paths > paths.T)
    return Consensus("schulze", ranking, places_below(ranking))


@dataclass(frozen=True, slots=True)
class RankedPairs(Consensus):
    """The weak order, and how many results the orders among equal majorities lead to.

    Attributes:
        outcomes: different locked relations over all orders of equal majorities; None where they were too many.
        exact: whether all orders were followed. Where not, equally strong majorities that contradict each other were
            all left out, which is neutral, but may crown more or other candidates.
    """

    outcomes: int | None
    exact: bool


@of_ballots
def ranked_pairs(
    profile: Profile, *, unranked: Unranked = "below", strength: Strength = "margins", max_outcomes: int = 2000
) -> RankedPairs:
    """Ranks by the best place a candidate reaches over all orders in which equal majorities can be locked.

    The first group are thus exactly the candidates that win under some order. A candidate's place in one outcome is one
    more than the number of those that stand above it. Scores are the number of candidates in lower groups.

    Args:
        max_outcomes: how many intermediate relations to follow at once before falling back; see
            :class:`RankedPairs`.
    """
    counts = pair_counts(profile, unranked)
    size = len(counts.candidates)
    found: set[Reach] | None = {(0,) * size}
    simple: Reach = (0,) * size
    for edges in _classes(counts, strength):
        simple = _lock_undisputed(simple, edges)
        found = None if found is None else _lock_in_any_order(found, edges, max_outcomes)
    best = [min(1 + sum(mask >> i & 1 for mask in reach) for reach in found or {simple}) for i in range(size)]
    ranking = ranked_by(counts.candidates, [-place for place in best])
    outcomes = None if found is None else len(found)
    return RankedPairs("ranked_pairs", ranking, places_below(ranking), outcomes, found is not None)


def _classes(counts: PairCounts, strength: Strength) -> list[list[Edge]]:
    """The majorities as (winner, loser), grouped by strength, strongest first."""
    margins = counts.margins
    strengths = margins if strength == "margins" else counts.prefer
    groups: dict[int, list[Edge]] = {}
    for winner, loser in zip(*(axis.tolist() for axis in np.nonzero(margins > 0)), strict=True):
        groups.setdefault(int(strengths[winner, loser]), []).append((winner, loser))
    return [groups[value] for value in sorted(groups, reverse=True)]


def _lock_in_any_order(states: set[Reach], edges: list[Edge], limit: int) -> set[Reach] | None:
    """Every relation that locking the edges one after the other can lead to; None past the limit."""
    done: set[Reach] = set()
    seen = set(states)
    stack = list(states)
    while stack:
        reach = stack.pop()
        open_edges = [(a, b) for a, b in edges if not reach[a] >> b & 1 and not reach[b] >> a & 1]
        together = _lock_all(reach, open_edges)
        # Edges on no cycle are locked in every order, so they need no branches.
        safe = [(a, b) for a, b in open_edges if not together[b] >> a & 1]
        if len(safe) == len(open_edges):
            done.add(together)
            continue
        fixed = _lock_all(reach, safe)
        for edge in open_edges:
            if edge in safe or fixed[edge[0]] >> edge[1] & 1:
                continue
            after = _lock_all(fixed, [edge])
            if after not in seen:
                seen.add(after)
                stack.append(after)
        if len(seen) + len(done) > limit:
            return None
    return done


def _lock_undisputed(reach: Reach, edges: list[Edge]) -> Reach:
    """Locks the edges that close no cycle with each other or with edges locked before."""
    open_edges = [(a, b) for a, b in edges if not reach[b] >> a & 1]
    together = _lock_all(reach, open_edges)
    return _lock_all(reach, [(a, b) for a, b in open_edges if not together[b] >> a & 1])


def _lock_all(reach: Reach, edges: list[Edge]) -> Reach:
    """The transitive closure with the edges added (which may close circles)."""
    above = list(reach)
    for a, b in edges:
        gained = above[b] | 1 << b
        for i, mask in enumerate(above):
            if i == a or mask >> a & 1:
                above[i] = mask | gained
    return tuple(above)
