"""Sentences for what a machine decided and for why a review is here. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from metajudge.reviewables.sheet import Tone
from metajudge.reviews.review import Review, ReviewOrigin
from metajudge.types import SignalValue

ACTIONS = {
    "APPROVE": "approved",
    "REVIEW": "sent to review",
    "REVIEW_PRIORITY": "sent to review first",
    "REJECT": "rejected",
}

_SIGNALS: Mapping[tuple[str, str], tuple[str, Tone]] = {
    ("order", "agree"): ("In the other order the judge chose the same winner.", "good"),
    ("order", "disagree"): ("In the other order the judge chose another winner.", "bad"),
    ("order", "other_tied"): ("In the other order the judge called a tie.", "warn"),
    ("strength", "strong"): ("The judge called its winner much better.", ""),
    ("strength", "plain"): ("The judge called its winner better, not much better.", ""),
    ("strength", "tied"): ("The judge called it a tie.", "warn"),
    ("peers", "unanimous_for"): ("All other judges agree with this verdict.", "good"),
    ("peers", "for"): ("Most of the other judges agree with this verdict.", "good"),
    ("peers", "balanced"): ("The other judges are divided.", "warn"),
    ("peers", "against"): ("Most of the other judges disagree with this verdict.", "bad"),
    ("peers", "unanimous_against"): ("None of the other judges agrees with this verdict.", "bad"),
    ("repeats", "agree"): ("Asked again, the judge gave the same verdict.", ""),
    ("repeats", "mixed"): ("Asked again, the judge sometimes gave another verdict.", "warn"),
    ("repeats", "disagree"): ("Asked again, the judge gave another verdict.", "bad"),
    ("variants", "agree"): ("With other prompts the judge's model gave the same verdict.", ""),
    ("variants", "mixed"): ("With other prompts the judge's model sometimes gave another verdict.", "warn"),
    ("variants", "disagree"): ("With other prompts the judge's model gave another verdict.", "bad"),
    ("rationale", "agree"): ("The rationale ends with the recorded verdict.", "good"),
    ("rationale", "contradict"): ("The rationale ends with another verdict than the recorded one.", "bad"),
    ("has_explanation", "explained"): ("The judge explained its verdict.", ""),
    ("has_explanation", "brief"): ("The judge hardly explained its verdict.", "warn"),
    ("rationale_words", "counted"): ("Length of the rationale.", ""),
    ("length_ratio", "longer"): ("The preferred response is the longer one; judges tend to favour length.", "warn"),
    ("length_ratio", "shorter"): ("The preferred response is the shorter one.", ""),
    ("length_ratio", "equal"): ("The responses are of equal length.", ""),
}
_TITLES = {
    "order": "Other order",
    "strength": "Stated strength",
    "peers": "Other judges",
    "repeats": "Same judge again",
    "variants": "Other prompts of the model",
    "no_labels": "P(right), no labels",
    "rationale": "Rationale and verdict",
    "has_explanation": "Explanation",
    "rationale_words": "Rationale length",
    "length_ratio": "Response length",
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
    return [_signal_line(name, value) for name, value in (signals or {}).items()]


def _signal_line(name: str, value: SignalValue) -> SignalLine:
    title = _TITLES.get(name, name)
    if value.value is None:
        return SignalLine(title, f"None: {value.detail or value.state}.", "", "", present=False)
    words, tone = _SIGNALS.get((name, value.state), (f"{value.state}: {value.value:.3g}", ""))
    return SignalLine(title, words, value.detail, tone, present=True)


def why_here(review: Review) -> str:
    """Why a review is in the queue, as a sentence."""
    policy = "" if review.policy is None else f"policy {review.policy.name} "
    action = ACTIONS.get(review.action, review.action)
    match review.origin:
        case ReviewOrigin.POLICY:
            first = (policy and f"{policy}sent it here") or "sent here"
            soon = ", with priority" if review.action == "REVIEW_PRIORITY" else ""
            return f"{first[0].upper()}{first[1:]}{soon}{_closeness(review.margin)}."
        case ReviewOrigin.AUDIT:
            share = f"{100 * review.inclusion:.3g} % of decisions like this"
            return f"Review sample: {policy}{action} it, and {share} are checked by a person."
        case _:
            return "Sent for a person's decision."


def why_here_blind(review: Review) -> str:
    """The same without machine results."""
    return "Sent for a person's decision." if review.origin is ReviewOrigin.REQUEST else "Waits for a decision."


def _closeness(margin: float | None) -> str:
    if margin is None:
        return ""
    if margin == 0:
        return " (on the boundary to another decision)"
    return f" ({margin:.2g} from another decision)"
