"""From a review to what a person may see of it, and from what they say to its decision: one way for every surface."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metajudge.errors import InputError, ReviewError
from metajudge.reviewables.cases import CaseReviewable
from metajudge.reviewables.clashes import ClashReviewable
from metajudge.reviewables.files import AnswerRow
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.reviewable import Answer, Reviewable, has_decided, may_see_people
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import HumanDecision, Review, ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker, has_seen, remember_seen
from metajudge.store import Store
from metajudge.store.overview import undecided_by
from metajudge.store.redaction import without_label
from metajudge.types import Assessment

OTHER = "it is about other responses, another question or another instruction"
ITEM_REVIEWS = 200
"""Reviews of one item that are looked at together."""


async def view_of(store: Store, one: Reviewable, person: Onlooker, *, blind: bool) -> Sheet:
    """The sheet a person may see; a full one is recorded as seen, so that no later decision counts as blind.

    Args:
        blind: whether a blind one is wanted. Where the policy wants decisions blind, every sheet is blind until the
            person has decided.
    """
    # A session without a name yet may still become a reviewer who decides.
    name = "" if person.reviewer is None and person.session is not None else person.reviewer
    if blind or await must_be_blind(store, one.state, person.reviewer):
        return one.view(name, blind=True)
    if name is not None:
        await remember_seen(store.audit_log, [subject_of(one.state.review)], person, now=time.time())
    return one.view(name, blind=False)


async def must_be_blind(store: Store, state: ReviewState, reviewer: str | None) -> bool:
    """Whether the policy hides the machine's result from a person: until they have decided, or all who were to have."""
    return state.review.blind and not await is_settled(store, state, reviewer)


async def is_settled(store: Store, state: ReviewState, reviewer: str | None) -> bool:
    """Whether a person can no longer decide anything on the subject of a review.

    Another policy may have sent the same judgment to review once more.
    """
    decided = state.status is ReviewStatus.DECIDED
    if not decided and (reviewer is None or not may_see_people(state, reviewer)):
        return False
    if state.review.subject != "judgment":
        return True
    undecided = await store.ask(lambda connection: undecided_by(connection, reviewer))
    return state.review.subject_id not in undecided.subjects


async def decides_blind(store: Store, review: Review, person: Onlooker) -> bool:
    """Whether a person has not been shown the machine's result on a review's subject."""
    return not await has_seen(store.audit_log, subject_of(review), person)


def subject_of(review: Review) -> str:
    """The subject of a review in the record of what was seen; the same for every review of a judgment."""
    return review.subject_id if review.subject == "judgment" else review.subject_digest


async def reviewable_of(store: Store, state: ReviewState, *, whole: bool = True) -> Reviewable:
    """The reviewable of a review.

    Args:
        whole: with what meta-judges said of a judgment, for a full view; False for a list, or a blind view.
    """
    review = state.review
    if review.kind != "judgment":
        return ClashReviewable(state) if review.kind == "clash" else CaseReviewable(state)
    judgment = await store.find_judgment(review.subject_digest)
    if judgment is None:
        return JudgmentReviewable(state, None)
    return JudgmentReviewable(state, without_label(judgment), await _assessment(store, state) if whole else None)


async def existing_state(store: Store, review_id: str) -> ReviewState:
    """The state of a review.

    Raises:
        ReviewError: there is none (reason ``unknown``).
    """
    state = await store.reviews.get(review_id, now=time.time())
    if state is None:
        raise ReviewError(f"there is no review {review_id!r}: `metajudge review list` shows those there are", "unknown")
    return state


async def item_states(store: Store, item_id: str) -> Sequence[ReviewState]:
    """All reviews of an item, in the order of the queue; at most :data:`ITEM_REVIEWS`."""
    page = await store.reviews.page(ReviewFilter(item_id=item_id), now=time.time(), limit=ITEM_REVIEWS)
    return page.reviews


async def _assessment(store: Store, state: ReviewState) -> Assessment | None:
    """The newest assessment decided by the review's policy, else the newest."""
    review = state.review
    shown = await store.show(review.subject_id) or {}
    rows = [row for name in ("history", "assessments") for row in shown.get(name, ())]
    own = [row["payload"] for row in rows if row["judgment_digest"] == review.subject_digest]
    found = [Assessment.model_validate(payload) for payload in own]
    policy = None if review.policy is None else review.policy.digest
    decided = [one for one in found if one.decision is not None and one.decision.policy_digest == policy]
    return next(reversed(decided or found), None)


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


