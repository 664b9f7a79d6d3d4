"""Sentences for what a machine decided and for why a review is here. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from metajudge.files.packaged import packaged
from metajudge.reviewables.sheet import Tone
from metajudge.reviews.review import Review, ReviewOrigin
from metajudge.types import SignalValue

ACTIONS = {
    "APPROVE": "approved",
    "REVIEW": "sent to review",
    "REVIEW_PRIORITY": "sent to review first",
    "REJECT": "rejected",
}


@dataclass(frozen=True, slots=True)
class SignalLine:
    """A signal as a sentence; ``present`` is False if it is missing, and ``words`` give the reason."""

    title: str
    words: str
    detail: str
    tone: Tone
    present: bool


def signal_lines(signals: Mapping[str, SignalValue] | None) -> list[SignalLine]:
    """Every signal as a sentence."""
    found = []
    for name, value in (signals or {}).items():
        known = packaged("reviewables", "signals").get(name, {"title": name})
        if value.value is None:
            found.append(SignalLine(known["title"], f"None: {value.detail or value.state}.", "", "", present=False))
        else:
            words, tone = known.get(value.state, (f"{value.state}: {value.value:.3g}", ""))
            found.append(SignalLine(known["title"], words, value.detail, tone, present=True))
    return found


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
