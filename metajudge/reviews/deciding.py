"""From what a reviewer says to a decision record."""

import math
from collections.abc import Sequence

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.reviews.review import HumanDecision, Outcome, Review, reviewer_name
from metajudge.rubric.model import did_you_mean, name_list
from metajudge.types import AnyVerdict, Judgment, parse_verdict


def decision_from(
    review: Review,
    judgment: Judgment | None,
    reviewer: str,
    outcome: str | None,
    verdict: str | AnyVerdict | None = None,
    scores: Sequence[str] = (),
    *,
    reason: str = "",
    decided_at: float,
    blind: bool = False,
) -> HumanDecision:
    """A decision record.

    A verdict without an outcome is a blind one, given before the judge's was seen: with the same winner it approves,
    with another one it modifies.

    Args:
        verdict: as it is written (``A>B``), or a verdict, which may be a ranking or a grade.
        scores: corrected scores, ``CRITERION=NUMBER`` each.

    Raises:
        InputError: a blank name, an unknown outcome, a verdict on other responses, a score that is no number or given
            twice; with what to write.
    """
    person, corrected = reviewer_name(reviewer), _verdict(verdict, judgment)
    if outcome is None:
        outcome, corrected, blind = _compared(review, judgment, corrected), corrected, True
        if outcome == Outcome.APPROVE:
            corrected = None
    if outcome not in list(Outcome):
        raise InputError(f"no such outcome {outcome!r}: one of {', '.join(Outcome)}")
    try:
        return HumanDecision(
            review_id=review.review_id,
            reviewer=person,
            outcome=Outcome(outcome),
            verdict=corrected,
            scores=_scores(scores) or None,
            reason=reason,
            decided_at=decided_at,
            blind=blind,
            policy=review.policy,
        )
    except ValidationError as error:
        raise InputError(error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")) from None


def check_corrections(review: Review, decision: HumanDecision) -> None:
    """Checks that corrected scores and verdict are about what the review shows, so that none is lost unseen later.

    Raises:
        InputError: a criterion the machine did not score, a score off the scale, a response the verdict did not name.
    """
    where = f"review {review.review_id}"
    if decision.verdict is not None and review.verdict is not None:
        unknown = [name for name in decision.verdict.ids if name not in review.verdict.ids]
        if unknown:
            raise InputError(
                f"{where}: the verdict {decision.verdict} names {name_list(unknown)}; the judge's was {review.verdict}"
            )
    for name, score in (decision.scores or {}).items():
        if review.criteria and name not in review.criteria:
            raise InputError(
                f"{where}: no criterion {name!r} was scored, only {name_list(sorted(review.criteria))}"
                f"{did_you_mean(name, sorted(review.criteria))}"
            )
        if review.scale is not None and not review.scale[0] <= score <= review.scale[1]:
            raise InputError(
                f"{where}: {name}={score:g} lies off the scale from {review.scale[0]:g} to {review.scale[1]:g}"
            )


def _verdict(text: str | AnyVerdict | None, judgment: Judgment | None) -> AnyVerdict | None:
    if text is None:
        return None
    try:
        found = parse_verdict(text)
    except (ValueError, ValidationError) as error:
        raise InputError(f"{text!r} is not a verdict: write one such as A>B, A=B or B>>A ({error})") from None
    if judgment is not None:
        unknown = [name for name in found.ids if name not in judgment.item.responses]
        if unknown:
            there = ", ".join(judgment.item.responses)
            raise InputError(f"the verdict {text!r} names {', '.join(unknown)}; the responses are {there}")
    return found


def _compared(review: Review, judgment: Judgment | None, verdict: AnyVerdict | None) -> Outcome:
    if verdict is None:
        raise InputError(f"say --outcome ({', '.join(Outcome)}), or your own --verdict to decide blind")
    if judgment is None or judgment.verdict is None:
        raise InputError(f"review {review.review_id} has no verdict to compare yours with: give --outcome")
    return Outcome.APPROVE if verdict.winner == judgment.verdict.winner else Outcome.MODIFY


def _scores(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, number = _score(text)
        if name in found:
            raise InputError(f"{name} is given twice, as {found[name]:g} and {number:g}: give one score per criterion")
        found[name] = number
    return found


def _score(text: str) -> tuple[str, float]:
    name, sign, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not sign or not name or not math.isfinite(number):
        raise InputError(f"{text!r} is not a score: write CRITERION=NUMBER, such as accuracy=2")
    return name, number
