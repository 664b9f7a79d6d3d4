"""What a set of judges is worth together, and which signals a calibration lives on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.quality import log_losses
from metajudge.calibration.sources import SignalGroup
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.bootstrap import bootstrap_mean
from metajudge.stats.clustered import clustered_proportion
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate


@dataclass(frozen=True, slots=True)
class ErrorCorrelation:
    """How alike two judges err: the correlation of their errors over the items both decided."""

    first: str
    second: str
    correlation: float
    items: int


@dataclass(frozen=True, slots=True)
class Independence:
    """How many independent judges a panel is worth.

    Attributes:
        effective: ``M^2 / sum of all correlations`` (the design effect of a mean): M for independent members, 1 for
            copies of one; negative correlations count as 0.
        resampled: ``effective`` with its 95 % interval, percentiles over resampled questions; None where in half of the
            resamples or more some judge never erred, or always.
        left_out: judges that are always right, always wrong, or share too few items with another one.
    """

    judges: tuple[str, ...]
    effective: float
    mean_correlation: float
    pairs: tuple[ErrorCorrelation, ...]
    resampled: Estimate | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unanimity:
    """How often judgments are right by how the peers stand to them."""

    peers: str
    n: int
    right: Estimate


@dataclass(frozen=True, slots=True)
class Importance:
    """Out-of-fold log loss without a group of signals, less the loss with all: above 0 the group helps.

    Attributes:
        without: mean log loss without this one.
        gain: ``without`` less ``loss``, with a 95 % interval, questions resampled (both fits as they are).
    """

    group: SignalGroup
    loss: float
    without: float
    gain: Estimate


RESAMPLES = 500

MIN_SHARED = 10
"""Items that two judges must both have decided for a correlation."""

_STANDS = ("all for", "most for", "balanced", "most against", "all against", "no peers")


def panel_independence(table: SignalTable, seed: int = 0) -> Independence:
    """Correlates judges' errors over items; an item judged in both orders counts with its mean error.

    Args:
        table: labelled rows count.

    Raises:
        InputError: fewer than two judges with errors that vary on shared items.
    """
    judges = sorted(set(table.judges))
    errors, question = _errors(table, judges), dict(zip(table.item_ids, table.questions, strict=True))
    questions = np.unique([question[item] for item in sorted(question)], return_inverse=True)[1].ravel()
    # The one that shares items with the fewest others leaves first.
    usable = [index for index in range(len(judges)) if np.nanstd(errors[index]) > 0]
    while usable:
        missing = [sum(_correlation(errors[a], errors[b]) is None for b in usable if b != a) for a in usable]
        if not max(missing):
            break
        usable.pop(missing.index(max(missing)))
    if len(usable) < 2:
        raise InputError("independence needs at least two judges that both err on shared, labelled items")
    pairs = []
    total = float(len(usable))
    for place, a in enumerate(usable):
        for b in usable[:place]:
            found = _correlation(errors[a], errors[b])
            assert found is not None
            pairs.append(ErrorCorrelation(judges[b], judges[a], *found))
            total += 2 * max(found[0], 0.0)
    names = tuple(judges[index] for index in usable)
    mean = sum(pair.correlation for pair in pairs) / len(pairs)
    effective = len(usable) ** 2 / total
    return Independence(
        judges=names,
        effective=effective,
        mean_correlation=mean,
        pairs=tuple(pairs),
        resampled=_with_interval(effective, errors[usable], questions, seed),
        left_out=tuple(sorted(set(judges) - set(names))),
    )


def unanimity(table: SignalTable) -> list[Unanimity]:
    """Share of right judgments by how their peers stand: all for, most for, balanced, most or all against.

    Intervals are by question.

    Raises:
        InputError: the table has no signal peers.
    """
    votes = table.columns.get("peers.votes")
    if votes is None:
        raise InputError("unanimity needs the signal peers")
    found = []
    questions = np.array(table.questions, dtype=str)
    stands = np.array([_stand(value, present) for value, present in zip(votes.values, votes.present, strict=True)])
    for name in _STANDS:
        mine = (stands == name) & table.labelled
        if mine.any():
            found.append(Unanimity(name, int(mine.sum()), clustered_proportion(table.correct[mine], questions[mine])))
    return found


def importances(table: SignalTable, *, seed: int = 0) -> list[Importance]:
    """Fits without each group of signals in turn; the most important first.

    The votes of pairs contain both orders and the strength of verdicts: beside peers, order and strength add nothing.

    Raises:
        InputError: as for :func:`~metajudge.calibration.fit.fit_calibration`; or one group only.
    """
    rows = table.select(table.labelled)
    if len(rows.signals) < 2:
        raise InputError("the importance of signals needs at least two groups of signals")

    def losses(of: SignalTable) -> Floats:
        return log_losses(out_of_fold(of, seed=seed), of.correct)

    full, found = losses(rows), []
    for group in rows.signals:
        without = losses(rows.without(group))
        rng = np.random.default_rng([seed, 19])
        gain = bootstrap_mean(without - full, rows.questions, rng=rng, resamples=RESAMPLES)
        found.append(Importance(group, float(full.mean()), float(without.mean()), gain))
    return sorted(found, key=lambda one: (-one.gain.estimate, one.group))


def _with_interval(effective: float, errors: Floats, questions: Indices, seed: int) -> Estimate | None:
    """The effective number of members with its 95 % percentile interval over resampled questions.

    Args:
        errors: [judges, items], NaN where a judge decided nothing.
        questions: [items] the question of each.
    """
    present = np.isfinite(errors).astype(np.float64)
    wrong = np.nan_to_num(errors)
    rng, count = np.random.default_rng([seed, 17]), int(questions.max(initial=0)) + 1
    found = []
    for _ in range(RESAMPLES):
        drawn = np.bincount(rng.integers(0, count, size=count), minlength=count)[questions].astype(np.float64)
        both = (present * drawn) @ present.T
        first = (wrong * drawn) @ present.T  # [a, b]: sum of a's errors where b decided too
        squares = (wrong**2 * drawn) @ present.T
        covariance = both * ((wrong * drawn) @ wrong.T) - first * first.T
        spread = np.maximum(both * squares - first**2, 0.0)
        scale = np.sqrt(spread * spread.T)
        if (scale > 1e-9).all():
            found.append(len(errors) ** 2 / np.maximum(covariance / scale, 0.0).sum())
    if len(found) <= RESAMPLES / 2:
        return None
    low, high = map(float, np.quantile(found, [0.025, 0.975]))
    return Estimate(effective, low, high, count, CONFIDENCE, "percentile bootstrap of questions")


def _errors(table: SignalTable, judges: Sequence[str]) -> Floats:
    """[judges, items] mean error, NaN where a judge decided nothing."""
    items = {name: place for place, name in enumerate(sorted(set(table.item_ids)))}
    place = {name: at for at, name in enumerate(judges)}
    wrong, count = np.zeros((len(judges), len(items))), np.zeros((len(judges), len(items)))
    for row in np.flatnonzero(table.labelled):
        at = place[table.judges[row]], items[table.item_ids[row]]
        wrong[at] += not table.correct[row]
        count[at] += 1
    return np.where(count > 0, wrong / np.maximum(count, 1), np.nan)


def _correlation(first: Floats, second: Floats) -> tuple[float, int] | None:
    both = np.isfinite(first) & np.isfinite(second)
    a, b = first[both], second[both]
    if len(a) < MIN_SHARED or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1]), len(a)


def _stand(votes: float, present: bool) -> str:
    if not present:
        return "no peers"
    if abs(votes) > 1 - 1e-9:
        return "all for" if votes > 0 else "all against"
    if abs(votes) < 1e-9:
        return "balanced"
    return "most for" if votes > 0 else "most against"
