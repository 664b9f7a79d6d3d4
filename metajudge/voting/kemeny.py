"""Kemeny-Young: the linear orders that disagree least with the ballots, all of them.

The cost of an order is the voter weight over all pairs that a ballot has the other way round (Kemeny, "Mathematics
without numbers", 1959; Young and Levenglick, "A consistent extension of Condorcet's election principle", 1978). Finding
an order of least cost is NP-hard; here it is exact and proven: the problem is split wherever a strict majority puts
all of one block above all of another, small blocks are solved over all subsets, larger ones by linear programming.

Many small votes over the same number of candidates, as for every question of a benchmark, are solved at once: up to six
candidates every order is tried, in one matrix product of the pairs' leads with the orders' signs (an order and its
reverse differ in sign alone, so half of them do). Above that, dynamic programming over all subsets, many votes side by
side.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import InputError, UnprovenError
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.voting.ballots import Profile, Unranked, of_ballots
from metajudge.voting.consensus import Consensus, ranked_by
from metajudge.voting.linear_order.paths import TimeLeft
from metajudge.voting.linear_order.solve import Solution, separate_blocks, solve
from metajudge.voting.linear_order.subsets import Subsets, subsets
from metajudge.voting.pairwise import PairCounts, Ties, check_choice, pair_counts

MOST_CANDIDATES = 12
_TRIED = 6
"""Candidates up to which every order is tried."""

_CHUNK = 1 << 21
"""Numbers held at once for subsets."""


@dataclass(frozen=True, slots=True)
class Span:
    """The best and the worst place (from 1) a candidate has in any of the orders."""

    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class Kemeny(Consensus):
    """The orders of least cost, and what they agree on.

    ``ranking`` groups candidates by mean rank over **all** optima, exactly; where they could not be counted it keeps
    apart only what is proven to be in the same order in every one of them. ``scores`` are the number of candidates less
    the mean rank.

    Attributes:
        cost: least cost: voter weight over pairs that are ordered the other way.
        exact_cost: the same as a fraction, for comparisons.
        optima: orders of least cost, best candidate first; at most ``max_optima``.
        n_optima: how many there are, exactly; None where counting them was out of reach or not asked for.
        n_optima_at_least: as many as were certainly found.
        mean_rank: candidate -> mean rank from 1, over all optima, or over those listed: see ``over_all_optima``.
        span: candidate -> best and worst rank, over the same orders.
        over_all_optima: False where ``mean_rank`` and ``span`` are over the listed optima alone.
        proven: that no order costs less.
    """

    cost: float
    exact_cost: Fraction
    optima: tuple[tuple[str, ...], ...]
    n_optima: int | None
    n_optima_at_least: int
    mean_rank: Mapping[str, float]
    span: Mapping[str, Span]
    over_all_optima: bool
    proven: bool

    @property
    def is_unique(self) -> bool:
        """Whether exactly one order is best."""
        return self.n_optima == 1


@of_ballots
def kemeny(
    profile: Profile,
    *,
    ties: Ties = "half",
    unranked: Unranked = "below",
    max_optima: int = 1000,
    time_limit: float | None = None,
    clock: Callable[[], float] | None = None,
) -> Kemeny:
    """Finds the linear orders that disagree least with the ballots, and proves it.

    Args:
        ties: what a ballot's tie adds to the cost of either order: half its weight, or nothing. It changes the cost,
            never the optima.
        max_optima: how many optima to list. With 1 a proven optimum is enough: the optima are then counted only where
            that is cheap.
        time_limit: seconds; None for as long as it takes.
        clock: gives the seconds by which the limit is measured, such as ``time.monotonic``; a limit needs it.

    Raises:
        InputError: bad ballots or options.
        UnprovenError: the time limit was reached first; has the best order so far and the bound.
    """
    check_choice("ties", ties, ("half", "ignore"))
    _check_limits(max_optima, time_limit)
    max_optima = min(int(max_optima), sys.maxsize)
    time_left = _time_left(time_limit, clock)
    counts = pair_counts(profile, unranked)
    excess, quantum = scaled_excess(counts)
    solution = solve(excess, max_optima, time_left)
    doubled = counts.doubled(ties)
    # Every pair is counted from both sides and twice over.
    least = Fraction(int(np.minimum(doubled, doubled.T).sum()), 4)
    exact_cost = (least + int(solution.cost) * quantum) * counts.unit
    if not solution.proven:
        bound = (least + math.ceil(solution.bound - 1e-6) * quantum) * counts.unit
        raise _unproven(counts.candidates, solution, exact_cost, bound, time_limit)
    return _result(counts.candidates, solution, exact_cost, max_optima)


def _check_limits(max_optima: object, time_limit: object) -> None:
    if not isinstance(max_optima, Integral) or int(max_optima) < 1:
        raise InputError(f"max_optima must be at least 1 and whole, not {max_optima!r}")
    if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) > 0):
        raise InputError(f"time_limit must be above 0 seconds, not {time_limit!r}; leave it out for no limit")


def _time_left(time_limit: float | None, clock: Callable[[], float] | None) -> TimeLeft | None:
    if time_limit is None:
        return None
    if clock is None:
        raise InputError("time_limit needs clock: give the function that reads it, such as time.monotonic")
    end = clock() + time_limit
    return lambda: end - clock()


def scaled_excess(counts: PairCounts) -> tuple[Floats, int]:
    """The linear ordering problem of a vote: [K, K] excess in whole numbers of a quantum, and that quantum.

    Placing a before b costs the margin of b over a where that is above 0, beyond the cheaper way.
    """
    excess = np.maximum(counts.margins.T, 0)
    quantum = int(np.gcd.reduce(excess, axis=None)) or 1
    return (excess // quantum).astype(np.float64), quantum


def _unproven(
    names: tuple[str, ...], solution: Solution, cost: Fraction, bound: Fraction, time_limit: float | None
) -> UnprovenError:
    limit = "" if time_limit is None else f" within the time limit of {time_limit:g} s"
    return UnprovenError(
        f"no Kemeny ranking of {len(names)} candidates was proven{limit}: the best order found costs {float(cost):g}, "
        f"and no order costs less than {float(bound):g}; raise the time limit, or use another rule (borda, schulze)",
        cost=float(cost),
        bound=float(bound),
        best=tuple(names[i] for i in solution.orders(1)[0]),
    )


def _result(names: tuple[str, ...], solution: Solution, exact_cost: Fraction, max_optima: int) -> Kemeny:
    orders = solution.orders(max_optima)
    count = solution.count
    mean_rank, span = dict[str, float](), dict[str, Span]()
    for name, row in zip(names, _placings(solution, orders), strict=True):
        taken = [place for place, number in enumerate(row, start=1) if number]
        mean_rank[name] = sum(number * place for place, number in enumerate(row, start=1)) / sum(row)
        span[name] = Span(taken[0], taken[-1])
    return Kemeny(
        rule="kemeny",
        ranking=_groups(names, solution),
        scores={name: len(names) - mean for name, mean in mean_rank.items()},
        cost=float(exact_cost),
        exact_cost=exact_cost,
        optima=tuple(tuple(names[i] for i in order) for order in orders),
        n_optima=count,
        n_optima_at_least=solution.at_least if count is None else count,
        mean_rank=mean_rank,
        span=span,
        over_all_optima=count is not None,
        proven=True,
    )


def _placings(solution: Solution, orders: Sequence[Sequence[int]]) -> list[list[int]]:
    """[candidates, places] how many orders of least cost put whom where: of all, or of those listed."""
    counts = [[0] * len(order) for order in orders[:1] for _ in order]
    if solution.count is None:
        for order in orders:
            for place, member in enumerate(order):
                counts[member][place] += 1
        return counts
    before = 0
    for block in solution.blocks:
        assert block.positions is not None
        for member, row in zip(block.members, block.positions.tolist(), strict=True):
            counts[member][before : before + len(row)] = row  # whole numbers of any size
        before += len(block.members)
    return counts


def _groups(names: tuple[str, ...], solution: Solution) -> tuple[tuple[str, ...], ...]:
    """The blocks, divided by mean rank where their optima are counted, else where every pair across is certain."""
    groups: list[tuple[str, ...]] = []
    for block in solution.blocks:
        inside = tuple(names[i] for i in block.members)
        if block.certain is not None:
            parts = separate_blocks(block.certain.T.astype(np.float64))
            groups += [tuple(inside[i] for i in sorted(part.tolist())) for part in parts]
        elif block.positions is not None:
            ranks = [-sum(n * place for place, n in enumerate(row)) for row in block.positions.tolist()]
            groups += ranked_by(inside, ranks)
    return tuple(groups)


@dataclass(frozen=True, slots=True, eq=False)
class KemenyBatch:
    """Least cost and number of optima of many votes.

    Attributes:
        cost: [votes] least cost, as :func:`metajudge.voting.kemeny` counts it.
        n_optima: [votes] number of orders of that cost.
        positions: [votes, K, K] how many optima put the candidate at the place; None where not asked for.
    """

    cost: Floats
    n_optima: Ints
    positions: Ints | None = None

    @property
    def mean_rank(self) -> Floats:
        """[votes, K] mean rank from 1 over all optima.

        Raises:
            InputError: the positions were not asked for.
        """
        places = np.arange(1, self._positions.shape[-1] + 1)
        return np.asarray(self._positions @ places / self.n_optima[:, None])

    @property
    def span(self) -> Ints:
        """[votes, K, 2] best and worst rank over all optima; raises as ``mean_rank`` does."""
        taken = self._positions > 0
        size = taken.shape[-1]
        return np.stack([taken.argmax(axis=-1) + 1, size - taken[..., ::-1].argmax(axis=-1)], axis=-1)

    @property
    def _positions(self) -> Ints:
        if self.positions is None:
            raise InputError("the positions were not counted: call kemeny_batch with positions=True")
        return self.positions


def kemeny_batch(
    places: NDArray[np.integer] | Sequence[Sequence[Sequence[int]]],
    *,
    ties: Ties = "half",
    ranked: NDArray[np.bool_] | None = None,
    positions: bool = False,
) -> KemenyBatch:
    """Finds the least cost and the number of optima of every vote, exactly.

    Args:
        places: [votes, voters, K] whole numbers from 0: the place a voter gives each candidate, lower is better, equal
            for ties.
        ties: what a ballot's tie adds to the cost of either order: half, or nothing.
        ranked: [votes, voters, K] False where a voter did not compare the candidate (``unranked="ignore"``; for
            ``"below"`` give such candidates one place behind the others). A voter who is missing has a row of False.
        positions: also count at which place the optima put each candidate, for mean rank and span.

    Raises:
        InputError: another shape, places that are not whole or below 0, or more than 12 candidates.
    """
    check_choice("ties", ties, ("half", "ignore"))
    table = _checked(places, ranked)
    lead, fixed = _leads(table, ranked, ties)
    size = table.shape[2]
    gain, count, held = (_try_orders if size <= _TRIED else _over_subsets)(lead, size, positions)
    return KemenyBatch((fixed - gain) / 2, count, held)


def _checked(places: object, ranked: NDArray[np.bool_] | None) -> Ints:
    table = np.asarray(places)
    if table.ndim != 3 or 0 in table.shape or table.dtype.kind not in "iu":
        raise InputError("places must be whole numbers in an array [votes, voters, candidates], none of them empty")
    if table.min() < 0:
        raise InputError("a place is 0 or more: mark candidates a voter did not compare in `ranked`")
    if ranked is not None and np.shape(ranked) != table.shape:
        raise InputError(f"ranked has the shape {np.shape(ranked)}, places {table.shape}: they must match")
    if table.shape[2] > MOST_CANDIDATES:
        raise InputError(f"the batch form takes up to {MOST_CANDIDATES} candidates, not {table.shape[2]}: call kemeny")
    return table


def _leads(table: Ints, ranked: Bools | None, ties: Ties) -> tuple[Floats, Floats]:
    """[votes, pairs] voters for the first of each pair less those for the second, and [votes] all that count."""
    first, second = np.triu_indices(table.shape[2], 1)
    lead, fixed = np.zeros((len(table), len(first))), np.zeros(len(table))
    for voter in range(table.shape[1]):
        columns = table[:, voter]
        sign = np.sign(columns[:, second] - columns[:, first])
        seen = np.ones(sign.shape, dtype=bool) if ranked is None else ranked[:, voter, first] & ranked[:, voter, second]
        sign *= seen
        fixed += (seen if ties == "half" else sign != 0).sum(axis=1)
        lead += sign
    return lead, fixed


@lru_cache(maxsize=8)
def _orders(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """[pairs, orders] +1 where the order has the pair's first before its second; [orders, K * K] places, one hot.

    One of each order and its reverse.
    """
    first, second = np.triu_indices(size, 1)
    places = np.array([places for places in permutations(range(size)) if size == 1 or places[0] < places[1]])
    signs = np.where(places[:, first] < places[:, second], 1, -1)
    one_hot = places[:, :, None] == np.arange(size)
    return signs.T.astype(np.float32), one_hot.reshape(len(places), -1).astype(np.float32)


def _try_orders(lead: Floats, size: int, positions: bool) -> tuple[Floats, Ints, Ints | None]:
    if size == 1:
        alone = np.ones(len(lead), dtype=np.int64)
        return np.zeros(len(lead)), alone, alone[:, None, None] if positions else None
    signs, places = _orders(size)
    # Sums below 2^24 are exact in single precision, which is twice as fast.
    kind = np.float32 if np.abs(lead).sum(axis=1).max(initial=0) < 1 << 24 else np.float64
    gain = lead.astype(kind) @ signs.astype(kind)
    best = np.maximum(gain.max(axis=1), -gain.min(axis=1))
    forward, backward = gain == best[:, None], gain == -best[:, None]
    count = np.count_nonzero(forward, axis=1) + np.count_nonzero(backward, axis=1)
    if not positions:
        return best.astype(np.float64), count, None
    ahead = (forward.astype(np.float32) @ places).reshape(-1, size, size)
    behind = (backward.astype(np.float32) @ places).reshape(-1, size, size)[..., ::-1]
    return best.astype(np.float64), count, np.rint(ahead + behind).astype(np.int64)


def _over_subsets(lead: Floats, size: int, positions: bool) -> tuple[Floats, Ints, Ints | None]:
    first, second = np.triu_indices(size, 1)
    step = max(1, _CHUNK // (size << size))
    parts = []
    for start in range(0, len(lead), step):
        some = lead[start : start + step]
        excess = np.zeros((len(some), size, size))
        excess[:, first, second] = np.maximum(-some, 0)
        excess[:, second, first] = np.maximum(some, 0)
        cost, count, held = _count_subsets(excess, positions)
        parts.append((np.abs(some).sum(axis=1) - 2 * cost, count, held))
    gains, counts, helds = zip(*parts, strict=True)
    return np.concatenate(gains), np.concatenate(counts), np.concatenate(helds) if positions else None


def _count_subsets(excess: Floats, positions: bool) -> tuple[Floats, Ints, Ints]:
    """Least cost [votes], number of optima [votes], positions [votes, K, K] (empty where not asked for)."""
    table = subsets(excess.shape[-1])
    best, count, adding = _forward(excess, table)
    cost, total = best[:, -2], count[:, -2]
    if not positions:
        return cost, total, np.zeros((0, 0, 0), dtype=np.int64)
    # The complement of the i-th subset is the i-th from the end, so the way on is the way in of the reverse problem.
    on_best, on_count, _ = _forward(excess.swapaxes(1, 2), table)
    across = (adding * (1 - table.member)).sum(axis=2)
    rest, onward = on_best[:, -2::-1] + across, on_count[:, -2::-1]
    least = best[:, table.without] + adding + rest[:, :, None] == cost[:, None, None]
    through = np.where(least, count[:, table.without], 0) * onward[:, :, None]
    held = np.add.reduceat(through, table.bounds[1:-1], axis=1)
    return cost, total, held.swapaxes(1, 2)


def _forward(excess: Floats, table: Subsets) -> tuple[Floats, Ints, Floats]:
    """Least cost and number of cheapest orders of every subset [votes, 2^n + 1], and what each last member costs."""
    adding = table.member @ excess
    best = np.zeros((len(excess), len(table.member) + 1))
    count = np.zeros(best.shape, dtype=np.int64)
    best[:, -1], count[:, 0] = np.inf, 1
    for low, high in zip(table.bounds[1:-1], table.bounds[2:], strict=True):
        fewer = table.without[low:high]
        reached = best[:, fewer] + adding[:, low:high]
        best[:, low:high] = reached.min(axis=2)
        count[:, low:high] = np.where(reached == best[:, low:high, None], count[:, fewer], 0).sum(axis=2)
    return best, count, adding
