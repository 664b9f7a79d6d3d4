"""One review: all its details, and the form for a person's decision."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from metajudge.clashes.reviews import is_clash
from metajudge.errors import InputError, ReviewError
from metajudge.reviews import HumanDecision, Outcome, ReviewState
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.queue import ReviewFilter
from metajudge.store.protocol import Store
from metajudge.store.redaction import without_label
from metajudge.types import AnyVerdict, Assessment, Category, Grade, Judgment

from ..audit import KIND as CHANGE
from ..audit import Action
from ..deps import ServiceDep, StoreDep
from ..routes.reviews import existing, look_for_patterns
from .access import ChangesDep, Viewer, ViewerDep, decides_blind, show_machine
from .case_view import (
    VerdictChoice,
    case_texts,
    has_decided,
    history,
    may_see_decisions,
    panel_of,
    sides_of,
    verdict_choices,
)
from .login import go_to
from .page_route import PageRoute
from .rendering import page
from .review_queue import Done, Wish, WishDep, decided_just_now, is_settled, named, subject_of, to_next
from .wording import OUTCOMES, verdict_words, why_here, why_here_blind

router = APIRouter(prefix="/reviews", include_in_schema=False, route_class=PageRoute)
PAGE, PAGES_BACK = 200, 5
"""How far the queue is searched for the previous case."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Form input that could not be recorded."""

    outcome: str = ""
    verdict: str = ""
    grade: str = ""
    scores: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A review and its subject.

    Attributes:
        assessments: (time, assessment), the newest of each panel.
        earlier: the versions these replaced, oldest first.
    """

    state: ReviewState
    judgment: Judgment | None
    assessments: Sequence[tuple[float, Assessment]] = ()
    earlier: Sequence[tuple[float, Assessment]] = ()


@router.get("/{review_id}")
async def case(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    wish: WishDep,
    review_id: str,
    done: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    found = await _found(store, review_id)
    if is_clash(found.state.review):
        return go_to(f"/clash/{review_id}")
    return await _case_page(request, viewer, store, wish, found, done=await decided_just_now(store, viewer, done))


@router.post("/{review_id}/decide")
async def decide(
    request: Request,
    running: ServiceDep,
    viewer: ViewerDep,
    store: StoreDep,
    changes: ChangesDep,
    wish: WishDep,
    review_id: str,
    outcome: Annotated[str, Form(max_length=50)] = "",
    verdict: Annotated[str, Form(max_length=50)] = "",
    grade: Annotated[str, Form(max_length=50)] = "",
    reason: Annotated[str, Form(max_length=10_000)] = "",
    blind: Annotated[bool, Form()] = False,
) -> Response:
    """Applies the library's rules; refused input is shown again."""
    form = await request.form()
    scores = {
        name.removeprefix("score."): str(value).strip() for name, value in form.items() if name.startswith("score.")
    }
    draft = Draft(outcome, verdict, grade, scores, reason.strip())
    found = await _found(store, review_id)
    try:
        blind = blind and await decides_blind(store, viewer, subject_of(found.state.review))
        made = _decision(found, named(viewer), draft, blind)
        decided = await store.reviews.decide(made, now=time.time())
    except (ReviewError, InputError) as error:
        if isinstance(error, ReviewError) and error.reason == "unknown":
            raise
        status = 409 if isinstance(error, ReviewError) else 422
        found = await _found(store, review_id)
        return await _case_page(
            request, viewer, store, wish, found, http_status=status, problem=str(error), draft=draft
        )
    if len(decided.decisions) > len(found.state.decisions):
        await changes.note(Action.REVIEW_DECIDE, review_id, reviewer=named(viewer), outcome=made.outcome.value)
    if decided.review.policy is not None:
        look_for_patterns(running, store, decided.review.policy.name)
    return await to_next(store, viewer, changes, wish.model_copy(update={"status": "open"}), done=review_id)


def _decision(found: Found, reviewer: str, draft: Draft, blind: bool) -> HumanDecision:
    """The decision in a form; a verdict without an outcome is compared with the judge's.

    Raises:
        InputError: no choice, or a choice that cannot be recorded.
    """
    review, judgment = found.state.review, found.judgment
    outcome = draft.outcome or None
    verdict = _chosen(judgment, review.review_id, reviewer, draft)
    if outcome is None and verdict is None:
        raise InputError("choose a decision first: nothing was recorded")
    corrects = outcome in (None, Outcome.MODIFY)
    made = decision_from(
        review,
        judgment,
        reviewer,
        outcome,
        verdict if corrects else None,
        [f"{name}={value}" for name, value in draft.scores.items() if value] if corrects else (),
        reason=draft.reason,
        decided_at=time.time(),
    )
    return made.model_copy(update={"blind": blind})


