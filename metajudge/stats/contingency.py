"""Two groups, two outcomes: Fisher's exact test, chi-square, odds ratio and risk ratio.

A :class:`Table2x2` names its cells, so that no row is taken for a column. All assume independent observations; where
several come from one question, resample questions (:mod:`metajudge.stats.bootstrap`).
"""

import math
from dataclasses import dataclass

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import check_confidence, normal_quantile


@dataclass(frozen=True, slots=True)
class Table2x2:
    """Counts of two groups: how often each had the outcome (``yes``) and how often not.

    Raises:
        InputError: a count is negative or no whole number, or all are 0.
    """

    first_yes: int
    first_no: int
    second_yes: int
    second_no: int

    def __post_init__(self) -> None:
        for name, count in zip(self.__slots__, self.cells, strict=True):
            if count != count or count != int(count) or count < 0:
                raise InputError(f"{name} must be a count, a whole number from 0, not {count!r}")
        if not self.n:
            raise InputError("all four counts are 0: there is nothing to compare")

    @property
    def cells(self) -> tuple[int, int, int, int]:
        return self.first_yes, self.first_no, self.second_yes, self.second_no

    @property
    def n(self) -> int:
        return sum(self.cells)

    @property
    def empty_margin(self) -> str:
        """The empty rows and columns, in words; empty where there are none."""
        a, b, c, d = self.cells
        margins = {"first group": a + b, "second group": c + d, "outcome": a + c, "absence of the outcome": b + d}
        empty = [name for name, count in margins.items() if not count]
        return f"nothing was observed of: {', '.join(empty)}" if empty else ""


@dataclass(frozen=True, slots=True)
class TableTest:
    """A test of a two-by-two table.

    Attributes:
        statistic: chi-square with one degree of freedom, or the sample odds ratio for Fisher's test; None where it is
            undefined, see ``reason``.
        p_value: two-sided; None where a margin is empty, as no table can be more extreme than another.
        n: observations.
        method: name of the test and its variant.
        reason: why a figure is absent, else empty.
    """

    statistic: float | None
    p_value: float | None
    n: int
    method: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RatioEstimate:
    """An odds ratio or a risk ratio of the first group to the second.

    Attributes:
        estimate: the ratio of the counts themselves; None where it is infinite or undefined, see ``reason``.
        low: lower end of the interval; None if missing.
        high: upper end of the interval; None if missing.
        n: observations.
        confidence: nominal coverage, in (0, 1).
        method: statistic and kind of interval, with the correction for empty cells where one was needed.
        reason: why a figure is absent, else empty.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float
    method: str
    reason: str = ""


def fisher_exact(table: Table2x2) -> TableTest:
    """Tests for any association, given both margins (Fisher, 1935): exact for every n, conservative for small ones.

    Two-sided by the sum of all tables that are no likelier than the one observed.
    """
    if table.empty_margin:
        return TableTest(None, None, table.n, "fisher exact, two-sided", table.empty_margin)
    a, b, c, d = table.cells
    p_value = _no_likelier(a, a + b, c + d, a + c)
    if not b * c:
        reason = "the odds ratio is infinite: a group has the outcome throughout, or the other never"
        return TableTest(None, p_value, table.n, "fisher exact, two-sided", reason)
    return TableTest(a * d / (b * c), p_value, table.n, "fisher exact, two-sided")


def chi_square(table: Table2x2, *, yates: bool = False) -> TableTest:
    """Pearson's chi-square test of independence, one degree of freedom (Pearson, 1900).

    Approximate: with an expected count below five take :func:`fisher_exact`.

    Args:
        table: the counts.
        yates: subtract one half from each difference (Yates, 1934), which is conservative.
    """
    from scipy.special import chdtrc

    method = f"chi-square, 1 df, {'with' if yates else 'without'} Yates correction"
    if table.empty_margin:
        return TableTest(None, None, table.n, method, table.empty_margin)
    a, b, c, d = table.cells
    # The correction never turns a difference around: at most all of it is taken away.
    distance = max(0.0, abs(a * d - b * c) - table.n / 2) if yates else float(abs(a * d - b * c))
    statistic = table.n * distance**2 / ((a + b) * (c + d) * (a + c) * (b + d))
    return TableTest(statistic, float(chdtrc(1, statistic)), table.n, method)


def odds_ratio(table: Table2x2, confidence: float = 0.95) -> RatioEstimate:
    """The odds of the first group over those of the second, with Woolf's logarithmic interval (1955).

    Where a cell is empty the interval is made after adding one half to each (Haldane, 1956; Anscombe, 1956), which the
    method then names, and the estimate stays that of the counts. An odds ratio is no ratio of probabilities: for
    common outcomes it lies much further from 1 than the risk ratio.

    Raises:
        InputError: confidence outside (0, 1).
    """
    check_confidence(confidence)
    a, b, c, d = (float(count) for count in table.cells)
    method = "odds ratio, Woolf interval"
    if table.empty_margin:
        return RatioEstimate(None, None, None, table.n, confidence, method, table.empty_margin)
    estimate = a * d / (b * c) if b * c else None
    reason = "" if estimate is not None else "the ratio of the counts is infinite: it divides by an empty cell"
    if not all(table.cells):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
        method += " with one half added to each cell"
    low, high = _log_interval(a * d / (b * c), math.sqrt(1 / a + 1 / b + 1 / c + 1 / d), confidence)
    return RatioEstimate(estimate, low, high, table.n, confidence, method, reason)


def risk_ratio(table: Table2x2, confidence: float = 0.95) -> RatioEstimate:
    """The share of the first group with the outcome over that of the second, with Katz's logarithmic interval (1978).

    Where a group never has the outcome the interval is made after adding one half to each cell (Walter, 1975), which
    the method then names.

    Raises:
        InputError: confidence outside (0, 1).
    """
    check_confidence(confidence)
    a, b, c, d = (float(count) for count in table.cells)
    method = "risk ratio, Katz interval"
    if not a + b or not c + d or not a + c:
        return RatioEstimate(None, None, None, table.n, confidence, method, table.empty_margin)
    estimate = (a / (a + b)) / (c / (c + d)) if c else None
    reason = "" if estimate is not None else "the ratio of the shares is infinite: the second group's is 0"
    if not a or not c:
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
        method += " with one half added to each cell"
    error = math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    low, high = _log_interval((a / (a + b)) / (c / (c + d)), error, confidence)
    return RatioEstimate(estimate, low, high, table.n, confidence, method, reason)


def _no_likelier(yes: int, first: int, second: int, outcomes: int) -> float:
    """Chance of all tables with these margins that are no likelier than the one with ``yes`` in its first cell."""
    import numpy as np
    from scipy.special import gammaln

    cells = np.arange(max(0, outcomes - second), min(first, outcomes) + 1)
    others = outcomes - cells
    logs = -(gammaln(cells + 1) + gammaln(first - cells + 1) + gammaln(others + 1) + gammaln(second - others + 1))
    chances = np.exp(logs - logs.max())
    # Equal chances differ by rounding: what is within a ten-millionth counts as equal.
    limit = chances[yes - cells[0]] * (1 + 1e-7)
    return min(1.0, float(chances[chances <= limit].sum() / chances.sum()))


def _log_interval(ratio: float, error: float, confidence: float) -> tuple[float, float]:
    reach = normal_quantile(confidence) * error
    return ratio * math.exp(-reach), ratio * math.exp(reach)
