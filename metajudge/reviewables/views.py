"""Which view a person gets: the one place where blindness is decided, for terminal, pages, tables and HTTP."""

import time

from metajudge.reviewables.parts import may_see_people
from metajudge.reviewables.reviewable import Reviewable
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.review import Review, ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker, has_seen, remember_seen
from metajudge.store.protocol import Store
from metajudge.store.undecided import undecided_by


async def view_of(store: Store, one: Reviewable, person: Onlooker, *, blind: bool) -> Sheet:
    """The sheet a person may see; a full one is recorded as seen, so that no later decision counts as blind.

    Args:
        blind: whether a blind one is wanted. Where the policy wants decisions blind, every sheet is blind until the
            person has decided.
    """
    # Somebody with a session and no name yet may still be one who decides.
    name = "" if person.reviewer is None and person.session is not None else person.reviewer
    if blind or await must_be_blind(store, one.state, person.reviewer):
        return one.blind_view(name)
    if name is not None:
        await remember_seen(store.audit_log, [subject_of(one.state.review)], person, now=time.time())
    return one.full_view(name)


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
