"""Kemeny for many small votes over the same number of candidates at once, as for every question of a benchmark.

Up to six candidates every order is tried, in one matrix product of the pairs' leads with the orders' signs (an order
and its reverse differ in sign alone, so half of them do). Above that, dynamic programming over all subsets, many votes
side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.voting.ballots import Weight, whole_weights
from metajudge.voting.linear_order.subsets import Subsets, subsets
from metajudge.voting.pairwise import Ties, check_choice

MOST_CANDIDATES = 12
_TRIED = 6
"""Candidates up to which every order is tried."""

_CHUNK = 1 << 21
"""Numbers held at once for subsets."""


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
    weights: Sequence[Weight] | None = None,
    ties: Ties = "half",
    ranked: NDArray[np.bool_] | None = None,
    positions: bool = False,
) -> KemenyBatch:
    """Finds the least cost and the number of optima of every vote, exactly.

    Args:
        places: [votes, voters, K] whole numbers from 0: the place a voter gives each candidate, lower is better, equal
            for ties.
        weights: one a voter, as for :func:`metajudge.voting.read_profile`; None: 1 each.
        ties: what a ballot's tie adds to the cost of either order: half its weight, or nothing.
        ranked: [votes, voters, K] False where a voter did not compare the candidate (``unranked="ignore"``; for
            ``"below"`` give such candidates one place behind the others). A voter who is missing has a row of False.
        positions: also count at which place the optima put each candidate, for mean rank and span.

    Raises:
        InputError: another shape, places that are not whole or below 0, more than 12 candidates, or bad weights.
    """
    check_choice("ties", ties, ("half", "ignore"))
    table = _checked(places, ranked)
    whole, unit, _ = whole_weights(weights, table.shape[1])
    lead, fixed = _leads(table, whole, ranked, ties)
    size = table.shape[2]
    if size <= _TRIED:
        gain, count, held = _try_orders(lead, size, positions)
    else:
        gain, count, held = _over_subsets(lead, size, positions)
    return KemenyBatch((fixed - gain) / 2 * float(unit), count, held)


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


def _leads(table: Ints, weights: Ints, ranked: Bools | None, ties: Ties) -> tuple[Floats, Floats]:
    """[votes, pairs] weight for the first of each pair less that for the second, and [votes] all weight that counts."""
    first, second = np.triu_indices(table.shape[2], 1)
    lead = np.zeros((len(table), len(first)), dtype=np.float64)
    fixed = np.zeros(len(table))
    for voter, weight in enumerate(weights.tolist()):
        columns = table[:, voter]
        gap = columns[:, second] - columns[:, first]
        sign = np.sign(gap)
        if ranked is not None:
            seen = ranked[:, voter][:, first] & ranked[:, voter][:, second]
            sign *= seen
            fixed += weight * (seen if ties == "half" else sign != 0).sum(axis=1)
        else:
            fixed += weight * (len(first) if ties == "half" else np.count_nonzero(sign, axis=1))
        lead += weight * sign
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
