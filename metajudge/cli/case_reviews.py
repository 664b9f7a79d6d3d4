"""Reviews of cases that a policy sent to people."""

from metajudge.decision import Policy
from metajudge.judging.case import Case
from metajudge.judging.case_result import CaseResult
from metajudge.judging.case_scoring import mean_scores
from metajudge.reviews import PolicyUsed, Review
from metajudge.types import Action


def review_of(result: CaseResult, case: Case, policy: Policy, now: float) -> Review | None:
    """The review a decision asks for; None for one that needs nobody.

    Args:
        policy: the one that decided.
        now: seconds since the epoch.
    """
    decision = result.decision
    if not decision.action.needs_person:
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
        priority=0 if decision.action is Action.REVIEW_PRIORITY else 1,
        margin=decision.margin,
        policy=used,
        score=result.overall_quality_score,
        confidence=result.overall_confidence,
        opened_at=now,
        question=case.digest,
        criteria=scores,
        criterion_weights={name: result.metadata.weights[name] for name in scores},
        content={stage.name: {"context": stage.context, "output": stage.output} for stage in case.stages},
    )
