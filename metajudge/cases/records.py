"""What is kept of judged cases: their numbers in the audit log, and a review of what a policy sent to people."""

import time
from typing import Any

from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult, content_of, mean_scores, quotes_in
from metajudge.decision import Policy
from metajudge.reviews.opening import place_of
from metajudge.reviews.review import PolicyUsed, Review, ReviewOrigin
from metajudge.store import Store
from metajudge.types import digest

LABEL = "label"
"""Under which a record keeps the case's label, where it has one."""

KIND = "case"
"""What the records of judged cases are called in the store's audit log."""


async def keep_result(store: Store, result: CaseResult, label: bool | None = None) -> None:
    """Records a result's numbers and decision in the audit log; the same one again adds nothing.

    Texts are left out: a judge's reply is stored with its call, where ``metajudge forget`` can delete it.

    Args:
        label: whether the case's work is right, where that is known; a label that comes later is recorded, too.
    """
    record = numbers_of(result)
    if label is not None:
        record[LABEL] = label
    earlier = await store.audit_log.entries(KIND, result.case_id, limit=1)
    last = earlier[-1].payload if earlier else {}
    if last.get("digest") != record["digest"] or (label is not None and last.get(LABEL) != label):
        await store.audit_log.append(KIND, result.case_id, record, now=time.time())


def numbers_of(result: CaseResult) -> dict[str, Any]:
    """What is kept of a result: scores, confidences, decision, digests."""
    stages = {
        stage.name: {
            "criteria": {
                name: {"score": criterion.score, "confidence": criterion.confidence}
                for name, criterion in stage.criteria.items()
            },
            "weighted_score": stage.weighted_score,
            "confidence_overall": stage.confidence_overall,
            "absent": dict(stage.absent),
            "failure": None if stage.failure is None else stage.failure.model_dump(mode="json"),
            "requests": {reply.judge: reply.request_digest for reply in stage.judges},
        }
        for stage in result.stages
    }
    metadata = result.metadata
    numbers = {
        "case_id": result.case_id,
        "type": result.type,
        "stages": stages,
        "gate": None if result.gate is None else result.gate.model_dump(mode="json"),
        "overall_quality_score": result.overall_quality_score,
        "overall_confidence": result.overall_confidence,
        "decision": result.decision.model_dump(mode="json"),
        "judge_models": metadata.judge_models,
        "weights_used": metadata.weights_used,
        "policy_digest": metadata.policy_digest,
        "rubric_digest": metadata.rubric_digest,
        "prompt_digest": metadata.prompt_digest,
        "case_digest": metadata.case_digest,
    }
    quotes = quotes_in(result.stages)
    # Outside the digest, which earlier versions made without it.
    counted = {"quotes": {"given": quotes.given, "found": quotes.found}}
    return {**numbers, "digest": digest(numbers), "evaluated_at": metadata.evaluated_at, **counted}


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
    """The review a decision asks for, or one drawn for the review sample; None where no review is needed.

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
        category=result.metadata.weights_used,
        action=decision.action.value,
        margin=decision.margin,
        **place._asdict(),
        policy=used,
        score=result.overall_quality_score,
        confidence=result.overall_confidence,
        opened_at=now,
        reviewers=reviewers,
        question=case.digest,
        criteria=scores,
        criterion_weights={name: result.metadata.weights[name] for name in scores},
        scale=(policy.scale.low, policy.scale.high),
        truth=case.label,
        blind=policy.review.is_blind(audited=place.origin is ReviewOrigin.AUDIT),
        content=content_of(case, result),
    )
