"""What is already certain about a panel's decision, whatever the missing answers would say.

One rule serves missing answers and early exit alike: a decision that no completion of the missing scores
could change is final. Stopping there gives the decision a full evaluation gives.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metajudge.scoring.formulas import (
    Bools,
    Floats,
    Strings,
    check_threshold,
    exceeds,
    majority_vote,
    panel_answers,
    positive_weights,
    quorum_of,
    valid_average,
    vote_range,
)


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
    average, count = valid_average(values, answered, w)
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
    """Decides by majority vote: accepted when more than half of the M configured agents score above the threshold.

    A vote that the missing answers could still turn is unscored. Arguments and errors as in
    :func:`~metajudge.scoring.formulas.majority_vote`.
    """
    values, answered = panel_answers(agent_scores, valid)
    floor, ceiling = check_threshold(threshold, scale)
    members = values.shape[1]
    least, most = vote_range(values, answered, threshold, ceiling)
    final, status = majority_vote(values, threshold, answered, scale=scale)
    settled = status == "assessed"
    return Decisions(
        final=final,
        bounds=(np.where(2 * least > members, ceiling, floor), np.where(2 * most > members, ceiling, floor)),
        accepted=np.ma.MaskedArray(2 * least > members, mask=~settled),
        settled=settled,
        status=status,
    )
