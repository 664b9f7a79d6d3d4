"""People's decisions as labels for a calibration, with what is to be known about how they came about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metajudge.errors import InputError
from metajudge.reviews.agreement import label_of
from metajudge.reviews.review import HumanDecision, ReviewOrigin
from metajudge.store import Store
from metajudge.types import Right
from metajudge.types.label import Chosen, Drawn


@dataclass(frozen=True, slots=True)
class ReviewLabels:
    """Labels by judgment content.

    Attributes:
        right: judgment digest -> whether people judge the verdict right.
        weights: judgment digest -> inverse of the probability with which it was reviewed.
        selection: how just these came to be reviewed, in words.
        chosen: judgment digest -> drawn where it was in the random sample of a policy, picked where it was in doubt.
    """

    right: dict[str, bool]
    weights: dict[str, float]
    selection: str
    chosen: Mapping[str, Chosen] = field(default_factory=dict)


async def review_labels(store: Store, *, now: float, rule: Right | None = None) -> ReviewLabels:
    """All reviewed judgments on which people agree by majority.

    Args:
        rule: by which a corrected grade or category makes the judge's right or wrong; None for the default of its kind.

    Raises:
        InputError: no judgment has one.
    """
    right: dict[str, bool] = {}
    weights: dict[str, float] = {}
    decided: dict[str, list[HumanDecision]] = {}
    chosen: dict[str, Chosen] = {}
    async for state in store.reviews.every(now=now):
        review = state.review
        if review.subject != "judgment":
            continue
        of_judgment = decided.setdefault(review.subject_digest, [])
        of_judgment += state.decisions
        label = label_of(of_judgment, review.verdict, rule)
        if label is None:
            right.pop(review.subject_digest, None)
            continue
        # Several policies may have sent one judgment: it counts once, with its best chance of being seen.
        known = weights.get(review.subject_digest)
        right[review.subject_digest] = label
        weights[review.subject_digest] = min(1 / review.inclusion, known or float("inf"))
        if review.origin is ReviewOrigin.AUDIT:
            chosen[review.subject_digest] = Drawn(probability=review.inclusion)
        chosen.setdefault(review.subject_digest, "picked")
    if not right:
        raise InputError(
            "no review of a judgment has been decided yet, so there are no labels to fit on: decide some with "
            "`metajudge review next`"
        )
    audited = sum(isinstance(one, Drawn) and name in right for name, one in chosen.items())
    if audited == 0:
        how = (
            " of what a policy found doubtful; what it approved or rejected was never looked at, so these "
            "probabilities are biased there (vet --review-sample reviews a random fraction of it)"
        )
    else:
        how = (
            f", {audited} of them a random share of what a policy approved or rejected, weighted by the inverse of "
            "their chance of being reviewed; the figures below are over the reviewed, unweighted"
        )
    chosen = {name: one for name, one in chosen.items() if name in right}
    return ReviewLabels(right, weights, f"labels: {len(right)} human reviews{how}", chosen)
