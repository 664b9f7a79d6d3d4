"""P values of many tests at once: the family-wise error and the share of false findings.

Each function returns adjusted p values in the order given: a test is a finding at level a where its adjusted p value is
at most a.
"""

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices


def holm(p_values: ArrayLike) -> Floats:
    """Bounds the chance of any false finding, whatever the dependence of the tests (Holm, 1979).

    Args:
        p_values: [m], each in [0, 1]; an empty list gives an empty array.

    Raises:
        InputError: a value outside [0, 1] or NaN.
    """
    p, order = _sorted(p_values)
    m = len(p)
    return np.minimum(np.maximum.accumulate(p[order] * (m - np.arange(m))), 1.0)[np.argsort(order)]


def benjamini_yekutieli(p_values: ArrayLike) -> Floats:
    """Bounds the expected share of false ones among the findings (Benjamini and Yekutieli, 2001).

    Valid for tests of any dependence: parts of one whole, each against the others, are negatively dependent. Arguments
    and errors as for :func:`holm`.
    """
    p, order = _sorted(p_values)
    numbers = np.arange(1, len(p) + 1)
    scaled = p[order] * len(p) / numbers
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1] * float((1 / numbers).sum())
    return np.minimum(adjusted, 1.0)[np.argsort(order)]


def _sorted(p_values: ArrayLike) -> tuple[Floats, Indices]:
    p = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("p values must lie in [0, 1]: leave out tests without one")
    return p, np.argsort(p, kind="stable")
