"""Recording what people say: one way for the terminal, pages, HTTP and files."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metajudge.errors import InputError, ReviewError
from metajudge.reviewables.files import AnswerRow
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.opening import decides_blind, existing_state, item_states, reviewable_of
from metajudge.reviewables.reviewable import Answer, Reviewable
from metajudge.reviews.review import HumanDecision, ReviewState
from metajudge.reviews.seen import Onlooker
from metajudge.store.protocol import Store

OTHER = "it is about other responses, another question or another instruction"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of an answer.

    Attributes:
        new: False where the same was recorded before.
        seen: why it does not count as blind, where it was asked for so; else None.
    """

    state: ReviewState
    decision: HumanDecision
    new: bool
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of an answer to several reviews.

    Attributes:
        left_out: review -> why the answer does not hold for it, or could not be recorded.
    """

    recorded: tuple[Recorded, ...]
    left_out: dict[str, str]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a file of answers.

    Attributes:
        new: answers recorded; the others were there before.
        seen: a sentence for each row of a blind review that does not count as blind.
    """

    new: int
    seen: tuple[str, ...]


def why_seen(asked: bool, answer: Answer, made: HumanDecision) -> str | None:
    """Why a decision that should be blind counts as made after the machine's result was seen; None where it does not.

    Args:
        asked: whether the policy, or the sheet that was filled in, asks for a blind decision.
    """
    if not asked or made.blind:
        return None
    if answer.outcome is None:
        return f"counts as seen: {made.reviewer} was shown the machine's result before"
    outcome = f"an outcome ({made.outcome.value}) is about the machine's result"
    return f"counts as seen: {outcome}; an own verdict alone is blind"


async def decision_on(store: Store, review_id: str, person: Onlooker, answer: Answer) -> HumanDecision:
    """The decision record of a person's answer.

    It is blind where the person was not shown the machine's result before, whatever they say.

    Raises:
        InputError: the answer cannot be recorded, or nobody is named.
        ReviewError: there is no such review.
    """
    if person.reviewer is None:
        raise InputError("nobody is named who decides: give the reviewer's name")
    state = await existing_state(store, review_id)
    one = await reviewable_of(store, state, whole=False)
    claimed = answer.blind or (answer.outcome is None and answer.verdict is not None)
    blind = claimed and await decides_blind(store, state.review, person)
    return one.decide(person.reviewer, replace(answer, blind=blind), decided_at=time.time())