async def decide(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Recorded:
    """Records a decision; repeating it changes nothing.

    It is blind where the person was not shown the machine's result before, whatever they say.

    Raises:
        InputError: the answer cannot be recorded, or no reviewer is named.
        ReviewError: there is no such review; and those of the queue.
    """
    made, before = await _decision(store, review_id, person, answer)
    state = await store.reviews.decide(made, now=time.time())
    return replace(_recorded(state, before, made), seen=why_seen(before.review.blind, answer, made))


async def amend(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Recorded:
    """Replaces a person's decision by another one, with a reason; the earlier one stays in the history.

    It is blind where the person still was not shown the machine's result.

    Raises:
        InputError, ReviewError: as in :func:`decide`.
    """
    made, before = await _decision(store, review_id, person, answer)
    return _recorded(await store.reviews.amend(made, now=time.time()), before, made)


async def _decision(
    store: Store, review_id: str, person: Onlooker, answer: Answer
) -> tuple[HumanDecision, ReviewState]:
    """The decision record of a person's answer, and the review as it is before."""
    if person.reviewer is None:
        raise InputError("no reviewer is named: give the reviewer's name")
    one = await reviewable_of(store, await existing_state(store, review_id), whole=False)
    claimed = answer.blind or (answer.outcome is None and answer.verdict is not None)
    blind = claimed and await decides_blind(store, one.state.review, person)
    return one.decide(person.reviewer, replace(answer, blind=blind), decided_at=time.time()), one.state


def _recorded(state: ReviewState, before: ReviewState, made: HumanDecision) -> Recorded:
    return Recorded(state, own_decision(state, made.reviewer), len(state.history) > len(before.history))


async def decide_several(store: Store, review_ids: Sequence[str], person: Onlooker, answer: Answer) -> Carried:
    """Records one answer on several reviews that the person has in hand, which are those they were shown.

    Every decision is recorded as made in bulk. An own verdict holds only for reviews of the same responses to the same
    question; an outcome holds for each.

    Raises:
        InputError: none is named, one is named twice, or corrected scores are given, which belong to one review.
        ReviewError: there is no such review; nothing was recorded.
    """
    if not review_ids or len(set(review_ids)) < len(review_ids):
        raise InputError("name each review once")
    if answer.scores:
        raise InputError("corrected scores belong to one review: decide these one by one")
    states = [await existing_state(store, name) for name in review_ids]
    first = await reviewable_of(store, states[0], whole=False)
    return await _carried(store, first, states, person, replace(_in_names(first, answer), bulk=len(states) > 1))


async def decide_item(store: Store, review_id: str, person: Onlooker, answer: Answer) -> Carried:
    """Records an own verdict on a review, and on all others of the item for which it says the same.

    It carries over where the others are about the same responses to the same question, and not yet decided by the
    person. An outcome does not: that one verdict is right says nothing of another judge's.

    Raises:
        InputError, ReviewError: nothing was recorded.
    """
    if answer.outcome is not None or answer.verdict is None:
        raise InputError("only a verdict of your own holds for all reviews of an item; an outcome is about one of them")
    one = await reviewable_of(store, await existing_state(store, review_id), whole=False)
    given = _in_names(one, answer)
    first = await decide(store, review_id, person, given)
    states = await item_states(store, one.state.review.item_id)
    others = [
        state
        for state in states
        if state.review.review_id != review_id and not has_decided(state, first.decision.reviewer)
    ]
    more = await _carried(store, one, others, person, replace(given, bulk=True), claimed_by=first.decision.reviewer)
    return Carried((first, *more.recorded), more.left_out)


async def _carried(
    store: Store,
    first: Reviewable,
    states: Sequence[ReviewState],
    person: Onlooker,
    answer: Answer,
    claimed_by: str | None = None,
) -> Carried:
    """Records an answer on each review for which it says the same as on the first, claimed before if so asked."""
    recorded, left_out = [], {}
    for state in states:
        name = state.review.review_id
        if answer.outcome is None and not carries_over(first, await reviewable_of(store, state, whole=False)):
            left_out[name] = OTHER
            continue
        try:
            if claimed_by is not None:
                await store.reviews.claim(claimed_by, now=time.time(), review_id=name)
            recorded.append(await decide(store, name, person, answer))
        except (InputError, ReviewError) as error:
            left_out[name] = str(error)
    return Carried(tuple(recorded), left_out)


def carries_over(first: Reviewable, second: Reviewable) -> bool:
    """Whether an own verdict on one says the same of the other.

    It does for judgments of the same responses to the same question under the same instruction, by the same kind of
    answer; and for clashes of the same answers to the same question. Cases have no verdict.
    """
    if first.kind == second.kind == "judgment":
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
    if one.kind == "judgment":
        judge = f"The judge's verdict was {one.verdict if one.verdict is not None else 'none'}"
    else:
        judge = f"The panel's verdict was {review.verdict}" if review.verdict is not None else "There was no verdict"
    names = [f"{label} is {name}" for label, name in one.labels.items()]
    return f"{', '.join(names)}{'. ' if names else ''}{judge}; the policy's action was {review.action}."


def _in_names(one: Reviewable, answer: Answer) -> Answer:
    """An answer with a verdict in terms of names: labels of another review may be others."""
    verdict = answer.verdict
    return replace(answer, verdict=one.named(verdict)) if isinstance(verdict, str) else answer


async def import_answers(store: Store, rows: Sequence[AnswerRow]) -> tuple[int, tuple[str, ...]]:
    """Records answers given elsewhere, all or none, without claims; those already there are skipped.

    Returns:
        How many are new, and a sentence for each row of a blind review that does not count as blind.

    Raises:
        InputError: a row cannot be recorded; with file and line.
        ReviewError: a review is unknown, was decided, or by the same person differently.
    """
    made, seen = [], []
    for row in rows:
        one = await reviewable_of(store, await existing_state(store, row.review_id), whole=False)
        blind = row.answer.outcome is None and await decides_blind(store, one.state.review, Onlooker(row.reviewer))
        at = time.time() if row.decided_at is None else row.decided_at
        try:
            decision = one.decide(row.reviewer, replace(row.answer, blind=blind), decided_at=at)
        except InputError as error:
            raise InputError(f"{row.where}: {error}") from None
        made.append(decision.model_copy(update={"origin": "import"}))
        why = why_seen(row.blind or one.state.review.blind, row.answer, decision)
        seen += [] if why is None else [f"{row.where}: review {row.review_id} {why}"]
    return await store.reviews.import_decisions(made), tuple(seen)
