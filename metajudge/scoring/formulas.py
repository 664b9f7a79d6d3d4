"""Equations 1 to 3 of "Leveraging LLMs as Meta-Judges" (arXiv 2504.17087), on arrays.

One rule serves missing answers and early exit alike: a decision that no completion of the missing scores could change
is final. Stopping there gives the decision a full evaluation gives.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metajudge.errors import ConfigurationError, InputError

DECIMALS = 9
"""Scores and thresholds are compared after rounding to this many decimals: 4.5 must not pass on float noise."""

KEPT = 1024
"""Results for single judgments that are kept once computed: the points of a scale make few combinations, and arrays of
one element are slow."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Strings = NDArray[np.str_]


def exceeds(score: ArrayLike, threshold: float) -> Bools:
    """Whether scores lie strictly above a threshold, both rounded to 1e-9."""
    return np.asarray(np.asarray(score, dtype=np.float64).round(DECIMALS) > round(threshold, DECIMALS))


def agent_scores(scores: ArrayLike, weights: ArrayLike, applicable: ArrayLike | None = None) -> Floats:
    """Each agent's score of each judgment, ``S_i = sum_j w_j S_ij`` (equation 3).

    Args:
        scores: criterion scores, shape [n, M, N], on the rubric's scale.
        weights: criterion weights, shape [N], positive; they are normalised to sum to 1.
        applicable: shape [n, M, N]; a criterion marked False leaves numerator and denominator (its entry in
            ``scores`` is not looked at). Default: all apply.

    Returns:
        Agent scores, shape [n, M], on the same scale.

    Raises:
        InputError: shapes that do not match, a score that is not finite, or an agent to whom no criterion applies.
        ConfigurationError: weights that are not positive finite numbers.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 3:
        raise InputError(f"scores must have shape [judgments, agents, criteria], not {list(values.shape)}")
    w = positive_weights(weights, values.shape[2], "criterion")
    if applicable is None:
        _require_finite(values)
        return _dot(values, w)
    applies = _mask(applicable, values.shape, "applicable")
    present = np.where(applies, values, 0.0)
    _require_finite(present)
    share = _dot(applies, w)
    if not share.all():
        i, m = np.argwhere(share == 0)[0]
        raise InputError(f"no criterion applies to judgment {i} for agent {m}: there is nothing to score")
    return np.asarray(_dot(present, w) / share)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions about ``n`` judgments.

    Attributes:
        final: final scores, masked where the answers do not determine one.
        bounds: lowest and highest final score that a completion of the missing answers could give.
        accepted: whether the final score lies above the threshold; masked where undecided.
        settled: True where no completion could change the decision (no other agent needs to be asked).
        status: ``assessed``, ``renormalised`` (an average over the valid answers of an incomplete panel) or
            ``unscored``; a settled decision is ``assessed`` even where there is no final score.
    """

    final: "np.ma.MaskedArray[Any, Any]"
    bounds: tuple[Floats, Floats]
    accepted: "np.ma.MaskedArray[Any, Any]"
    settled: Bools
    status: Strings


def decide_average(
    agent_scores: ArrayLike,
    threshold: float,
    agent_weights: ArrayLike | None = None,
    valid: ArrayLike | None = None,
    *,
    quorum: int | None = None,
    scale: tuple[float, float] = (1.0, 5.0),
) -> Decisions:
    """Decides by weighted average, ``final = sum_i w_i S_i`` (equation 1): accepted when ``final > threshold``.

    Missing answers: (1) a decision that no completion could change is final; (2) else, with a quorum of valid answers,
    the average over those decides and is marked ``renormalised``; (3) else unscored.

    Args:
        agent_scores: shape [n, M]; entries that are not valid are not looked at.
        agent_weights: shape [M], positive, normalised to sum to 1. Default: 1/M each.
        valid: shape [n, M]; False where an agent gave no answer. Default: all answered.
        quorum: valid answers needed for a score. Default: a strict majority of M.
        scale: lowest and highest score.

    Raises:
        InputError: shapes that do not match, or a valid score that is not finite.
        ConfigurationError: weights that are not positive, a quorum outside 1..M, or a threshold outside the scale.
    """
    values, answered = panel_answers(agent_scores, valid)
    floor, ceiling = check_threshold(threshold, scale)
    members = values.shape[1]
    w = positive_weights(np.ones(members) if agent_weights is None else agent_weights, members, "agent")
    known = values @ w
    open_share = (~answered) @ w
    low, high = known + open_share * floor, known + open_share * ceiling
    share, count = answered @ w, answered.sum(axis=1)
    average = (values @ w) / np.where(share > 0, share, 1.0)
    certain = exceeds(low, threshold)
    settled = (certain | ~exceeds(high, threshold)) & (count > 0)
    scored = count >= quorum_of(members, quorum)
    whole = np.where(count == members, "assessed", "renormalised")
    return Decisions(
        final=np.ma.MaskedArray(average, mask=~scored),
        bounds=(low, high),
        accepted=np.ma.MaskedArray(np.where(settled, certain, exceeds(average, threshold)), mask=~(settled | scored)),
        settled=settled,
        status=np.where(scored, whole, np.where(settled, "assessed", "unscored")),
    )


