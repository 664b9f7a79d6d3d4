"""Assessments: a list with filters, and a page with all details of one."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import Field

from metajudge.calibration.domain import outside_domain
from metajudge.calibration.promise import Promise
from metajudge.store import browsing
from metajudge.store.browsing import AssessmentFilter
from metajudge.store.excerpts import excerpt
from metajudge.store.protocol import Store
from metajudge.store.redaction import without_label
from metajudge.types import Assessment, Judgment
from metajudge.types.decision import Action, Decision

from ..deps import StoreDep
from .access import Viewer, ViewerDep, hidden_subjects, show_machine
from .case_view import Side, panel_of
from .page_route import Filters, PageRoute
from .rendering import indented, page, verdict_words

router = APIRouter(prefix="/assessments", include_in_schema=False, route_class=PageRoute)
ROWS = 25
OUTCOMES = {
    "kept": "kept",
    "not_kept": "discarded",
    "asked": "a person is asked",
    "unscored": "no decision",
    "failed": "no verdict or failed",
}
OUTCOME_TONES = {"kept": "good", "not_kept": "", "asked": "warn", "unscored": "warn", "failed": "warn"}
Name = Annotated[str, Field(max_length=200)]


class Wish(Filters):
    """The filters of the list of assessments."""

    PATH = "/assessments"

    judge: Name = ""
    outcome: Literal["", "kept", "not_kept", "asked", "unscored", "failed"] = ""
    decision: Action | None = None
    agent: Name = ""
    panel: Name = ""
    strategy: Name = ""
    run: Name = ""
    item: Name = ""
    q: Name = ""
    since: date | None = None
    until: date | None = None

    @property
    def filter(self) -> AssessmentFilter:
        """The filter for the store; days are UTC, the last one is included."""
        return AssessmentFilter(
            judge=self.judge.strip() or None,
            outcome=self.outcome or None,
            decision=None if self.decision is None else self.decision.value,
            agent=self.agent.strip() or None,
            panel=self.panel.strip() or None,
            strategy=self.strategy or None,
            run=self.run or None,
            item=self.item or None,
            text=self.q.strip() or None,
            since=None if self.since is None else _midnight(self.since),
            until=None if self.until is None or self.until == date.max else _midnight(self.until + timedelta(days=1)),
        )


def _midnight(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


Cursor = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("")
async def assessments(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    wish: Annotated[Wish, Query()],
    before: Cursor = None,
    after: Cursor = None,
) -> Response:
    hidden = await hidden_subjects(store, viewer)
    wanted = replace(wish.filter, without=tuple(sorted(hidden)))
    found = await store.ask(
        lambda connection: browsing.page_of_assessments(connection, wanted, limit=ROWS, before=before, after=after)
    )
    waiting = (await viewer.sight.undecided(store)).subjects
    await show_machine(store, viewer, waiting & {line.judgment_id for line in found.lines})
    names = await store.ask(browsing.names)
    return page(
        request,
        "assessments.html",
        viewer,
        part="list",
        wish=wish,
        hides=bool(hidden),
        found=found,
        names=names,
        outcomes=OUTCOMES,
        outcome_tones=OUTCOME_TONES,
        decisions=list(Action),
        newest=before is None and after is None,
    )


def _promise(one: Assessment) -> str | None:
    """The guarantee of an assessment; earlier versions also stamped judgments outside the guarantee's domain."""
    if one.guarantee is None or outside_domain(one.probability_marks):
        return None
    return Promise.of_stamp(one.guarantee).sentence()


@router.get("/{number}")
async def assessment(
    request: Request, viewer: ViewerDep, store: StoreDep, number: Annotated[int, Path(ge=0, le=2**62)]
) -> Response:
    found = await store.ask(lambda connection: browsing.kept_assessment(connection, number))
    if found is None:
        raise HTTPException(404, f"there is no assessment {number}: it may belong to another store")
    one, judgment = found.assessment, found.judgment
    await _refuse_blind(store, viewer, one.judgment_id)
    await show_machine(store, viewer, [one.judgment_id])
    labels_withheld = (await viewer.sight.withheld(store))(one.item_id)
    if judgment is not None and labels_withheld:
        judgment = without_label(judgment)
    sides = () if judgment is None else _sides(judgment)
    names = {side.response: side.title for side in sides}
    asked = [*one.agents, *([] if one.summariser is None else [one.summariser])]
    return page(
        request,
        "assessments_one.html",
        viewer,
        found=found,
        one=one,
        promise=_promise(one),
        judgment=judgment,
        heading=None if judgment is None else excerpt(judgment.item.question),
        labels_withheld=labels_withheld,
        sides=sides,
        verdict=None if judgment is None else verdict_words(judgment.verdict, names),
        panel=panel_of(one),
        openings=[agent for agent in asked if agent.opening is not None or agent.draws],
        policy=None if one.decision is None else await _policy(store, one.decision),
        outcomes=OUTCOMES,
        outcome_tones=OUTCOME_TONES,
        raw=indented(orjson.loads(found.payload)),
        raw_judgment=None if judgment is None else indented(judgment.model_dump(mode="json")),
    )


async def _refuse_blind(store: Store, viewer: Viewer, judgment_id: str) -> None:
    """Hides every version of a judgment, by any policy or panel, from a reviewer who has to decide it blind.

    Raises:
        HTTPException: 403.
    """
    if judgment_id in await hidden_subjects(store, viewer):
        raise HTTPException(
            403,
            "this judgment waits for your decision, and you decide blind: your session is in blind mode, or the policy "
            "wants it so. Decide it, or leave blind mode, to see the machine results",
        )


def _sides(judgment: Judgment) -> tuple[Side, ...]:
    """The responses in the order and under the labels the judge saw."""
    labels = dict(zip(judgment.order, judgment.shown_labels, strict=True))
    winner = None if judgment.verdict is None else judgment.verdict.winner
    shown = [*judgment.order, *(name for name in judgment.item.responses if name not in labels)]
    return tuple(
        Side(name, f"Response {name}", judgment.item.responses[name], labels.get(name), name == winner)
        for name in shown
    )


async def _policy(store: Store, decision: Decision) -> str | None:
    """The content of the policy version that decided, if it is stored."""
    entries = await store.audit_log.entries("policy", decision.policy)
    digest = decision.policy_digest
    return next((indented(entry.payload) for entry in entries if entry.payload.get("digest") == digest), None)
