"""Parts of a sheet that every kind has: who said what, the flat record, outcomes to choose from. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from metajudge.reviewables.labels import by_label
from metajudge.reviewables.sheet import Choice, Kind, Said, Sheet
from metajudge.reviewables.wording import why_here, why_here_blind
from metajudge.reviews.review import HumanDecision, ReviewState, ReviewStatus
from metajudge.types import AnyVerdict, Category, Grade

_BLIND_FIELDS = {"review_id", "subject", "item_id", "category", "opened_at", "reviewers"}
_HIDDEN_FIELDS = {"truth", "content"}
CANNOT_TELL = Choice("outcome", "cannot_tell", "Cannot tell", "c", "Not decidable; this is not a label.")


def may_see_people(state: ReviewState, reviewer: str | None) -> bool:
    """Whether others' decisions are shown: not to a person who still has to decide independently."""
    return reviewer is None or state.status is ReviewStatus.DECIDED or has_decided(state, reviewer)


def has_decided(state: ReviewState, reviewer: str | None) -> bool:
    """Whether a person has decided a review."""
    return any(one.reviewer == reviewer for one in state.decisions)


def record_of(state: ReviewState, reviewer: str | None, *, blind: bool) -> dict[str, Any]:
    """The flat fields of a view: of the review, its claims, and what people said.

    A blind record has the review's id, item and status, and how many have decided.
    """
    review, mine = state.review, may_see_people(state, reviewer)
    claims = [one.model_dump(mode="json") for one in state.claims]
    base = {"status": state.status.value, "claims": claims, "assigned": list(state.assigned)}
    if blind:
        fields = review.model_dump(mode="json", include=_BLIND_FIELDS)
        own = [claim for claim in claims if claim["reviewer"] == reviewer]
        return {"review": fields, **base, "claims": own, "decided": len(state.decisions)}

    def said(decisions: Iterable[HumanDecision]) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json") for one in decisions if mine or one.reviewer == reviewer]

    return {
        "review": review.model_dump(mode="json", exclude=_HIDDEN_FIELDS),
        **base,
        "decisions": said(state.decisions),
        "history": said(state.history),
        "comments": [one.model_dump(mode="json") for one in state.comments if mine or one.author == reviewer],
    }


def frame_of(kind: Kind, state: ReviewState, reviewer: str | None, *, blind: bool) -> Sheet:
    """What a sheet of every kind begins with: a blind one names the review alone and says nothing of the machine."""
    review = state.review
    return Sheet(
        kind=kind,
        blind=blind,
        review_id=review.review_id,
        item_id=review.item_id,
        category=review.category,
        heading=f"Review {review.review_id}" if blind else f"{kind.capitalize()} {review.subject_id}",
        why=why_here_blind(review) if blind else why_here(review),
        status=state.status.value,
        reviewer=reviewer,
        passages=(),
        asks="outcome",
        choices=(),
        hint="",
        record=record_of(state, reviewer, blind=blind),
    )


def people_of(state: ReviewState, reviewer: str | None, labels: Mapping[str, str]) -> tuple[Said, ...]:
    """What people said, oldest first; of others only where the reviewer need not decide independently any more."""
    mine = may_see_people(state, reviewer)
    current = {one.decision_id for one in state.decisions}
    found = [
        Said(
            what="decision" if one.amends is None else "amendment",
            who=one.reviewer,
            at=one.decided_at,
            words=_words(one, labels),
            reason=one.reason,
            blind=one.blind,
            bulk=one.bulk,
            current=one.decision_id in current,
        )
        for one in state.history
        if mine or one.reviewer == reviewer
    ]
    found += [Said("comment", one.author, one.at, one.text) for one in state.comments if mine or one.author == reviewer]
    return tuple(sorted(found, key=lambda one: one.at))


def _words(decision: HumanDecision, labels: Mapping[str, str]) -> str:
    verdict = "" if decision.verdict is None else f": {written(decision.verdict, labels)}"
    scores = "".join(f", {name} {score:g}" for name, score in (decision.scores or {}).items())
    way = ", from a file" if decision.origin == "import" else ""
    return f"{decision.outcome.value.replace('_', ' ')}{verdict}{scores}{way}"


def written(verdict: AnyVerdict | None, labels: Mapping[str, str]) -> str:
    """A verdict with labels in the place of names."""
    if verdict is None:
        return "no verdict"
    text = str(verdict)
    return text if isinstance(verdict, Grade | Category) else by_label(text, labels)


def outcomes_about_verdict(*, given: bool, scores: bool) -> tuple[Choice, ...]:
    """Outcomes on a machine's verdict; without one there is nothing to approve or reject.

    Args:
        given: whether there is a verdict.
        scores: whether the machine scored criteria, so that these can be corrected.
    """
    found = []
    if given:
        found.append(Choice("outcome", "approve", "Approve", "a", "The verdict is right."))
        found.append(Choice("outcome", "reject", "Reject", "r", "The verdict is wrong."))
    if scores:
        found.append(Choice("outcome", "modify", "Modify", "m", "With the corrected scores below."))
    return (*found, CANNOT_TELL)


def number(value: float | None, unit: str = "") -> str:
    """A number in words; ``none`` where there is none."""
    return "none" if value is None else f"{value:.4g}{unit}"
