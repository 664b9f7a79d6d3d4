"""Linear programming for blocks too large for subsets: pairs as variables, circles of three forbidden as they occur.

``x[a, b]`` is 1 where a precedes b. The relaxation with ``x[a, b] + x[b, c] + x[c, a] <= 2`` (Grötschel, Jünger
and Reinelt, "A cutting plane algorithm for the linear ordering problem", 1984) is nearly always integral on votes;
where it is not, integer programming closes the gap. Bounds of the relaxation are computed anew from its multipliers, so
they are valid for any tolerance of the solver.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metajudge.errors import MetajudgeError
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.voting.linear_order.paths import TimeLeft

_MOST_MOVES = 10_000


def cost_of(excess: Floats, order: Ints) -> float:
    """What an order costs."""
    return float(np.triu(excess[np.ix_(order, order)], 1).sum())


def improved(excess: Floats, order: Ints) -> Ints:
    """Makes the best move of a single candidate until none helps (insertion neighbourhood)."""
    order = order.copy()
    size = len(order)
    each = np.arange(size)
    later = each[None, :] > each[:, None]
    lead = excess - excess.T
    for _ in range(_MOST_MOVES):
        # Passing a candidate changes the cost by the difference of the two directions, so one cumulative sum a row
        # contains the gain of every move.
        passed = np.cumsum(lead[np.ix_(order, order)], axis=1)
        gain = np.where(later, passed, np.concatenate([np.zeros((size, 1)), passed[:, :-1]], axis=1))
        gain -= passed[each, each][:, None]
        best = int(np.argmax(gain))
        if gain.flat[best] <= 0:
            break
        start, end = divmod(best, size)
        candidate = order[start]
        order = np.insert(np.delete(order, start), end, candidate)
    return order


def good_order(excess: Floats, place: Floats | None = None) -> Ints:
    """A locally optimal order.

    Args:
        excess: the problem.
        place: [n, n] how far the row's candidate precedes the column's, from a relaxation; None: the problem's own
            leads.
    """
    lead = (excess.T - excess) if place is None else place
    return improved(excess, np.argsort(-lead.sum(axis=1), kind="stable"))


_LARGEST_COST = 1e6
"""The largest cost the solvers are given."""
_DIGITS = 52
"""Binary digits of a whole number that a double represents exactly, less one."""
_SLACK = 1e-6
_BROKEN = 1e-7
_NEW_CIRCLES = 5000
"""The most cycles added in one round, the worst first."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """The best order found, and what is known of all orders.

    Attributes:
        order: the best order.
        cost: what it costs.
        bound: no order costs less.
        certain: [n, n] whether row precedes column in every order of least cost.
    """

    order: Ints
    cost: float
    bound: float
    certain: Bools

    @property
    def proven(self) -> bool:
        """Whether no order costs less: all costs are whole numbers."""
        return self.bound > self.cost - 1 + _SLACK


@dataclass(frozen=True, slots=True, eq=False)
class _Relaxed:
    """What the relaxation says.

    Attributes:
        place: [n, n] the share to which row precedes column.
        bound: no order costs less.
        reduced: [n, n] an order with row before column costs at least this much more than ``bound``.
    """

    place: Floats
    bound: float
    reduced: Floats


def solve_program(excess: Floats, time_left: TimeLeft | None, *, thorough: bool) -> Bounded:
    """Finds an order of least cost and a bound that proves it, or the best of both when the time is over.

    Args:
        excess: [n, n] a strongly connected block.
        time_left: seconds that are left; None for no limit.
        thorough: solves the relaxation to its end, which makes more pairs certain, though the order is proven before.
    """
    order = good_order(excess)
    cost = cost_of(excess, order)
    circles = np.zeros((0, 3), dtype=np.int64)
    relaxed = _Relaxed(_majority(excess), 0.0, excess)
    while (thorough or relaxed.bound <= cost - 1 + _SLACK) and len(new := _broken(relaxed.place)):
        circles = np.concatenate([circles, new])
        step = _relax(excess, circles, time_left)
        if step is None:
            break
        relaxed = step
    rounded = good_order(excess, relaxed.place)
    if cost_of(excess, rounded) < cost:
        order, cost = rounded, cost_of(excess, rounded)
    certain = (cost - relaxed.bound + _SLACK < relaxed.reduced.T) & ~np.eye(len(excess), dtype=bool)
    found = Bounded(order, cost, relaxed.bound, certain)
    return found if found.proven else _integral(excess, circles, found, time_left)


def _majority(excess: Floats) -> Floats:
    place = np.where(excess < excess.T, 1.0, np.where(excess == excess.T, 0.5, 0.0))
    np.fill_diagonal(place, 0.0)
    return place


def _broken(place: Floats) -> Ints:
    """[circles, 3] triples a, b, c with a before b before c before a by more than an order can have."""
    found: list[Ints] = []
    sums: list[Floats] = []
    for a in range(len(place) - 2):
        rest = place[a + 1 :, a + 1 :]
        total = place[a, a + 1 :, None] + rest + place[None, a + 1 :, a]
        b, c = np.nonzero(total > 2 + _BROKEN)
        found.append(np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1]))
        sums.append(total[b, c])
    circles = np.concatenate(found)
    if len(circles) <= _NEW_CIRCLES:
        return circles
    return np.asarray(circles[np.argsort(-np.concatenate(sums), kind="stable")[:_NEW_CIRCLES]])


def _solved(excess: Floats, circles: Ints, time_left: TimeLeft | None, *, whole: bool) -> tuple[Any, float] | None:
    """The solver's answer and what its objective was divided by; None where the time is over.

    One variable a pair, x[a, b] for a < b, one less it for a > b. The solver's tolerances are absolute, and it gives up
    on weights of 1e11, so large costs are divided.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    options: dict[str, float] = {"mip_rel_gap": 0.0} if whole else {}
    if time_left is not None:
        options["time_limit"] = time_left()
        if options["time_limit"] <= 0:
            return None
    first, second = np.triu_indices(len(excess), 1)
    column = np.zeros(excess.shape, dtype=np.int64)
    column[first, second] = column[second, first] = np.arange(len(first))
    arcs = np.stack([circles, np.roll(circles, -1, axis=1)])
    forward = arcs[0] < arcs[1]
    entries = (np.where(forward, 1.0, -1.0).ravel(), column[arcs[0], arcs[1]].ravel(), np.arange(len(circles) + 1) * 3)
    objective = excess[first, second] - excess[second, first]
    scale = max(1.0, float(np.abs(objective).max()) / _LARGEST_COST)
    solved = linprog(
        objective / scale,
        A_ub=csr_array(entries, shape=(len(circles), len(first))),
        b_ub=2 - (~forward).sum(axis=1),
        bounds=(0, 1),
        method="highs",
        integrality=int(whole),
        options=options,
    )
    return solved, scale


