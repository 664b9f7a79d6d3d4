"""The same items twice: exact tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import clopper_pearson


@dataclass(frozen=True, slots=True)
class PairedTest:
    """An exact test of whether differences lean to one side.

    Attributes:
        share: of the untied pairs those in favour of the first, with its Clopper-Pearson interval; None where all
            pairs are tied.
        p_value: two-sided exact binomial test of a share of one half; 1 where all pairs are tied.
        n: all pairs, tied ones included.
        tied: pairs in favour of neither; they carry no information about the share.
    """

    share: Estimate | None
    p_value: float
    n: int
    favour_first: int
    favour_second: int
    tied: int
    method: str


def mcnemar_exact(first: Sequence[bool], second: Sequence[bool]) -> PairedTest:
    """Compares two yes/no outcomes on the same items (McNemar, 1947; exact conditional version).

    Under equal rates the items on which exactly one says yes fall on either side with probability one half. Assumes
    independent items: with several judgments of one question use
    :func:`metajudge.stats.bootstrap.bootstrap_mean` of the differences, with clusters.

    Args:
        first: for each item whether the first was right (or kept, ...).
        second: the same for the second, in the same order.

    Raises:
        InputError: empty, of unequal length, or with values other than true and false.
    """
    pairs = _pairs(first, second)
    for number, pair in enumerate(pairs):
        if any(value not in (0, 1) for value in pair):
            raise InputError(f"pair {number} is {pair}: outcomes must be true or false; leave out missing ones")
    favour_first = sum(bool(one) and not other for one, other in pairs)
    favour_second = sum(bool(other) and not one for one, other in pairs)
    return _exact(favour_first, favour_second, len(pairs), "mcnemar exact")


def sign_test(differences: Sequence[float]) -> PairedTest:
    """Tests whether paired differences have median zero; ties (0) are counted and left out (Dixon and Mood, 1946).

    Raises:
        InputError: empty, or a difference that is NaN.
    """
    if not len(differences):
        raise InputError("there are no differences to test")
    for number, value in enumerate(differences):
        if value != value:
            raise InputError(f"difference {number} is NaN: leave out pairs without a value")
    positive = sum(value > 0 for value in differences)
    negative = sum(value < 0 for value in differences)
    return _exact(positive, negative, len(differences), "exact sign test")


def _exact(positive: int, negative: int, n: int, method: str) -> PairedTest:
    untied = positive + negative
    if not untied:
        return PairedTest(None, 1.0, n, positive, negative, n, method)
    from scipy.special import bdtr

    p_value = min(1.0, 2 * float(bdtr(min(positive, negative), untied, 0.5)))
    return PairedTest(clopper_pearson(positive, untied), p_value, n, positive, negative, n - untied, method)


def _pairs(first: Sequence[bool], second: Sequence[bool]) -> list[tuple[bool, bool]]:
    if len(first) != len(second):
        raise InputError(f"first has {len(first)} outcomes, second {len(second)}: they must match one to one")
    if not len(first):
        raise InputError("there are no pairs to compare")
    return list(zip(first, second, strict=True))
