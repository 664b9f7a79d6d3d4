"""An agent's score from its criteria, and the mean of several draws."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import fsum
from statistics import fmean, stdev
from typing import Any

from metajudge.errors import FailureKind
from metajudge.rubric import Rubric
from metajudge.scoring.formulas import KEPT, agent_scores, decide_majority
from metajudge.types import AgentResult, CriterionScore, Failure
from metajudge.types.spent import TimedSpent, as_kept, total

MAX_SAMPLES = 100


def score_of(criteria: Mapping[str, CriterionScore], rubric: Rubric) -> float:
    """One agent's score from its criterion scores (equation 3, by :mod:`metajudge.scoring`)."""
    weights = rubric.score_weights
    return _score(tuple(one.score for one in criteria.values()), tuple(weights[name] for name in criteria))


@lru_cache(maxsize=KEPT)
def _score(scores: tuple[float | None, ...], weights: tuple[float, ...]) -> float:
    applicable = [[[score is not None for score in scores]]]
    return float(agent_scores([[[score or 0.0 for score in scores]]], weights, applicable)[0, 0])


def score_fields(
    criteria: Mapping[str, CriterionScore], rubric: Rubric, fine_score: float | None = None
) -> dict[str, Any]:
    """What a result says with these criteria: them, the score that follows from them, and the mean behind a vote."""
    return {"score": score_of(criteria, rubric), "criteria": dict(criteria), "fine_score": fine_score}


def mean_of_draws(draws: Sequence[AgentResult], rubric: Rubric) -> AgentResult:
    """One result of several draws of one agent.

    With a strict majority of valid draws, each criterion's score is the mean of the draws that scored it, and the
    agent's score follows from those; else the result is a failure. A criterion is not applicable where at least half
    of the valid draws say so. Of a binary rubric the draws vote (:func:`metajudge.scoring.formulas.decide_majority`,
    with all draws asked for as its number of members): the answer is ``correct`` where more than half of them say so,
    and a vote that missing draws could turn is a failure. Calls, cost and usage are sums over all draws. The analysis
    is that of the draw whose score is nearest to the mean of all valid ones (of several such, the first drawn).
    """
    valid = [draw for draw in draws if draw.score is not None]
    total = _total(draws)
    if 2 * len(valid) <= len(draws):
        return total.model_copy(update={"failure": _too_few(draws, len(valid))})
    scores = [_score_of(draw) for draw in valid]
    nearest = min(valid, key=lambda draw: abs(_score_of(draw) - fmean(scores)))
    successful = total.model_copy(update={"spread": round(stdev(scores), 9), "analysis": nearest.analysis})
    if rubric.kind == "binary":
        vote = _vote(draws, rubric)
        if isinstance(vote, Failure):
            return total.model_copy(update={"failure": vote})
        fields = score_fields({rubric.scored_names[0]: vote}, rubric, fine_score=round(fmean(scores), 9))
        return successful.model_copy(update=fields)
    criteria = {name: _mean_criterion([_criterion(draw, name) for draw in valid]) for name in rubric.scored_names}
    if all(one.score is None for one in criteria.values()):
        reason = f"the {len(valid)} valid draws agree on no criterion that applies"
        return total.model_copy(update={"failure": Failure(kind=FailureKind.BAD_REPLY, message=reason)})
    return successful.model_copy(update=score_fields(criteria, rubric))


def _vote(draws: Sequence[AgentResult], rubric: Rubric) -> CriterionScore | Failure:
    """The vote of several draws of a binary rubric."""
    low, high = float(rubric.scale.low), float(rubric.scale.high)
    valid = [draw for draw in draws if draw.score is not None]
    votes = [[low if draw.score is None else draw.score for draw in draws]]
    answered = [[draw.score is not None for draw in draws]]
    found = decide_majority(votes, (low + high) / 2, answered, scale=(low, high))
    if not found.settled[0]:
        return _too_few(draws, len(valid), "and the missing ones could turn their vote")
    given = _mean_criterion([_criterion(draw, rubric.scored_names[0]) for draw in valid])
    return given.model_copy(update={"score": float(found.final[0])})


def _score_of(draw: AgentResult) -> float:
    assert draw.score is not None
    return draw.score


def _criterion(draw: AgentResult, name: str) -> CriterionScore:
    assert draw.criteria is not None
    return draw.criteria[name]


def _mean_criterion(given: Sequence[CriterionScore]) -> CriterionScore:
    """The mean, with the explanation of the draw nearest to it (of several such, the first drawn)."""
    values = [one.score for one in given if one.score is not None]
    if 2 * len(values) <= len(given):
        unscored = next(one for one in given if one.score is None)
        return CriterionScore(score=None, explanation=unscored.explanation, source="draws")
    mean = round(fsum(values) / len(values), 9)
    nearest = min((one for one in given if one.score is not None), key=lambda one: abs((one.score or 0.0) - mean))
    return CriterionScore(
        score=mean,
        explanation=nearest.explanation,
        source="draws",
        spread=round(stdev(values), 9) if len(values) > 1 else None,
    )


def _total(draws: Sequence[AgentResult]) -> AgentResult:
    """What all draws took together, without a score."""
    first = draws[0]
    return AgentResult(
        agent=first.agent,
        model=first.model,
        role=first.role,
        weight=first.weight,
        **as_kept(total(TimedSpent, draws, fsum)),
        prompt_digest=first.prompt_digest,
        reported_model=next((draw.reported_model for draw in draws if draw.reported_model), None),
        samples=len(draws),
        valid_samples=sum(draw.score is not None for draw in draws),
        draws=tuple(draws),
    )


def _too_few(draws: Sequence[AgentResult], valid: int, why: str = "which is no majority") -> Failure:
    """The commonest failure's kind (of several such, the first drawn), and all messages."""
    failures = [draw.failure for draw in draws if draw.failure is not None]
    ((kind, _),) = Counter(failure.kind for failure in failures).most_common(1)
    messages = "; ".join(dict.fromkeys(f"{failure.kind.value}: {failure.message}" for failure in failures))
    return Failure(kind=kind, message=f"{valid} of {len(draws)} draws gave a score, {why} ({messages})")
