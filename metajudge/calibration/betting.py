"""A test that may be looked at after any label: bets against "the precision is below the target".

The wealth of a bet with stake s, ``prod_i (1 - s x_i)`` over questions in an order fixed without labels (``x_i`` as
in :mod:`metajudge.calibration.question_test`), is a nonnegative martingale or falls on average where the hypothesis
is true, and so is the mean of the wealths of several stakes. By Ville's inequality it ever reaches 1 / p with
probability at most p (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2023): the
smallest ``1 / wealth`` so far is a p-value at every time.
"""

import numpy as np

from metajudge.stats.arrays import Floats, Indices

STAKES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.95)
"""Shares of the largest possible stake that are bet at once, with equal weights."""


def anytime_p_values(errors: Indices, kept: Indices, target: float, most: int) -> Floats:
    """P-values valid at any time, one for each threshold.

    Args:
        errors: [questions, thresholds] wrong ones among the kept judgments, questions in the order of their labels.
        kept: [questions, thresholds] judgments kept, 0 to ``most``.
        target: precision, in (0, 1).
        most: judgments of one question that may be kept at most.

    Returns:
        [thresholds].
    """
    excess = errors - (1 - target) * kept
    wealth = np.zeros(excess.shape)
    for share in STAKES:
        wealth += np.exp(np.cumsum(np.log1p(-share / (most * target) * excess), axis=0)) / len(STAKES)
    return np.asarray(1 / np.maximum(wealth.max(axis=0, initial=1.0), 1.0))