def _relax(excess: Floats, circles: Ints, time_left: TimeLeft | None) -> _Relaxed | None:
    """Solves the linear program; None where the time is over first."""
    found = _solved(excess, circles, time_left, whole=False)
    if found is None or found[0].status == 1:
        return None
    solved, scale = found
    if solved.status != 0:
        raise MetajudgeError(f"the linear program of the Kemeny ranking failed ({solved.message}); please report this")
    multipliers = _summable(np.maximum(-solved.ineqlin.marginals * scale, 0.0), excess)
    charged = excess.copy()
    for step in range(3):
        np.add.at(charged, (circles[:, step], circles[:, (step + 1) % 3]), multipliers)
    least = np.minimum(charged, charged.T)
    bound = float(np.triu(least, 1).sum() - 2 * multipliers.sum())
    return _Relaxed(_square(solved.x, len(excess)), bound, charged - least)


def _summable(multipliers: Floats, excess: Floats) -> Floats:
    """The multipliers rounded so that every sum of them with costs is exact, and a bound made of them is exact.

    Any multipliers from 0 up give a bound; those of whole costs are mostly whole or halves, which rounding restores.
    """
    most = float(excess.sum() + 4 * multipliers.sum()) + len(multipliers)
    unit = 2.0 ** (math.ceil(math.log2(most)) - _DIGITS)
    return np.asarray(np.round(multipliers / unit) * unit)


def _integral(excess: Floats, circles: Ints, found: Bounded, time_left: TimeLeft | None) -> Bounded:
    """Solves the integer program, adding constraints for the cycles its solutions still contain."""
    constant = float(np.tril(excess).sum())
    while (answer := _solved(excess, circles, time_left, whole=True)) is not None:
        solved, scale = answer
        if solved.mip_dual_bound is not None and np.isfinite(solved.mip_dual_bound):
            found = replace(found, bound=max(found.bound, float(solved.mip_dual_bound) * scale + constant))
        if solved.x is None:
            break
        place = _square(np.round(solved.x), len(excess))
        order = good_order(excess, place)
        if (cost := cost_of(excess, order)) < found.cost:
            found = replace(found, order=order, cost=cost)
        new = _broken(place)
        if found.proven or solved.status != 0 or not len(new):
            break
        circles = np.concatenate([circles, new])
    return found


def _square(values: Floats, size: int) -> Floats:
    first, second = np.triu_indices(size, 1)
    place = np.zeros((size, size))
    place[first, second] = values
    place[second, first] = 1 - values
    return place
