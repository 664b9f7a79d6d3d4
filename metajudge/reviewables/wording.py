"""Sentences for why a review is here. Pure."""

from metajudge.reviews.review import Review, ReviewOrigin

ACTIONS = {
    "APPROVE": "approved",
    "REVIEW": "sent to review",
    "REVIEW_PRIORITY": "sent to review first",
    "REJECT": "rejected",
}


def why_here(review: Review, *, blind: bool) -> str:
    """Why a review is in the queue, as a sentence; a blind one has nothing of the machine's result."""
    if blind:
        return "Sent for a person's decision." if review.origin is ReviewOrigin.REQUEST else "Waits for a decision."
    policy = "" if review.policy is None else f"policy {review.policy.name} "
    action = ACTIONS.get(review.action, review.action)
    match review.origin:
        case ReviewOrigin.POLICY:
            first = (policy and f"{policy}sent it here") or "sent here"
            soon = ", with priority" if review.action == "REVIEW_PRIORITY" else ""
            near = "" if review.margin is None else f" ({review.margin:.2g} from another decision)"
            if review.margin == 0:
                near = " (on the boundary to another decision)"
            return f"{first[0].upper()}{first[1:]}{soon}{near}."
        case ReviewOrigin.AUDIT:
            share = f"{100 * review.inclusion:.3g} % of decisions like this"
            return f"Review sample: {policy}{action} it, and {share} are checked by a person."
        case _:
            return "Sent for a person's decision."