async def decide(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Recorded:
    """Records a decision; repeating it changes nothing.

    Raises:
        InputError, ReviewError: as in :func:`decision_on`, and those of the queue.
    """
    made = await decision_on(store, review_id, person, answer)
    before = await existing_state(store, review_id)
    state = await store.reviews.decide(made, now=time.time())
    seen = why_seen(before.review.blind, answer, made)
    return Recorded(state, own_decision(state, made.reviewer), len(state.history) > len(before.history), seen)


async def amend(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Recorded:
    """Replaces a person's decision by another one, with a reason; the earlier one stays in the history.

    It is blind where the person still was not shown the machine's result.

    Raises:
        InputError, ReviewError: as in :func:`decision_on`, and those of the queue.
    """
    made = await decision_on(store, review_id, person, answer)
    before = await existing_state(store, review_id)
    state = await store.reviews.amend(made, now=time.time())
    return Recorded(state, own_decision(state, made.reviewer), len(state.history) > len(before.history))


async def decide_several(store: Store, review_ids: Sequence[str], person: Onlooker, answer: Answer) -> Carried:
    """Records one answer on several reviews that the person has in hand, which are those they were shown.

    Every decision is recorded as made in bulk. An own verdict holds only for reviews of the same responses to the same
    question; an outcome holds for each.

    Raises:
        InputError: none is named, one is named twice, or corrected scores are given, which belong to one review.
    """
    if not review_ids or len(set(review_ids)) < len(review_ids):
        raise InputError("name each review once")
    if answer.scores:
        raise InputError("corrected scores belong to one review: decide these one by one")
    first = await _reviewable(store, review_ids[0])
    given = replace(_in_names(first, answer), bulk=len(review_ids) > 1)
    recorded, left_out = [], {}
    for review_id in review_ids:
        one = await _reviewable(store, review_id)
        if answer.outcome is None and one is not first and not carries_over(first, one):
            left_out[review_id] = OTHER
            continue
        try:
            recorded.append(await decide(store, review_id, person, given))
        except (InputError, ReviewError) as error:
            left_out[review_id] = str(error)
    return Carried(tuple(recorded), left_out)


async def decide_item(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Carried:
    """Records an own verdict on a review, and on all others of the item for which it says the same.

    It carries over where the others are about the same responses to the same question, and not yet decided by the
    person. An outcome does not: that one verdict is right says nothing of another judge's.

    Raises:
        InputError, ReviewError: nothing was recorded.
    """
    if answer.outcome is not None or answer.verdict is None:
        raise InputError("only a verdict of your own holds for all reviews of an item; an outcome is about one of them")
    one = await _reviewable(store, review_id)
    given = _in_names(one, answer)
    first = await decide(store, review_id, person, given)
    reviewer = first.decision.reviewer
    recorded, left_out = [first], {}
    for other in await item_states(store, one.state.review.item_id):
        name = other.review.review_id
        if name == review_id or any(made.reviewer == reviewer for made in other.decisions):
            continue
        if not carries_over(one, await reviewable_of(store, other, whole=False)):
            left_out[name] = OTHER
            continue
        try:
            await store.reviews.claim(reviewer, now=time.time(), review_id=name)
            recorded.append(await decide(store, name, person, replace(given, bulk=True)))
        except (InputError, ReviewError) as error:
            left_out[name] = str(error)
    return Carried(tuple(recorded), left_out)


def carries_over(first: Reviewable, second: Reviewable) -> bool:
    """Whether an own verdict on one says the same of the other.

    It does for judgments of the same responses to the same question under the same instruction, by the same kind of
    answer; and for clashes of the same answers to the same question. Cases have no verdict.
    """
    if isinstance(first, JudgmentReviewable) and isinstance(second, JudgmentReviewable):
        one, other = first.judgment, second.judgment
        if one is None or other is None or first.asks != second.asks or first.labels != second.labels:
            return False
        return one.item.digest == other.item.digest and one.instruction == other.instruction
    questions = (first.state.review.question, second.state.review.question)
    return first.kind == second.kind == "clash" and questions[0] is not None and questions[0] == questions[1]


def own_decision(state: ReviewState, reviewer: str) -> HumanDecision:
    """A person's newest decision."""
    return next(one for one in state.decisions if one.reviewer == reviewer)


def machine_said(one: Reviewable) -> str:
    """What a person is told after a blind decision: the machine's result and the names behind the labels."""
    review = one.state.review
    if isinstance(one, JudgmentReviewable):
        verdict = review.verdict if one.judgment is None else one.judgment.verdict
        judge = f"The judge's verdict was {verdict if verdict is not None else 'none'}"
    else:
        judge = f"The panel's verdict was {review.verdict}" if review.verdict is not None else "There was no verdict"
    names = [f"{label} is {name}" for label, name in getattr(one, "labels", {}).items()]
    return f"{', '.join(names)}{'. ' if names else ''}{judge}; the policy's action was {review.action}."


async def _reviewable(store: Store, review_id: str) -> Reviewable:
    return await reviewable_of(store, await existing_state(store, review_id), whole=False)


def _in_names(one: Reviewable, answer: Answer) -> Answer:
    """An answer with a verdict in terms of names: labels of another review may be others."""
    verdict = answer.verdict
    return replace(answer, verdict=one.named(verdict)) if isinstance(verdict, str) else answer


async def import_answers(store: Store, rows: Sequence[AnswerRow]) -> Imported:
    """Records answers given elsewhere, all or none, without claims; those already there are skipped.

    Raises:
        InputError: a row cannot be recorded; with file and line.
        ReviewError: a review is unknown, was decided, or by the same person differently.
    """
    made, seen = [], []
    for row in rows:
        one = await _reviewable(store, row.review_id)
        person = Onlooker(row.reviewer)
        claimed = row.answer.outcome is None
        blind = claimed and await decides_blind(store, one.state.review, person)
        at = time.time() if row.decided_at is None else row.decided_at
        try:
            decision = one.decide(row.reviewer, replace(row.answer, blind=blind), decided_at=at)
        except InputError as error:
            raise InputError(f"{row.where}: {error}") from None
        made.append(decision.model_copy(update={"origin": "import"}))
        why = why_seen(row.blind or one.state.review.blind, row.answer, decision)
        seen += [] if why is None else [f"{row.where}: review {row.review_id} {why}"]
    return Imported(await store.reviews.import_decisions(made), tuple(seen))
