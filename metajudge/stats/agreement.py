"""Agreement beyond chance: Cohen's and Brennan and Prediger's kappa, Fleiss' kappa, Krippendorff's alpha.

They differ in their model of chance, which the result names. All need categories, not strengths of belief.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, normal_quantile, t_quantile
from metajudge.stats.intervals import score_bounds, wilson

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Distance: TypeAlias = Callable[[Floats, Sequence[Any]], Floats]
"""From margins [m, k] and the categories to squared distances [m, k, k]."""

Words: TypeAlias = Literal["poor", "slight", "fair", "moderate", "substantial", "almost perfect"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """A chance-corrected agreement.

    Attributes:
        estimate: 1 for perfect agreement, 0 for agreement as by chance; None where it is undefined, see ``reason``.
        bounded: the same with its interval, None if one is missing.
        n: items with at least two ratings.
        method: statistic, model of chance and kind of interval.
        observed: observed agreement in [0, 1]; for alpha one minus the observed disagreement of a pair, where the
            most distant categories disagree by 1.
        expected: the same by chance.
        categories: the labels, in the order used.
        reason: why estimate or interval is absent, else empty.
    """

    estimate: float | None
    bounded: Estimate | None
    n: int
    method: str
    observed: float
    expected: float
    categories: tuple[Hashable, ...]
    reason: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Those of the interval, None if missing."""
        return None if self.bounded is None else self.bounded.interval


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Agreement:
    """Agreement of two raters, chance from **each rater's own observed margins** (Cohen, 1960).

    The interval is Wilson's of the observed agreement, with the number of items that corresponds to the large-sample
    standard error of Fleiss, Cohen and Everitt (1969). Assumes independent items. Kappa is low where one category
    dominates, however good the raters are.

    Args:
        first: one label an item.
        second: the other rater's labels, in the same order.

    Raises:
        InputError: empty, of unequal length, or with a missing label (None or NaN).
    """
    _check_pairs(first, second)
    categories = _categories([*first, *second])
    code = {label: i for i, label in enumerate(categories)}
    table = np.zeros((len(categories), len(categories)))
    for one, other in zip(first, second, strict=True):
        table[code[one], code[other]] += 1
    return _kappa_of(table / len(first), len(first), categories)


def brennan_prediger(
    first: Sequence[Hashable], second: Sequence[Hashable], categories: Sequence[Hashable]
) -> Agreement:
    """Agreement of two raters, chance as of a **uniform draw** from the categories (Brennan and Prediger, 1981).

    Also Bennett's S; for two categories it is ``2 p - 1`` of the observed agreement p, and some print it as Cohen's.
    The interval is Wilson's of the observed agreement, mapped by the same formula. Assumes independent items.

    Args:
        first: one label an item.
        second: the other rater's labels, in the same order.
        categories: all labels that could have been given, used or not: chance depends on their number.

    Raises:
        InputError: empty, of unequal length, with a missing label, fewer than two categories, or a label that is none.
    """
    _check_pairs(first, second)
    known = tuple(dict.fromkeys(categories))
    unknown = {label for label in (*first, *second) if label not in known}
    if len(known) < 2 or unknown:
        raise InputError(f"categories must name every label, two at least; missing: {sorted(map(str, unknown))}")
    same, n, expected = sum(a == b for a, b in zip(first, second, strict=True)), len(first), 1 / len(known)
    share = wilson(same, n)
    kappa, low, high = ((p - expected) / (1 - expected) for p in (share.estimate, share.low, share.high))
    method = "Brennan and Prediger's kappa, chance from a uniform draw, interval from Wilson's"
    found = Estimate(kappa, low, high, n, CONFIDENCE, method)
    return Agreement(kappa, found, n, method, share.estimate, expected, known)


def _kappa_of(p: Floats, n: int, categories: tuple[Hashable, ...]) -> Agreement:
    method = "Cohen's kappa, chance from observed margins, score interval"
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float(np.trace(p)), float(rows @ columns)
    if len(categories) == 1:
        reason = "both raters gave one and the same label throughout, so chance alone explains all agreement"
        return Agreement(None, None, n, method, observed, expected, categories, reason)
    kappa = (observed - expected) / (1 - expected)
    weight = rows[None, :] + columns[:, None]
    diagonal = np.diag(p) * (1 - (rows + columns) * (1 - kappa)) ** 2
    off = p * weight**2
    np.fill_diagonal(off, 0)
    variance = diagonal.sum() + (1 - kappa) ** 2 * off.sum() - (kappa - expected * (1 - kappa)) ** 2
    error = float(np.sqrt(max(0.0, variance) / n)) / (1 - expected)
    found = Estimate(kappa, *_score_interval(observed, expected, error, n, n), n, CONFIDENCE, method)
    return Agreement(kappa, found, n, method, observed, expected, categories)


