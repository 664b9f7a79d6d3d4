"""Reviews of cases that a policy sent to people."""

from metajudge.decision import Policy
from metajudge.judging.case import Case
from metajudge.judging.case_result import CaseResult
from metajudge.judging.case_scoring import mean_scores
from metajudge.reviews import PolicyUsed, Review
from metajudge.reviews.opening import place_of


def review_of(
    result: CaseResult,
    case: Case,
    policy: Policy,
    now: float,
    *,
    audit_share: float = 0.0,
    seed: int = 0,
    reviewers: int = 1,
) -> Review | None:
    """The review a decision asks for, or one drawn for an audit; None where nobody needs to look.

    Args:
        policy: the one that decided.
        now: seconds since the epoch.
        audit_share: of APPROVE and REJECT, in [0, 1]; drawn from the seed and the case's content alone.
        reviewers: how many people are to decide.
    """
    decision = result.decision
    place = place_of(decision, case.digest, audit_share, seed)
    if place is None:
        return None
    used = PolicyUsed(name=policy.name, digest=policy.digest)
    scores = mean_scores({name: one.score for name, one in stage.criteria.items()} for stage in result.stages)
    return Review(
        review_id=Review.id_for(case.digest, used),
        subject="case",
        subject_id=case.id,
        subject_digest=case.digest,
        item_id=case.id,
        judge=", ".join(result.metadata.judge_models),
        category=case.type,
        action=decision.action.value,
        priority=place.priority,
        margin=decision.margin,
        origin=place.origin,
        inclusion=place.inclusion,
        policy=used,
        score=result.overall_quality_score,
        confidence=result.overall_confidence,
        opened_at=now,
        reviewers=reviewers,
        question=case.digest,
        criteria=scores,
        criterion_weights={name: result.metadata.weights[name] for name in scores},
        scale=(policy.scale.low, policy.scale.high),
        content={stage.name: {"context": stage.context, "output": stage.output} for stage in case.stages},
    )
