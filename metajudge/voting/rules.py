"""Rules that give points or ranks (Borda, Copeland, plurality, median rank), and rules of majorities by their strength.

Schulze asks who has the stronger chain of majorities ("A new monotonic, clone-independent, reversal symmetric, and
Condorcet-consistent single-winner election method", 2011). Ranked pairs locks majorities from the strongest down,
skipping those that would close a cycle (Tideman, 1987).

There majorities of equal strength must come one after the other in **some** order, and the result may depend on it.
Instead of settling that by name, position or lot, every order is followed ("parallel universes": Conitzer, Rognlie and
Xia, "Preference functions that score rankings and maximum likelihood estimation", 2009; Brill and Fischer, "The price
of neutrality for the ranked pairs method", 2012). That is NP-hard, so the search is bounded.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Ints
from metajudge.voting.ballots import Profile, Unranked, of_ballots
from metajudge.voting.consensus import Consensus, layered, places_below, ranked_by
from metajudge.voting.pairwise import PairCounts, check_choice, pair_counts

Reach = tuple[int, ...]
"""Per candidate, a bit mask of those ranked below it in the locked relation, transitively; acyclic."""

Edge = tuple[int, int]


@of_ballots
def borda(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by Borda points: a ballot gives a candidate one point for each candidate below it, half for each tie.

    Borda, 1784; Young, "An axiomatization of Borda's rule", 1974. On a complete ballot over K candidates that is
    ``K - rank``, ties at the mean of their ranks. A pair that a ballot does not compare (``unranked="ignore"``) gives
    half a point to each, so who was seen less often is not punished. Scores are the points over all ballots.
    """
    return borda_of(pair_counts(profile, unranked))


def borda_of(counts: PairCounts) -> Consensus:
    """Borda from pairwise counts."""
    expected = counts.total * (len(counts.candidates) - 1)
    points = [Fraction(expected + net, 2) * counts.unit for net in counts.margins.sum(axis=1).tolist()]
    return Consensus.of_scores("borda", counts.candidates, points)


@of_ballots
def copeland(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by the number of candidates beaten in a majority contest, plus half for each contest that is level.

    Copeland, 1951. Scores are the contests won plus half of those level.
    """
    signs = np.sign(pair_counts(profile, unranked).margins)
    won = (signs.sum(axis=1) + len(signs) - 1) / 2
    return Consensus.of_scores("copeland", profile.candidates, won.tolist())


@of_ballots
def plurality(profile: Profile) -> Consensus:
    """Ranks by first places; a ballot's first group shares its vote equally.

    Scores are the voter weight of first places.
    """
    first = profile.places == 0
    sharing = first.sum(axis=1)
    votes = [Fraction(0)] * len(profile.candidates)
    for size in np.unique(sharing).tolist():
        group = sharing == size
        for i, weight in enumerate((profile.weights[group] @ first[group]).tolist()):
            votes[i] += Fraction(weight, size) * profile.unit
    return Consensus.of_scores("plurality", profile.candidates, votes)


@of_ballots
def median_rank(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by the weighted median of a candidate's ranks (Bassett and Persky, "Robust voting", 1999).

    Tied candidates have the mean of the ranks they take. Where half of the weight lies on either side, the median is
    the mean of the two ranks next to the middle. Scores are the number of candidates less the median rank.

    Args:
        unranked: candidates a ballot does not name share the ranks after the last one named, or have no rank on it
            (ranks on ballots of different lengths then mean different things).

    Raises:
        InputError: with ``unranked="ignore"`` a candidate that no ballot names.
    """
    check_choice("unranked", unranked, ("below", "ignore"))
    doubled = _doubled_ranks(profile)
    counted = np.ones_like(profile.ranked) if unranked == "below" else profile.ranked
    size = len(profile.candidates)
    missing = [profile.candidates[i] for i in np.flatnonzero(~counted.any(axis=0))]
    if missing:
        raise InputError(f"no ballot ranks {', '.join(map(repr, missing))}: remove them, or use unranked='below'")
    columns = ((doubled[counted[:, i], i], profile.weights[counted[:, i]]) for i in range(size))
    scores = [size - Fraction(_doubled_median(ranks, held), 4) for ranks, held in columns]
    return Consensus.of_scores("median_rank", profile.candidates, scores)


def _doubled_ranks(profile: Profile) -> Ints:
    """[ballots, K] twice the mid-rank, so that it is whole."""
    size = len(profile.candidates)
    rows = np.arange(len(profile.places))[:, None]
    held = np.zeros((len(profile.places), size + 1), dtype=np.int64)
    np.add.at(held, (rows, profile.places), 1)
    before = np.cumsum(held, axis=1) - held
    return np.asarray((2 * before + held + 1)[rows, profile.places])


def _doubled_median(ranks: Ints, weights: Ints) -> int:
    """The sum of the lower and the upper weighted median."""
    order = np.argsort(ranks, kind="stable")
    reached = 2 * np.cumsum(weights[order])
    half = int(weights.sum())
    lower = ranks[order][np.searchsorted(reached, half, side="left")]
    upper = ranks[order][np.searchsorted(reached, half, side="right")]
    return int(lower + upper)


@of_ballots
def schulze(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by strongest paths: a is ranked above b where the strongest chain from a to b beats that from b to a.

    A majority is as strong as its lead, and a chain of them as its weakest. "Stands above" is transitive but may leave
    candidates incomparable; the first group are all candidates with none above them (the Schulze winners), the next
    those whom only earlier groups stand above, and so on. Scores are the number of candidates in lower groups.
    """
    counts = pair_counts(profile, unranked)
    paths = np.maximum(counts.margins, 0)
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
def ranked_pairs(profile: Profile, *, unranked: Unranked = "below", max_outcomes: int = 2000) -> RankedPairs:
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
    for edges in _classes(counts.margins):
        simple = _lock_undisputed(simple, edges)
        found = None if found is None else _lock_in_any_order(found, edges, max_outcomes)
    best = [min(1 + sum(mask >> i & 1 for mask in reach) for reach in found or {simple}) for i in range(size)]
    ranking = ranked_by(counts.candidates, [-place for place in best])
    outcomes = None if found is None else len(found)
    return RankedPairs("ranked_pairs", ranking, places_below(ranking), outcomes, found is not None)


def _classes(margins: Ints) -> list[list[Edge]]:
    """The majorities as (winner, loser), grouped by their lead, the largest first."""
    groups: dict[int, list[Edge]] = {}
    for winner, loser in np.argwhere(margins > 0).tolist():
        groups.setdefault(int(margins[winner, loser]), []).append((winner, loser))
    return [groups[lead] for lead in sorted(groups, reverse=True)]


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