def _score_interval(observed: float, expected: float, error: float, items: int, most: float) -> tuple[float, float]:
    """Wilson's interval of the observed agreement with an effective number of items, mapped on the scale of kappa.

    The effective number is the one with which a proportion would have the standard error of kappa (Korn and Graubard,
    1998, for clustered proportions), times the squared ratio of the normal quantile to Student's t. A normal interval
    of kappa itself is far too narrow where few items disagree, and has no width where none does.

    Args:
        observed: agreement, in [0, 1].
        expected: by chance, below 1.
        error: standard error of kappa; 0 where nothing varies.
        items: how many.
        most: largest effective number, where nothing varies, too.
    """
    z = normal_quantile(CONFIDENCE)
    spread = (error * (1 - expected)) ** 2
    effective = float(most)
    if spread > 0 and 0 < observed < 1:
        by_t = (z / t_quantile(items - 1)) ** 2
        effective = max(1.0, min(most, observed * (1 - observed) / spread) * by_t)
    low, high = ((p - expected) / (1 - expected) for p in score_bounds(observed, effective, z))
    return max(-1.0, low), min(1.0, high)


def fleiss_kappa(ratings: Sequence[Sequence[Hashable]]) -> Agreement:
    """Agreement of several raters, chance from the **pooled** margins (Fleiss, 1971).

    Raters need not be the same for all items, but every item has the same number of them, at least two. The interval
    is Wilson's of the observed agreement, with the number of items that corresponds to the error of a jackknife.

    Args:
        ratings: for each item its labels.

    Raises:
        InputError: no items, unequal numbers of ratings, fewer than two, or a missing label.
    """
    if not len(ratings):
        raise InputError("there are no items to compare")
    raters = len(ratings[0])
    for number, labels in enumerate(ratings):
        _refuse_missing(labels, f"item {number}")
        if len(labels) != raters or raters < 2:
            raise InputError(
                f"item {number} has {len(labels)} ratings, the first {raters}: Fleiss' kappa needs the same number, "
                "two at least; for gaps use krippendorff_alpha"
            )
    categories = _categories([label for labels in ratings for label in labels])
    name = "Fleiss' kappa, chance from pooled margins"
    return _from_coincidences(name, ratings, categories, _nominal, again=True)


def krippendorff_alpha(
    units: Sequence[Sequence[Any]], level: Level = "nominal", categories: Sequence[Hashable] | None = None
) -> Agreement:
    """Agreement of any number of raters with gaps, chance from **pooled pairable values** without replacement.

    ``alpha = 1 - D_observed / D_expected`` from the coincidence matrix (Krippendorff, "Computing Krippendorff's
    Alpha-Reliability", 2011). Units with fewer than two ratings are left out. The interval is Wilson's of the observed
    agreement, with the number of units that corresponds to the error of a jackknife, cut to [-1, 1]; alpha itself may
    be lower.

    Args:
        units: for each unit its values; None where a rater gave none.
        level: ``nominal``; ``ordinal`` where categories have an order; ``interval`` where they are numbers whose
            differences mean something, which are squared.
        categories: their order for ``ordinal``; by default the values are sorted, which numbers can be.

    Raises:
        InputError: no unit with two ratings, NaN, an unknown level, values that cannot be sorted, or a value that
            ``categories`` does not name.
    """
    if level not in _DISTANCES:
        raise InputError(f"level must be one of {', '.join(_DISTANCES)}, not {level!r}")
    pairable = [[value for value in unit if value is not None] for unit in units]
    pairable = [unit for unit in pairable if len(unit) > 1]
    if not pairable:
        raise InputError("no unit has two ratings: there is nothing to compare")
    for number, unit in enumerate(pairable):
        _refuse_missing(unit, f"pairable unit {number}")
    order = _ordered(pairable, level, categories)
    name = f"Krippendorff's alpha ({level}), chance from pooled pairable values"
    return _from_coincidences(name, pairable, order, _DISTANCES[level], again=False)


def _nominal(margins: Floats, _: Sequence[Any]) -> Floats:
    k = margins.shape[1]
    return np.broadcast_to(1 - np.eye(k), (len(margins), k, k))


def _ordinal(margins: Floats, _: Sequence[Any]) -> Floats:
    """Squared number of values from the middle of one category to the middle of the other, [m, k, k]."""
    middle = np.cumsum(margins, axis=1) - margins / 2
    return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2, dtype=np.float64)


def _interval(margins: Floats, order: Sequence[Any]) -> Floats:
    """Squared differences of the values themselves, [m, k, k]."""
    values = np.asarray(order, dtype=np.float64)
    squared = (values[:, None] - values[None, :]) ** 2
    return np.broadcast_to(squared, (len(margins), *squared.shape))


_DISTANCES: dict[Level, Distance] = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}


