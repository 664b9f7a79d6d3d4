"""One review: its sheet, and the form for a person's decision, amendment, comment or assignment."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import ValidationError

from metajudge.errors import InputError, ReviewError
from metajudge.reviewables.deciding import (
    carries_over,
    decides_blind,
    item_states,
    own_decision,
    reviewable_of,
    view_of,
)
from metajudge.reviewables.reviewable import Answer, Reviewable, has_decided
from metajudge.reviewables.sheet import Passage, Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import Outcome, ReviewState
from metajudge.store import AuditEntry, Store

from ..deps import CHANGE
from ..routes.reviews import amended_by, decided_by, existing, offer, remark
from .login import go_to
from .page_route import PageRoute, StoredVisit
from .review_queue import Wish, WishDep, decided_just_now, hides, named, progress_of, to_next

router = APIRouter(prefix="/reviews", include_in_schema=False, route_class=PageRoute)
PAGE, PAGES_BACK = 200, 5
"""How far the queue is searched for the previous case."""
UNDONE = "undone"
"""The reason of an amendment that was asked for by the key that undoes the last decision."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Form input that could not be recorded."""

    outcome: str = ""
    verdict: str = ""
    typed: str = ""
    scores: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a review's history."""

    at: float | None
    what: str
    who: str = ""
    reason: str = ""


@router.get("/{review_id}")
async def case(
    visit: StoredVisit,
    wish: WishDep,
    review_id: str,
    done: Annotated[str | None, Query(max_length=200)] = None,
    amending: Annotated[bool, Query(alias="amend")] = False,
    first: Annotated[str, Query(max_length=50)] = "",
    second: Annotated[str, Query(max_length=50)] = "",
) -> Response:
    """One review; ``first`` and ``second`` are the labels of two responses whose differences are marked."""
    state = await existing(visit, review_id)
    made = await decided_just_now(visit, done)
    return await _review_page(visit, wish, state, done=made, amending=amending, differing=(first, second))


@router.post("/{review_id}/decide")
async def decide_review(
    visit: StoredVisit, wish: WishDep, review_id: str, item: Annotated[bool, Form()] = False
) -> Response:
    """Applies the library's rules; refused input is shown again."""
    draft = await _draft(visit.request)
    try:
        answer = await _answer(visit, review_id, draft)
        whole = item and answer.outcome is None
        made = await decided_by(visit, review_id, visit.viewer.person, answer, whole_item=whole)
    except (ReviewError, InputError) as error:
        return await _refused(visit, wish, review_id, error, draft)
    following = wish.model_copy(update={"status": "open"})
    return await to_next(visit, following, done=review_id, item=made.recorded[0].state.review.item_id)


@router.post("/{review_id}/amend")
async def amend_review(visit: StoredVisit, wish: WishDep, review_id: str) -> Response:
    """Replaces the viewer's decision; the earlier one stays in the history."""
    draft = await _draft(visit.request)
    try:
        await amended_by(visit, review_id, visit.viewer.person, await _answer(visit, review_id, draft))
    except (ReviewError, InputError) as error:
        return await _refused(visit, wish, review_id, error, draft, amending=True)
    return go_to(f"/reviews/{review_id}{wish.query}")


@router.post("/{review_id}/comment")
async def comment(
    visit: StoredVisit, wish: WishDep, review_id: str, text: Annotated[str, Form(max_length=10_000)] = ""
) -> Response:
    """Adds a remark, which is kept and never changed."""
    await existing(visit, review_id)
    try:
        await remark(visit, review_id, named(visit), text.strip())
    except ValidationError:
        return await _refused(visit, wish, review_id, InputError("write the comment first"), Draft())
    return go_to(f"/reviews/{review_id}{wish.query}")


@router.post("/{review_id}/assign")
async def assign(
    visit: StoredVisit,
    wish: WishDep,
    review_id: str,
    reviewer: Annotated[str, Form(max_length=200)] = "",
    remove: Annotated[bool, Form()] = False,
) -> Response:
    """Offers the review to one person more, or takes it back."""
    await offer(visit, review_id, reviewer, by=visit.viewer.reviewer or visit.caller.name, remove=remove)
    return go_to(f"/reviews/{review_id}{wish.query}")


async def _draft(request: Request) -> Draft:
    form = await request.form()

    def text(name: str, longest: int) -> str:
        value = str(form.get(name, "")).strip()
        if len(value) > longest:
            raise InputError(f"{name}: at most {longest} characters")
        return value

    scores = {
        name.removeprefix("score."): str(value).strip() for name, value in form.items() if name.startswith("score.")
    }
    return Draft(text("outcome", 50), text("verdict", 1000), text("typed", 1000), scores, text("reason", 10_000))


async def _answer(visit: StoredVisit, review_id: str, draft: Draft) -> Answer:
    """The answer in a form: one button was pressed, or a verdict was typed.

    Raises:
        HTTPException: 404, no such review; 422, the person has given no name.
        InputError: neither.
    """
    blind = await hides(visit, await existing(visit, review_id))
    if not draft.outcome and not draft.verdict and not draft.typed:
        raise InputError("choose a decision first: nothing was recorded")
    named(visit)
    scores = tuple(f"{name}={value}" for name, value in draft.scores.items() if value)
    modifies = draft.outcome == Outcome.MODIFY
    verdict = (draft.verdict or draft.typed or None) if modifies or not draft.outcome else None
    return Answer(draft.outcome or None, verdict, scores if modifies else (), draft.reason, blind)


