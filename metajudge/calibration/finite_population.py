"""A test about the judgments of one file, of whose questions a random sample is labelled.

The scores of all judgments are known and fixed; chance lies only in which questions are labelled. Where no question
keeps more than one judgment, the number of errors in the sample is hypergeometric and the test is exact. Else the
sample is a bet without replacement (Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement",
2020): given the questions seen so far, the mean excess of the rest is known under the hypothesis, and bets against
it.
"""

import numpy as np

from metajudge.calibration.betting import STAKES
from metajudge.stats.arrays import Floats, Indices


def file_p_values(errors: Indices, kept: Indices, in_file: Indices, target: float, most: int) -> Floats:
    """P-values of "the precision of the file's kept judgments is below the target", one for each threshold.

    Args:
        errors: [questions, thresholds] wrong ones among the kept judgments of labelled questions, in a random order.
        kept: [questions, thresholds] judgments kept of labelled questions, 0 to ``most``.
        in_file: [thresholds] questions of the file that keep a judgment, the labelled ones among them.
        target: precision, in (0, 1).
        most: judgments of one question that may be kept at most.

    Returns:
        [thresholds].
    """
    if most > 1:
        columns = range(kept.shape[1])
        return np.array(
            [_without_replacement(errors[:, at], kept[:, at], int(in_file[at]), target, most) for at in columns]
        )
    from scipy.stats import hypergeom  # imported where it is used: it takes half a second

    fewest_wrong = np.floor((1 - target) * in_file + 1e-9).astype(np.intp) + 1
    labelled, wrong = kept.sum(axis=0), errors.sum(axis=0)
    possible = fewest_wrong <= in_file
    p_values = hypergeom.cdf(wrong, np.maximum(in_file, 1), np.minimum(fewest_wrong, in_file), labelled)
    return np.asarray(np.where(possible & (in_file > 0), p_values, 1.0 * (in_file == 0)))


def _without_replacement(errors: Indices, kept: Indices, in_file: int, target: float, most: int) -> float:
    excess = (errors - (1 - target) * kept)[kept > 0]
    number = len(excess)
    if not number:
        return 1.0
    if number == in_file:
        return float(excess.sum() > 1e-9)
    before = np.concatenate([[0.0], np.cumsum(excess)[:-1]])
    expected = -before / (in_file - np.arange(number))
    room = most * target - expected
    if (room <= 0).any():  # not even all of the rest wrong would make the hypothesis true
        return 0.0
    gains = [np.cumsum(np.log1p(-share / room * (excess - expected))) for share in STAKES]
    return float(1 / max(np.exp(gains).mean(axis=0).max(), 1.0))
