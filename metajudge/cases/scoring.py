"""From judges' criterion scores to a stage's, and from stages to a case's. Rules are named; what is absent stays so."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from metajudge.cases.quotes import QuoteCount, too_short
from metajudge.cases.result import CriterionResult, JudgeReply, StageResult
from metajudge.decision import CasePlan, Profile, StagePlan
from metajudge.scoring.formulas import agent_scores
from metajudge.types import Absent, Failure

DECIMALS = 9


def weighted_score(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Weighted mean over the criteria actually scored (equation 3, by :mod:`metajudge.scoring`).

    Args:
        scores: criterion -> score; None where it does not apply: it leaves numerator and denominator.
        weights: criterion -> weight, above 0; those of other criteria play no part.

    Returns:
        The score, None where no criterion has one.
    """
    known = {name: score for name, score in scores.items() if score is not None}
    if not known:
        return None
    found = agent_scores([[list(known.values())]], [weights[name] for name in known])
    return round(float(found[0, 0]), DECIMALS)


def shares(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> dict[str, float]:
    """The weight each scored criterion has; they add up to 1."""
    names = [name for name, score in scores.items() if score is not None]
    total = math.fsum(weights[name] for name in names)
    return {name: round(weights[name] / total, 12) for name in names}


def stage_result(
    stage: StagePlan, replies: Sequence[JudgeReply], weights: Mapping[str, float], rule: str
) -> StageResult:
    """One stage from its judges' replies; a strict majority of the judges must have answered.

    Args:
        weights: criterion -> weight, from the profile.
        rule: ``mean`` or ``lowest``: how judges' scores, and confidences, of a criterion combine.
    """
    answered = [reply for reply in replies if reply.criteria is not None]
    if 2 * len(answered) <= len(replies):
        return StageResult(name=stage.name, failure=_too_few(replies, len(answered)), judges=tuple(replies))
    criteria = {name: _combined(name, answered, rule) for name in stage.criteria}
    scores = {name: result.score for name, result in criteria.items()}
    confidence = _confidence(criteria)
    return StageResult(
        name=stage.name,
        criteria=criteria,
        weighted_score=weighted_score(scores, weights),
        confidence_overall=None if isinstance(confidence, Absent) else confidence,
        absent={"confidence_overall": confidence.reason} if isinstance(confidence, Absent) else {},
        weights=shares(scores, weights),
        judges=tuple(replies),
    )


def overall(plan: CasePlan, stages: Sequence[StageResult]) -> tuple[float | Absent, float | Absent]:
    """Overall score and confidence of a case, by the rules its policy names."""
    failed = [f"stage {stage.name}: {stage.failure.message}" for stage in stages if stage.failure is not None]
    unsure = [f"stage {stage.name}: {reason}" for stage in stages for reason in stage.absent.values()]
    return _overall(
        plan,
        [stage.weighted_score for stage in stages if stage.weighted_score is not None],
        [stage.confidence_overall for stage in stages if stage.confidence_overall is not None],
        failed,
        unsure,
    )


def quotes_in(stages: Iterable[StageResult]) -> QuoteCount:
    """Quotes that judges gave as evidence over all stages."""
    quotes = [quote for stage in stages for one in stage.criteria.values() for quote in one.evidence]
    short = sum(too_short(quote.quote) and not quote.found for quote in quotes)
    return QuoteCount(len(quotes), sum(quote.found for quote in quotes), short)


def verified_share(quotes: int, found: int) -> float | Absent:
    """The share of quotes that stand in the texts, in [0, 1]; absent where none was given. Short ones do not."""
    return found / quotes if quotes else Absent("the judges quoted nothing as evidence")


def mean_scores(stages: Iterable[Mapping[str, float | None]]) -> dict[str, float]:
    """Criterion -> mean score over the stages that scored it: what a policy's learned corrections are made on."""
    found: dict[str, list[float]] = {}
    for scores in stages:
        for name, score in scores.items():
            if score is not None:
                found.setdefault(name, []).append(score)
    return {name: math.fsum(scores) / len(scores) for name, scores in found.items()}


def overall_of_numbers(
    plan: CasePlan, profile: Profile, stages: Mapping[str, Mapping[str, Any]]
) -> tuple[float | Absent, float | Absent]:
    """Overall score and confidence from recorded criterion scores, under another plan's weights and rules.

    Args:
        stages: stage -> ``criteria`` (criterion -> ``score``, ``confidence``) and ``failure``; those of the plan.
    """
    scores, sure, failed, unsure = [], [], [], []
    for stage in plan.stages:
        recorded = stages[stage.name]
        if recorded["failure"] is not None:
            failed.append(f"stage {stage.name}: {recorded['failure']['message']}")
            continue
        criteria = {name: CriterionResult(**recorded["criteria"][name]) for name in stage.criteria}
        score = weighted_score({name: one.score for name, one in criteria.items()}, profile.weights)
        if score is None:
            failed.append(f"stage {stage.name}: no criterion applied")
            continue
        scores.append(score)
        confidence = _confidence(criteria)
        if isinstance(confidence, Absent):
            unsure.append(f"stage {stage.name}: {confidence.reason}")
        else:
            sure.append(confidence)
    return _overall(plan, scores, sure, failed, unsure)


def _overall(
    plan: CasePlan, scores: Sequence[float], sure: Sequence[float], failed: Sequence[str], unsure: Sequence[str]
) -> tuple[float | Absent, float | Absent]:
    if failed:
        return Absent("; ".join(failed)), Absent("; ".join(failed))
    score = by_rule(plan.overall_score)(scores)
    return score, Absent("; ".join(unsure)) if unsure else by_rule(plan.overall_confidence)(sure)


def by_rule(rule: str) -> Callable[[Sequence[float]], float]:
    """The combination a policy names: plain mean, or the lowest."""
    return min if rule.startswith("lowest") else _mean


def _mean(values: Sequence[float]) -> float:
    return round(math.fsum(values) / len(values), DECIMALS)


def _confidence(criteria: Mapping[str, CriterionResult]) -> float | Absent:
    given = [result.confidence for result in criteria.values() if result.confidence is not None]
    if not given:
        return Absent("the rubric does not ask for confidence")
    return _mean(given)


def _combined(name: str, answered: Sequence[JudgeReply], rule: str) -> CriterionResult:
    """Several judges' scores on a criterion; "not applicable" counts only where all judges say so."""
    given = [(reply.judge, reply.criteria[name]) for reply in answered if reply.criteria is not None]
    if len(given) == 1:
        return given[0][1]
    by = by_rule(rule)
    scores = [one.score for _, one in given if one.score is not None]
    sure = [one.confidence for _, one in given if one.confidence is not None]
    return CriterionResult(
        score=by(scores) if scores else None,
        confidence=by(sure) if sure else None,
        comment="\n".join(f"{judge}: {one.comment}" for judge, one in given),
        evidence=tuple(quote.model_copy(update={"judge": judge}) for judge, one in given for quote in one.evidence),
        weaknesses=tuple(dict.fromkeys(weakness for _, one in given for weakness in one.weaknesses)),
    )


def _too_few(replies: Sequence[JudgeReply], answered: int) -> Failure:
    failures = [(reply.judge, reply.failure) for reply in replies if reply.failure is not None]
    reasons = "; ".join(f"{judge}: {failure.kind}: {failure.message}" for judge, failure in failures)
    summary = f"{answered} of {len(replies)} judges gave a usable answer, too few for a decision ({reasons})"
    return Failure(kind=failures[0][1].kind, message=summary)
