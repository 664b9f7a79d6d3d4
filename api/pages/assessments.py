"""Assessments: a list with filters, and a page with all details of one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, HTTPException, Path, Query, Response
from pydantic import Field

from metajudge.calibration.domain import outside_domain
from metajudge.calibration.promise import Promise
from metajudge.evidence.words import signal_lines
from metajudge.store import browsing
from metajudge.store.browsing import AssessmentFilter
from metajudge.store.redaction import without_label
from metajudge.store.texts import excerpt
from metajudge.types import AgentResult, Assessment, Judgment
from metajudge.types.decision import Action, Decision

from .page_route import Filters, PageRoute, StoredVisit, midnight
from .rendering import indented, verdict_words

APART = 1.0
"""Scores of one criterion that differ by more than this are marked as a disagreement."""
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
        names = ("judge", "outcome", "agent", "panel", "strategy", "run", "item")
        words: dict[str, Any] = {name: getattr(self, name).strip() or None for name in names}
        return AssessmentFilter(
            **words,
            decision=None if self.decision is None else self.decision.value,
            text=self.q.strip() or None,
            since=midnight(self.since),
            until=None if self.until in (None, date.max) else midnight(self.until + timedelta(days=1)),
        )


Cursor = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("")
async def assessments(
    visit: StoredVisit, wish: Annotated[Wish, Query()], before: Cursor = None, after: Cursor = None
) -> Response:
    hidden = await visit.hidden()
    wanted = replace(wish.filter, without=tuple(sorted(hidden)))
    found = await visit.ask(browsing.page_of_assessments, wanted, limit=ROWS, before=before, after=after)
    await visit.show_waiting({line.judgment_id for line in found.lines})
    return visit.page(
        "assessments.html",
        part="list",
        wish=wish,
        hides=bool(hidden),
        found=found,
        names=await visit.ask(browsing.names),
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
async def assessment(visit: StoredVisit, number: Annotated[int, Path(ge=0, le=2**62)]) -> Response:
    """Every version of a judgment, by any policy or panel, is hidden from a reviewer who has to decide it blind."""
    found = await visit.ask(browsing.kept_assessment, number)
    if found is None:
        raise HTTPException(404, f"there is no assessment {number}: it may belong to another store")
    one, judgment = found.assessment, found.judgment
    if one.judgment_id in await visit.hidden():
        raise HTTPException(
            403,
            "this judgment waits for your decision, and you decide blind: your session is in blind mode, or the policy "
            "wants it so. Decide it, or leave blind mode, to see the machine results",
        )
    await visit.show_machine([one.judgment_id])
    labels_withheld = (await visit.sight.withheld(visit.store))(one.item_id)
    if judgment is not None and labels_withheld:
        judgment = without_label(judgment)
    sides = [] if judgment is None else _sides(judgment)
    names = {side["response"]: side["title"] for side in sides}
    asked = [*one.agents, *([] if one.summariser is None else [one.summariser])]
    return visit.page(
        "assessments_one.html",
        found=found,
        one=one,
        promise=_promise(one),
        judgment=judgment,
        heading=None if judgment is None else excerpt(judgment.item.question),
        labels_withheld=labels_withheld,
        sides=sides,
        verdict=None if judgment is None else verdict_words(judgment.verdict, names),
        panel=_panel(asked, one),
        openings=[agent for agent in asked if agent.opening is not None or agent.draws],
        policy=None if one.decision is None else await _policy(visit, one.decision),
        outcomes=OUTCOMES,
        outcome_tones=OUTCOME_TONES,
        raw=indented(orjson.loads(found.payload)),
        raw_judgment=None if judgment is None else indented(judgment.model_dump(mode="json")),
    )


def _panel(agents: Sequence[AgentResult], assessment: Assessment) -> dict[str, Any]:
    """The agents' scores, criterion by criterion, and where they disagree: on a criterion, or on both sides of the
    threshold.
    """
    rows = []
    for name in dict.fromkeys(name for agent in agents for name in agent.criteria or {}):
        opinions = [_opinion(agent, name) for agent in agents]
        scores = [one["score"] for one in opinions if one["score"] is not None]
        spread = max(scores) - min(scores) if len(scores) > 1 else None
        rows.append({"name": name, "opinions": opinions, "spread": spread, "apart": (spread or 0.0) > APART})
    over = {agent.score > assessment.threshold for agent in agents if agent.score is not None}
    return {"agents": agents, "rows": rows, "signals": signal_lines(assessment.signals), "split": len(over) > 1}


def _opinion(agent: AgentResult, name: str) -> dict[str, Any]:
    """One agent's score of one criterion; without a score the note gives the reason."""
    result = (agent.criteria or {}).get(name)
    if result is not None:
        why = "" if result.not_applicable is None else f": {result.not_applicable}"
        note = "" if result.score is not None else f"does not apply{why}"
        return {"score": result.score, "explanation": result.explanation, "note": note}
    note = "failed" if agent.failure is not None else "not asked" if agent.skipped else "not scored"
    return {"score": None, "explanation": "", "note": note}


def _sides(judgment: Judgment) -> list[dict[str, Any]]:
    """The responses in the order and under the labels the judge saw; those not shown to the judge have none."""
    labels = dict(zip(judgment.order, judgment.shown_labels, strict=True))
    winner = None if judgment.verdict is None else judgment.verdict.winner
    shown = [*judgment.order, *(name for name in judgment.item.responses if name not in labels)]
    return [
        {
            "response": name,
            "title": f"Response {name}",
            "text": judgment.item.responses[name],
            "seen_as": labels.get(name),
            "picked": name == winner,
        }
        for name in shown
    ]


async def _policy(visit: StoredVisit, decision: Decision) -> str | None:
    """The content of the policy version that decided, if it is stored."""
    entries = await visit.store.audit_log.entries("policy", decision.policy)
    digest = decision.policy_digest
    return next((indented(entry.payload) for entry in entries if entry.payload.get("digest") == digest), None)
