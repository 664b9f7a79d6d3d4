"""Which vetted judgments people are asked about: what a policy sends to review, and an audited share of the rest."""

from collections.abc import Mapping
from typing import NamedTuple

from metajudge.decision.deciding import criteria_of
from metajudge.decision.policy import NO_RULE, ReviewRule
from metajudge.reviews.review import PolicyUsed, Review, ReviewOrigin
from metajudge.types import AnyVerdict, Assessment, Judgment, digest
from metajudge.types.decision import Action, Decision
from metajudge.types.judgment import Scale

PRIORITY = {Action.REVIEW_PRIORITY: 0, Action.REVIEW: 1}
AUDIT_PRIORITY = 2


class Reviewed(NamedTuple):
    """What a review says of a judgment, under its names; no texts.

    Attributes:
        truth: whether the verdict is right by the item's label and the default rule; None where unknown.
    """

    subject_id: str
    subject_digest: str
    item_id: str
    judge: str
    category: str | None
    verdict: AnyVerdict | None
    answer_scale: Scale | None
    truth: bool | None
    question: str

    @classmethod
    def of(cls, judgment: Judgment) -> "Reviewed":
        item = judgment.item
        own = (judgment.id, judgment.digest, item.id, judgment.judge, item.category, judgment.verdict)
        return cls(*own, item.scale, judgment.correct, item.digest)


def review_of(
    judgment: Judgment | Reviewed,
    assessment: Assessment,
    *,
    now: float,
    criterion_weights: Mapping[str, float] | None = None,
    audit_share: float = 0.0,
    seed: int = 0,
    reviewers: int = 1,
    scale: tuple[float, float] | None = None,
    rule: ReviewRule = NO_RULE,
) -> Review | None:
    """The review of a decided judgment; None where no review is needed.

    What a policy approves or rejects is audited with a fixed probability, drawn from the seed and the content alone:
    the same judgment is drawn or not however often and in whatever order it is vetted. Without such a share only
    doubtful cases ever get a human label, and no statistic about the others can be had from them.

    Args:
        judgment: or what a review says of it.
        assessment: with a decision.
        criterion_weights: what the criteria's scores were combined with.
        audit_share: of APPROVE and REJECT, in [0, 1].
        reviewers: how many people are to decide.
        scale: ends of the criteria's.
        rule: the policy's; says whether people decide blind.
    """
    decision = assessment.decision
    if decision is None:
        return None
    one = Reviewed.of(judgment) if isinstance(judgment, Judgment) else judgment
    place = place_of(decision, one.subject_digest, audit_share, seed)
    if place is None:
        return None
    policy = PolicyUsed(name=decision.policy, digest=decision.policy_digest)
    return Review(
        review_id=Review.id_for(one.subject_digest, policy),
        action=decision.action.value,
        margin=decision.margin,
        **place._asdict(),
        policy=policy,
        score=assessment.final_score,
        probability=assessment.probability,
        confidence=decision.inputs.confidence,
        opened_at=now,
        reviewers=reviewers,
        criteria=criteria_of(assessment),
        criterion_weights=dict(criterion_weights or {}),
        scale=scale,
        blind=rule.is_blind(audited=place.origin is ReviewOrigin.AUDIT),
        **one._asdict(),
    )


class Place(NamedTuple):
    """Why something is reviewed, how soon, and with which probability such a thing is reviewed at all."""

    origin: ReviewOrigin
    priority: int
    inclusion: float


def place_of(decision: Decision, content: str, audit_share: float, seed: int) -> Place | None:
    """The priority of a decision in the queue; None where no review is needed.

    Whether a content belongs to the audited share is a uniform draw that is a function of the arguments.
    """
    priority = PRIORITY.get(decision.action)
    if priority is not None:
        return Place(ReviewOrigin.POLICY, priority, 1.0)
    draw = int(digest(["audit", seed, content, decision.policy_digest])[:13], 16) / 16**13
    if audit_share <= 0 or draw >= audit_share:
        return None
    return Place(ReviewOrigin.AUDIT, AUDIT_PRIORITY, audit_share)
