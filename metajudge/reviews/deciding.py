"""From what a reviewer says to a decision record."""

import math
from collections.abc import Sequence

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.yaml_documents import did_you_mean, name_list
from metajudge.reviews.agreement import same_answer
from metajudge.reviews.review import HumanDecision, Outcome, Review, reviewer_name
from metajudge.types import AnyVerdict, Category, Grade, Judgment, parse_verdict
from metajudge.types.judgment import Scale
from metajudge.types.label import passing


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

    A verdict without an outcome is a blind one, given before the judge's was seen: with the same winner, grade or
    category it approves, with another one it modifies. Where the judge gave none, a person's own verdict modifies, and
    there is nothing to approve or reject.

    Args:
        verdict: as it is written (``A>B``; beside a grade ``4``, beside a category ``pass``), or a verdict.
        scores: corrected scores, ``CRITERION=NUMBER`` each.

    Raises:
        InputError: a blank name, an unknown outcome, a verdict on other responses, of another kind or off the declared
            scale, a score that is no number or given twice; with what to write.
    """
    person, corrected = reviewer_name(reviewer), _verdict(verdict, review, judgment)
    if outcome is None:
        if corrected is None:
            raise InputError(f"say --outcome ({', '.join(Outcome)}), or your own --verdict to decide blind")
        if judgment is None:
            what = "a case has no verdict" if review.subject == "case" else "there is no verdict in the store"
            hint = f"give --outcome ({', '.join(Outcome)})"
            raise InputError(f"review {review.review_id}: {what} to compare yours with: {hint}")
        alike = judgment.verdict is not None and same_answer(judgment.verdict, corrected)
        outcome, blind = Outcome.APPROVE if alike else Outcome.MODIFY, True
        corrected = None if outcome == Outcome.APPROVE else corrected
    if outcome not in list(Outcome):
        raise InputError(f"no such outcome {outcome!r}: one of {', '.join(Outcome)}")
    if judgment is not None and judgment.verdict is None and outcome in (Outcome.APPROVE, Outcome.REJECT):
        raise InputError(
            f"review {review.review_id}: the judge gave no verdict, so there is nothing to {outcome}: give a verdict "
            "of your own, or cannot_tell"
        )
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
        InputError: a criterion the machine did not score, a score off the scale, a response the verdict did not name,
            a grade or category off the declared scale.
    """
    where = f"review {review.review_id}"
    if decision.verdict is not None:
        _check_on_scale(decision.verdict, review.answer_scale, where)
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


def in_kind_of(review: Review, decision: HumanDecision) -> HumanDecision:
    """A decision whose corrected verdict is of the judge's kind: a table has ``4`` and ``true`` as text.

    Raises:
        InputError: it cannot be read so.
    """
    if decision.verdict is None or not isinstance(review.verdict, Grade | Category):
        return decision
    return decision.model_copy(update={"verdict": _single(str(decision.verdict), review.verdict)})


def _verdict(text: str | AnyVerdict | None, review: Review, judgment: Judgment | None) -> AnyVerdict | None:
    if text is None:
        return None
    like = review.verdict if judgment is None else judgment.verdict
    if isinstance(like, Grade | Category):
        found: AnyVerdict = _single(str(text), like)
        if judgment is not None:
            _check_on_scale(found, judgment.item.scale, f"review {review.review_id}")
        return found
    try:
        found = parse_verdict(text)
        if isinstance(found, Category):
            raise ValueError("the judge compared responses")
    except (ValueError, ValidationError) as error:
        raise InputError(f"{text!r} is not a verdict: write one such as A>B, A=B or B>>A ({error})") from None
    if judgment is not None:
        unknown = [name for name in found.ids if name not in judgment.item.responses]
        if unknown:
            there = ", ".join(judgment.item.responses)
            raise InputError(f"the verdict {text!r} names {', '.join(unknown)}; the responses are {there}")
    return found


def _single(text: str, like: Grade | Category) -> Grade | Category:
    """A grade or a category as a person writes it, of the judge's kind."""
    word = text.strip()
    if isinstance(like, Grade):
        value = number_in(word)
        if value is None:
            raise InputError(f"{text!r} is not a grade: write a number, such as {like}")
        return Grade(value)
    if not isinstance(like.value, bool):
        if not word:
            raise InputError(f"a category is missing: write one, such as {like}")
        return Category(word)
    side = passing(Category(word))
    if side is None:
        raise InputError(f"{text!r} is not an answer: the judge said {like}, so write true or false")
    return Category(side)


def _check_on_scale(verdict: AnyVerdict, scale: Scale | None, where: str) -> None:
    if scale is None:
        return
    named = isinstance(scale[0], str)
    if isinstance(verdict, Grade) and not named and not float(scale[0]) <= verdict.value <= float(scale[1]):
        ends = f"{float(scale[0]):g} to {float(scale[1]):g}"
        raise InputError(f"{where}: the grade {verdict} lies off the scale from {ends}")
    if isinstance(verdict, Category) and named and verdict.value not in scale:
        raise InputError(f"{where}: the category {verdict} is not one of {name_list(list(map(str, scale)))}")


def _scores(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        score = number_in(value)
        if not name or score is None:
            raise InputError(f"{text!r} is not a score: write CRITERION=NUMBER, such as accuracy=2")
        if name in found:
            raise InputError(f"{name} is given twice, as {found[name]:g} and {score:g}: give one score per criterion")
        found[name] = score
    return found


def number_in(text: str | float) -> float | None:
    """The finite number of a text; None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
