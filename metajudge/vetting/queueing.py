"""Which vetted judgments people are asked about, and what a review says of them."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metajudge.reviews.opening import Place, Reviewed, place_of, review_of
from metajudge.types import AnyVerdict, Assessment, Judgment, is_right, kind_of
from metajudge.types.right import DEFAULTS
from metajudge.vetting.policies import weights_of

if TYPE_CHECKING:
    from metajudge.decision import Policy
    from metajudge.evidence.verdicts import Verdicts
    from metajudge.reviews.review import Review
    from metajudge.strategies import Panel
    from metajudge.types.decision import Decision


@dataclass(frozen=True, slots=True)
class Asking:
    """What decides who is asked about which judgments; see :func:`metajudge.reviews.opening.review_of`."""

    policy: "Policy"
    audit_share: float
    seed: int
    reviewers: int

    def place(self, decision: "Decision", digest: str) -> Place | None:
        """The place of a decision in the queue; None where no review is needed."""
        return place_of(decision, digest, self.audit_share, self.seed)

    def review(self, of: Judgment | Reviewed, assessment: Assessment, panel: "Panel") -> "Review | None":
        """The review of a judgment; None where none is needed."""
        return review_of(
            of,
            assessment,
            now=time.time(),
            criterion_weights=weights_of(panel),
            audit_share=self.audit_share,
            seed=self.seed,
            reviewers=self.reviewers,
            scale=panel.scale,
            rule=self.policy.review,
        )


def reviewed(facts: "Verdicts", row: int, digest: str) -> Reviewed:
    """What a review says of a judgment of a table, whose record has this digest."""
    item, category = facts.items[facts.item[row]], int(facts.category[row])
    verdict, truth = facts.verdict_of(int(facts.verdict[row])), int(facts.truth[row])
    return Reviewed(
        subject_id=facts.judgment_ids[row],
        subject_digest=digest,
        item_id=item.id,
        judge=facts.judges[facts.judge[row]],
        category=None if category < 0 else facts.categories[category],
        verdict=verdict,
        answer_scale=item.scale,
        truth=is_correct(verdict, None if truth < 0 else facts.truths[truth]),
        question=item.digest,
    )


def is_correct(verdict: AnyVerdict | None, truth: AnyVerdict | None) -> bool | None:
    """Whether a verdict is right by the item's label and the default rule; None where that is unknown."""
    return None if verdict is None or truth is None else is_right(verdict, truth, DEFAULTS[kind_of(verdict)])