async def _refused(
    visit: StoredVisit,
    wish: Wish,
    review_id: str,
    error: InputError | ReviewError,
    draft: Draft,
    *,
    amending: bool = False,
) -> Response:
    status = 409 if isinstance(error, ReviewError) else 422
    state = await existing(visit, review_id)
    return await _review_page(
        visit, wish, state, http_status=status, problem=str(error), draft=draft, amending=amending
    )


async def _review_page(
    visit: StoredVisit,
    wish: Wish,
    state: ReviewState,
    *,
    amending: bool,
    draft: Draft = Draft(),
    differing: tuple[str, str] = ("", ""),
    problem: str | None = None,
    done: dict[str, Any] | None = None,
    http_status: int = 200,
) -> Response:
    store, viewer, review = visit.store, visit.viewer, state.review
    reviewer = viewer.reviewer
    blind = await hides(visit, state)
    one = await reviewable_of(store, state, whole=not blind)
    sheet = await view_of(store, one, viewer.person, blind=blind)
    decided = has_decided(state, reviewer)
    before, after = await _around(store, wish.filter(viewer), review.review_id)
    changes = await store.audit_log.entries(CHANGE, review.review_id)
    return visit.page(
        "review_case.html",
        http_status=http_status,
        sheet=sheet,
        state=state,
        events=_events(sheet, state, changes, reviewer),
        neighbours=await _item(store, one, reviewer),
        claim=next((held for held in state.claims if held.reviewer == reviewer), None),
        decided=decided,
        own=own_decision(state, reviewer or "") if decided and not sheet.blind else None,
        amending=amending and decided,
        undone=UNDONE if done is None else "",
        before=before,
        after=after,
        wish=wish,
        problem=problem,
        draft=draft,
        done=done,
        compared=_compared(sheet, differing),
        asked_for_differences=bool(differing[0]),
        progress=await progress_of(visit, wish),
        seen=not await decides_blind(store, review, viewer.person),
    )


def _compared(sheet: Sheet, labels: tuple[str, str]) -> list[Passage]:
    """The two responses with these labels, else the first two; none where fewer are shown."""
    responses = [one for one in sheet.passages if one.kind == "response"]
    known = {one.label: one for one in responses}
    chosen = [known[label] for label in labels if label in known]
    return chosen if len(chosen) == 2 else responses[:2] if len(responses) > 1 else []


async def _item(store: Store, one: Reviewable, reviewer: str | None) -> list[dict[str, Any]]:
    """The other reviews of the item, and whether an own verdict carries over to each, which is not decided yet."""
    found = []
    for state in await item_states(store, one.state.review.item_id):
        if state.review.review_id != one.state.review.review_id:
            free = state.status != "decided" and not has_decided(state, reviewer)
            same = free and carries_over(one, await reviewable_of(store, state, whole=False))
            found.append({"state": state, "carries": same})
    return found


def _events(sheet: Sheet, state: ReviewState, changes: Sequence[AuditEntry], reviewer: str | None) -> list[Event]:
    """What happened to a review, oldest first; of others only what the sheet shows."""
    words = {"review.claim": "Claimed", "review.release": "Released"}
    found = [Event(state.review.opened_at, "Added to the queue")]
    known = {reviewer, *(one.who for one in sheet.people)}
    for entry in changes:
        who = str(entry.payload.get("reviewer", ""))
        what = words.get(entry.payload["action"])
        if what is not None and who in known:
            found.append(Event(entry.recorded_at, what, who))
    for one in sheet.people:
        noted = {", blind": one.blind, ", in bulk": one.bulk, ", replaced": not one.current}
        marks = "".join(mark for mark, is_so in noted.items() if is_so)
        what = {"decision": "Decided: ", "amendment": "Amended: ", "comment": "Comment: "}[one.what]
        found.append(Event(one.at, f"{what}{one.words}{marks}", one.who, one.reason))
    hidden = len(state.decisions) - len({one.who for one in sheet.people if one.what != "comment"})
    found += [Event(None, "Decided; visible after your own decision")] * max(0, hidden)
    return sorted(found, key=lambda event: event.at or 0.0)


async def _around(store: Store, wanted: ReviewFilter, review_id: str) -> tuple[str | None, str | None]:
    """The reviews before and after one in the queue; None if missing or too far away."""
    now = time.time()
    cursor, before = None, None
    for _ in range(PAGES_BACK):
        found = await store.reviews.page(wanted, now=now, limit=PAGE, cursor=cursor)
        names = [one.review.review_id for one in found.reviews]
        if review_id in names:
            at = names.index(review_id)
            before = names[at - 1] if at else before
            if at + 1 < len(names):
                return before, names[at + 1]
            break
        cursor, before = found.next_cursor, names[-1] if found.next_cursor else None
        if cursor is None:
            break
    else:
        before = None
    following = await store.reviews.page(wanted, now=now, limit=1, cursor=review_id)
    return before, following.reviews[0].review.review_id if following.reviews else None