def _from_coincidences(
    name: str, units: Sequence[Sequence[Hashable]], categories: tuple[Hashable, ...], distance: Distance, *, again: bool
) -> Agreement:
    """One minus observed over expected disagreement of two values of a unit, with a jackknife over units.

    Args:
        again: whether chance draws the second of two values from all of them, the first one too.
    """
    code = {label: i for i, label in enumerate(categories)}
    counts = np.zeros((len(units), len(categories)))
    np.add.at(counts, ([i for i, unit in enumerate(units) for _ in unit], [code[x] for unit in units for x in unit]), 1)
    size = counts.sum(axis=1)[:, None, None]
    diagonal = counts[:, :, None] * np.eye(len(categories))
    coincidences = (counts[:, :, None] * counts[:, None, :] - diagonal) / (size - 1)
    total, n, most = coincidences.sum(axis=0), len(units), float((counts.sum(axis=1) - 1).sum())
    observed, expected = (float(part[0]) for part in _agreement_parts(total[None], distance, categories, again=again))
    method = f"{name}, score interval with a jackknife over items"
    if len(categories) == 1:
        reason = "all ratings are the same label, so chance alone explains all agreement"
        return Agreement(None, None, n, method, observed, expected, categories, reason)
    kappa = (observed - expected) / (1 - expected)
    if n < 3:
        reason = f"{n} items are too few for an interval"
        return Agreement(kappa, None, n, method, observed, expected, categories, reason)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen, chance = _agreement_parts(total - coincidences, distance, categories, again=again)
        others = (seen - chance) / (1 - chance)
    error = 0.0  # where all ratings would be one label without one of the items
    if np.isfinite(others).all():
        error = float(np.sqrt((n - 1) / n * np.sum((others - others.mean()) ** 2)))
    found = Estimate(kappa, *_score_interval(observed, expected, error, n, most), n, CONFIDENCE, method)
    return Agreement(kappa, found, n, method, observed, expected, categories)


def _agreement_parts(
    coincidences: Floats, distance: Distance, categories: Sequence[Any], *, again: bool
) -> tuple[Floats, Floats]:
    """One minus observed and one minus expected disagreement, [m] each, of matrices [m, k, k]."""
    margins = coincidences.sum(axis=2)
    total = margins.sum(axis=1)
    apart = distance(margins, categories)
    # The scale of the distance cancels out; with 1 as the largest both parts stay within [0, 1].
    largest = apart.max(axis=(1, 2), keepdims=True)
    apart = apart / np.where(largest > 0, largest, 1)
    observed = (coincidences * apart).sum(axis=(1, 2)) / total
    expected = (margins[:, :, None] * margins[:, None, :] * apart).sum(axis=(1, 2)) / (total * (total - (not again)))
    return 1 - observed, 1 - expected


_BANDS = (0.20, 0.40, 0.60, 0.80)
_WORDS: tuple[Words, ...] = ("slight", "fair", "moderate", "substantial", "almost perfect")


def landis_koch(kappa: float) -> Words:
    """The customary word for a kappa (Landis and Koch, 1977): a convention, not a test.

    Below 0 poor, up to .20 slight, .40 fair, .60 moderate, .80 substantial, above almost perfect.

    Raises:
        InputError: kappa is NaN or above 1.
    """
    if not kappa <= 1:
        raise InputError(f"a kappa is a number up to 1, not {kappa!r}")
    return "poor" if kappa < 0 else _WORDS[bisect_left(_BANDS, round(kappa, 9))]


def _categories(labels: Sequence[Hashable]) -> tuple[Hashable, ...]:
    return tuple(sorted(set(labels), key=lambda label: (str(type(label)), str(label))))


def _ordered(
    units: Sequence[Sequence[Any]], level: Level, categories: Sequence[Hashable] | None
) -> tuple[Hashable, ...]:
    values = {value for unit in units for value in unit}
    numbers = all(isinstance(value, int | float | np.number) for value in values)
    if level == "interval" and not numbers:
        raise InputError("an interval scale needs numbers; for ordered words take 'ordinal' with categories")
    if categories is not None:
        unknown = sorted(str(value) for value in values - set(categories))
        if unknown or len(set(categories)) != len(categories):
            raise InputError(f"categories must name each value once; missing: {', '.join(unknown) or 'none'}")
        return tuple(label for label in categories if label in values)
    if level == "nominal":
        return _categories(list(values))
    if not numbers:
        raise InputError("ordinal values that are not numbers have no known order: give it as categories")
    return tuple(sorted(values))


def _check_pairs(first: Sequence[Any], second: Sequence[Any]) -> None:
    if len(first) != len(second):
        raise InputError(f"first has {len(first)} labels, second {len(second)}: they must match one to one")
    if not len(first):
        raise InputError("there are no items to compare")
    _refuse_missing(first, "first")
    _refuse_missing(second, "second")


def _refuse_missing(labels: Sequence[Any], what: str) -> None:
    for number, label in enumerate(labels):
        if label is None or label != label:
            raise InputError(
                f"{what} has no label at position {number}: leave it out (krippendorff_alpha takes None for a gap)"
            )