def _chosen(judgment: Judgment | None, review_id: str, reviewer: str, draft: Draft) -> str | AnyVerdict | None:
    """The verdict in a form: a chosen one, or a grade or category as typed."""
    if judgment is None:
        return None
    if draft.grade.strip():
        return draft.grade
    if not draft.verdict:
        return None
    choices = _choices(judgment, review_id, reviewer)
    chosen = next((one.verdict for one in choices if one.value == draft.verdict), None)
    if chosen is None:
        raise InputError("this verdict is not one of those on the page: reload it and choose again")
    return chosen


def _choices(judgment: Judgment, review_id: str, reviewer: str | None) -> list[VerdictChoice]:
    return verdict_choices(sides_of(judgment, review_id, reviewer), judgment.verdict, judgment.item.scale)


def _typed(judgment: Judgment | None) -> str | None:
    """What a reviewer types in a field, because there is no list to choose from."""
    verdict = None if judgment is None else judgment.verdict
    if isinstance(verdict, Grade):
        return "grade"
    return "category" if isinstance(verdict, Category) else None


async def _found(store: Store, review_id: str) -> Found:
    state = await existing(store, review_id)
    review = state.review
    if review.subject == "case":
        return Found(state, None)
    judgment = await store.find_judgment(review.subject_digest)
    judgment = None if judgment is None else without_label(judgment)
    shown = await store.show(review.subject_id) or {}
    kept, earlier = (
        [
            (float(row["created_at"]), Assessment.model_validate(row["payload"]))
            for row in shown.get(name, ())
            if row["judgment_digest"] == review.subject_digest
        ]
        for name in ("assessments", "history")
    )
    return Found(state, judgment, kept, earlier)


def _newest(found: Found) -> Assessment | None:
    """The newest assessment decided by the review's policy, else the newest."""
    policy = found.state.review.policy
    decided = [
        one
        for _, one in (*found.earlier, *found.assessments)
        if one.decision is not None and policy is not None and one.decision.policy_digest == policy.digest
    ]
    return (decided or [one for _, one in found.assessments] or [None])[-1]  # type: ignore[list-item]


async def _case_page(
    request: Request,
    viewer: Viewer,
    store: Store,
    wish: Wish,
    found: Found,
    *,
    http_status: int = 200,
    problem: str | None = None,
    draft: Draft = Draft(),
    done: Done | None = None,
) -> Response:
    state, judgment, review = found.state, found.judgment, found.state.review
    reviewer = viewer.reviewer
    open_to_see = may_see_decisions(state, reviewer)
    reveal = not viewer.session.blind or await is_settled(store, viewer, state)
    sides = () if judgment is None else sides_of(judgment, review.review_id, reviewer)
    names = {side.response: side.title for side in sides}
    assessment = _newest(found) if reveal else None
    if reveal:
        await show_machine(store, viewer, [subject_of(review)])
    before, after = await _neighbours(store, wish.filter(viewer), review.review_id)
    return page(
        request,
        "review_case.html",
        viewer,
        http_status=http_status,
        state=state,
        review=review,
        judgment=judgment,
        stages=case_texts(review),
        sides=sides,
        reveal=reveal,
        verdict=None if judgment is None or not reveal else verdict_words(judgment.verdict, names),
        panel=None if assessment is None else panel_of(assessment),
        choices=[] if judgment is None else _choices(judgment, review.review_id, reviewer),
        typed=_typed(judgment),
        answer_scale=None if judgment is None else judgment.item.scale,
        why=why_here(review) if reveal else why_here_blind(review),
        events=history(
            state,
            found.assessments,
            names,
            changes=await store.audit_log.entries(CHANGE, review.review_id),
            reviewer=reviewer,
            machine=reveal,
            people=open_to_see,
        ),
        outcomes=OUTCOMES,
        claim=next((one for one in state.claims if one.reviewer == reviewer), None),
        decided=has_decided(state, reviewer),
        before=before,
        after=after,
        wish=wish,
        problem=problem,
        draft=draft,
        done=done,
        seen=not await decides_blind(store, viewer, subject_of(review)),
    )


async def _neighbours(store: Store, wanted: ReviewFilter, review_id: str) -> tuple[str | None, str | None]:
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