def decide_majority(
    agent_scores: ArrayLike,
    threshold: float,
    valid: ArrayLike | None = None,
    *,
    scale: tuple[float, float] = (1.0, 5.0),
) -> Decisions:
    """Decides by majority vote (equation 2): accepted when more than half of the M configured agents vote for it.

    The final score is the scale's upper end where it is accepted, else the lower. M stays the configured number: a vote
    that the missing answers could still turn is unscored, and so is one without any answer.

    Args:
        agent_scores: shape [n, M]; entries that are not valid are not looked at.
        threshold: an agent votes for a judgment when its score is strictly above.
        valid: shape [n, M]; False where an agent gave no answer. Default: all answered.
        scale: lowest and highest score.

    Raises:
        InputError: shapes that do not match, or a valid score that is not finite.
        ConfigurationError: a threshold outside the scale.
    """
    values, answered = panel_answers(agent_scores, valid)
    floor, ceiling = check_threshold(threshold, scale)
    members = values.shape[1]
    least = (exceeds(values, threshold) & answered).sum(axis=1)
    # An absent agent may vote only where a score can lie above the threshold at all: at the upper end none can.
    most = least + (~answered).sum(axis=1) * int(exceeds(ceiling, threshold))
    passed = 2 * least > members
    settled = (passed | (2 * most <= members)) & answered.any(axis=1)
    low, high = np.where(passed, ceiling, floor), np.where(2 * most > members, ceiling, floor)
    return Decisions(
        final=np.ma.MaskedArray(low, mask=~settled),
        bounds=(low, high),
        accepted=np.ma.MaskedArray(passed, mask=~settled),
        settled=settled,
        status=np.where(settled, "assessed", "unscored"),
    )


def positive_weights(weights: ArrayLike, count: int, what: str) -> Floats:
    """Weights of the given count, checked and normalised to sum to 1."""
    # One judgment after another is scored by the same tuple.
    normalised: Callable[..., Floats] = _normalised if isinstance(weights, tuple) else _normalised.__wrapped__
    return normalised(weights, count, what)


@lru_cache(maxsize=256)
def _normalised(weights: Any, count: int, what: str) -> Floats:
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (count,):
        raise InputError(f"{count} {what} weights are needed, got an array of shape {list(w.shape)}")
    if not np.isfinite(w).all() or (w <= 0).any():
        raise ConfigurationError(f"{what} weights must be positive numbers, got {w.tolist()}")
    w = np.asarray(w / w.sum())
    w.flags.writeable = False
    return w


def panel_answers(agent_scores: ArrayLike, valid: ArrayLike | None) -> tuple[Floats, Bools]:
    """Scores with 0 where absent and the mask of those present, both [n, M], checked."""
    values = np.asarray(agent_scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(f"agent scores must have shape [judgments, agents], not {list(values.shape)}")
    if valid is None:
        answered = np.ones(values.shape, dtype=np.bool_)
    else:
        answered = _mask(valid, values.shape, "valid")
        values = np.where(answered, values, 0.0)
    _require_finite(values)
    return values, answered


def quorum_of(members: int, quorum: int | None) -> int:
    """The number of valid answers needed: as configured, else a strict majority."""
    if quorum is None:
        return members // 2 + 1
    if not 1 <= quorum <= members:
        raise ConfigurationError(f"quorum {quorum} is impossible with {members} agents: choose 1 to {members}")
    return quorum


def check_threshold(threshold: float, scale: tuple[float, float]) -> tuple[float, float]:
    """The scale, after checking that the threshold lies on it."""
    low, high = scale
    if not low <= threshold <= high:
        raise ConfigurationError(f"threshold {threshold:g} lies outside the scale {low:g}..{high:g}")
    return low, high


def _dot(values: NDArray[Any], w: Floats) -> Floats:
    """``values @ w`` over the last axis as one matrix-vector product (stacked products take twice as long)."""
    return np.asarray(values.reshape(-1, w.size) @ w).reshape(values.shape[:-1])


def _mask(mask: ArrayLike, shape: tuple[int, ...], what: str) -> Bools:
    flags = np.asarray(mask)
    if flags.dtype != np.bool_ or flags.shape != shape:
        raise InputError(
            f"{what} must be booleans of shape {list(shape)}, not {flags.dtype} of shape {list(flags.shape)}"
        )
    return flags


def _require_finite(values: Floats) -> None:
    # A sum takes half the time; it may overflow where every score is finite.
    if not math.isfinite(values.sum()) and not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))[0].tolist()
        raise InputError(f"the score at {where} is not a finite number; mark absent scores with the mask instead")
