"""Kemeny-Young: the linear orders that disagree least with the ballots, all of them.

The cost of an order is the voter weight over all pairs that a ballot has the other way round (Kemeny, "Mathematics
without numbers", 1959; Young and Levenglick, "A consistent extension of Condorcet's election principle", 1978). Finding
an order of least cost is NP-hard; here it is exact and proven: the problem is split wherever a strict majority puts
all of one block above all of another, small blocks are solved over all subsets, larger ones by linear programming.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from metajudge.errors import InputError, UnprovenError
from metajudge.stats.arrays import Floats
from metajudge.voting.ballots import Profile, Unranked, of_ballots
from metajudge.voting.consensus import Consensus, ranked_by
from metajudge.voting.linear_order.paths import TimeLeft
from metajudge.voting.linear_order.solve import Solution, separate_blocks, solve
from metajudge.voting.pairwise import PairCounts, Ties, check_choice, pair_counts
from metajudge.voting.points import borda_of


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
    means, spans = _ranks_over_all(solution) if count is not None else _ranks_over(orders)
    mean_rank = {name: means[i] for i, name in enumerate(names)}
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
        span={name: spans[i] for i, name in enumerate(names)},
        over_all_optima=count is not None,
        proven=True,
    )


def _ranks_over_all(solution: Solution) -> tuple[dict[int, float], dict[int, Span]]:
    """Mean rank and span of every candidate from how many optima put it at which place."""
    means: dict[int, float] = {}
    spans: dict[int, Span] = {}
    before = 0
    for block in solution.blocks:
        assert block.positions is not None
        for member, row in zip(block.members, block.positions.tolist(), strict=True):
            places = [place for place, number in enumerate(row, start=before + 1) if number]
            total = sum(number * place for place, number in enumerate(row, start=before + 1))
            means[member] = total / sum(row)  # whole numbers of any size: correctly rounded
            spans[member] = Span(places[0], places[-1])
        before += len(block.members)
    return means, spans


def _ranks_over(orders: Sequence[Sequence[int]]) -> tuple[dict[int, float], dict[int, Span]]:
    places: dict[int, list[int]] = {}
    for order in orders:
        for place, member in enumerate(order, start=1):
            places.setdefault(member, []).append(place)
    means = {member: sum(found) / len(found) for member, found in places.items()}
    return means, {member: Span(min(found), max(found)) for member, found in places.items()}


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


@dataclass(frozen=True, slots=True)
class KemenyBordaGap:
    """Costs of both rules' orders on the same ballots.

    Attributes:
        kemeny: the Kemeny result.
        borda: the Borda result.
        borda_cost: what Borda's order costs; a pair it ties costs the mean of both ways.
        gap: ``borda_cost`` less the least cost, in voter weight over pairs; 0 where Borda is as good.
        relative: gap over the least cost; None where the least cost is 0.
    """

    kemeny: Kemeny
    borda: Consensus
    borda_cost: float
    gap: float
    relative: float | None


@of_ballots
def kemeny_borda_gap(
    profile: Profile, *, ties: Ties = "half", unranked: Unranked = "below", **limits: Any
) -> KemenyBordaGap:
    """Compares Borda's order with the least possible disagreement; arguments as for :func:`metajudge.voting.kemeny`."""
    counts = pair_counts(profile, unranked)
    best = kemeny(profile, ties=ties, unranked=unranked, **limits)
    points = borda_of(counts)
    level = np.array([points.scores[name] for name in counts.candidates])
    # Twice the cost of row before column is the doubled weight for column over row.
    against = counts.doubled(ties).T
    upper = level[:, None] > level[None, :]
    tied = np.triu(level[:, None] == level[None, :], 1)
    cost = ((against * upper).sum() + (against + against.T)[tied].sum() / 2) / 2 * float(counts.unit)
    gap = max(0.0, float(cost) - best.cost)
    return KemenyBordaGap(
        kemeny=best, borda=points, borda_cost=float(cost), gap=gap, relative=gap / best.cost if best.cost else None
    )
