"""Overall as the paper's tables 4 and 5 print it: category precisions weighted by the pairs of each category."""

import math
from collections.abc import Mapping

from metajudge.report import Absent

from .findings import Proportion, WeightedPrecision


def size_weighted(
    precisions: Mapping[str, Proportion | Absent], sizes: Mapping[str, int]
) -> WeightedPrecision | Absent:
    """``sum_c w_c p_c`` with ``w_c = size_c / sum of sizes``, and its 95 % interval.

    The categories share no question, so their precisions are independent. The interval recovers variances from theirs
    (MOVER: Zou, Huang, Zhang, "A note on confidence interval estimation for a linear function of binomial
    proportions", Computational Statistics and Data Analysis 53, 2009): lower end
    ``estimate - sqrt(sum_c w_c^2 (p_c - low_c)^2)``, upper end likewise.

    Args:
        precisions: category -> precision of what is kept there.
        sizes: category -> pairs, of every category that counts.

    Returns:
        Absent where nothing is kept in a category: the mean has no value without it.
    """
    total = sum(sizes.values())
    if not total:
        return Absent(absent="the grid names no category sizes")
    found: dict[str, Proportion] = {}
    for name in sizes:
        one = precisions.get(name)
        if not isinstance(one, Proportion):
            return Absent(absent=f"nothing selected in {name}: the weighted mean has no value")
        found[name] = one
    share = sum(sizes[name] * one.share for name, one in found.items()) / total
    below = math.sqrt(sum((sizes[name] * (one.share - one.low) / total) ** 2 for name, one in found.items()))
    above = math.sqrt(sum((sizes[name] * (one.high - one.share) / total) ** 2 for name, one in found.items()))
    return WeightedPrecision(
        share=share,
        low=max(0.0, share - below),
        high=min(1.0, share + above),
        n=sum(one.n for one in found.values()),
        questions=sum(one.questions for one in found.values()),
    )
