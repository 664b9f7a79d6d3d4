"""A statistic of sums over clusters, with a standard error that leaves out one cluster at a time."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from metajudge.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class Jackknifed:
    """A statistic and its standard error.

    Attributes:
        estimate: the statistic of all clusters.
        error: its standard error; None where fewer than two of the statistics without a cluster are defined.
        clusters: clusters.
    """

    estimate: float
    error: float | None
    clusters: int

    def interval(self, lowest: float = -math.inf, highest: float = math.inf) -> tuple[float, float] | None:
        """95 % by Student's t, cut to a range; None where the error is."""
        from scipy.special import stdtrit

        if self.error is None:
            return None
        half = float(stdtrit(max(1, self.clusters - 1), 0.975)) * self.error
        return max(lowest, self.estimate - half), min(highest, self.estimate + half)


def jackknife(sums: Floats, statistic: Callable[[Floats], Floats]) -> Jackknifed | None:
    """Leaves out each cluster in turn (Efron and Stein, 1981).

    Args:
        sums: [clusters, columns] what the statistic is made of, summed by cluster.
        statistic: [any, columns] -> [any]; NaN where it is undefined.

    Returns:
        None where the statistic of all clusters is undefined.
    """
    total = sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(statistic(total[None])[0])
        left = statistic(total - sums)
    if not math.isfinite(estimate):
        return None
    known = left[np.isfinite(left)]
    k = len(known)
    if k < 2:
        return Jackknifed(estimate, None, len(sums))
    return Jackknifed(estimate, math.sqrt((k - 1) / k * float(((known - known.mean()) ** 2).sum())), len(sums))
