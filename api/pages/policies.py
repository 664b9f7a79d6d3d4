"""Policies with their bands, versions and simulations; proposals with evidence, which an administrator activates."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any

import yaml
from fastapi import APIRouter, Form, Response

from metajudge.decision import BUILTIN_POLICIES, Policy, parse_draft
from metajudge.errors import InputError, PolicyError
from metajudge.feedback.loop import ACTIVATION, BACKTEST, POLICY, FeedbackLoop
from metajudge.feedback.simulation import Simulation, simulate
from metajudge.store import overview

from ..errors import answered_as
from ..panels import policy_names
from ..routes.feedback import backtest_again, existing_proposal, loop_of, propose_now, put_in_force
from .login import go_to
from .page_route import PageRoute, StoredVisit

router = APIRouter(include_in_schema=False, route_class=PageRoute)
STATUS_TONES = {"waits": "accent", "active": "good", "replaced": "", "refused": "warn"}
Reason = Annotated[str, Form(max_length=10_000)]
PROPOSALS = "GET /proposals"
SIMULATED = 20_000
"""The newest assessments that a simulation on the page looks at."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a policy and a draft of it would decide on what is stored.

    Attributes:
        draft: the draft; None where the policy in force was tried alone.
        in_force: against the decisions that were recorded.
        drafted: against the policy in force; None without a draft.
    """

    draft: Policy | None
    in_force: Simulation
    drafted: Simulation | None

    @property
    def actions(self) -> list[tuple[str, int, int, int | None]]:
        """Action -> records by the recorded decisions, by the policy in force, by the draft."""
        recorded, now = self.in_force.by_action()
        then = None if self.drafted is None else self.drafted.by_action()[1]
        names = sorted({*recorded, *now, *(then or ())})
        return [(name, recorded[name], now[name], None if then is None else then[name]) for name in names]

    @property
    def compared(self) -> Simulation:
        """What the changes are shown of: the draft, else the policy in force."""
        return self.drafted or self.in_force


@router.get("/policies")
async def policies(visit: StoredVisit) -> Response:
    """The policies in force; of one that cannot be used the problem."""
    loop = loop_of(visit)
    waiting = [line["proposal"].name for line in await _proposals(loop) if line["status"] == "waits"]
    lines: list[dict[str, Any]] = []
    for name in await policy_names(visit.store):
        line = {"name": name, "built_in": name in BUILTIN_POLICIES, "proposals": waiting.count(name)}
        try:
            lines.append({**line, "policy": await loop.active(name)})
        except PolicyError as error:
            lines.append({**line, "policy": None, "problem": str(error)})
    return visit.page("policies.html", lines=lines, may_see=visit.permits(PROPOSALS))


@router.get("/policies/{name}")
async def policy(visit: StoredVisit, name: str) -> Response:
    return await _policy_page(visit, name)


@router.post("/policies/{name}/propose")
async def propose(visit: StoredVisit, name: str) -> Response:
    """Looks for changes that people's decisions suggest, and tests each."""
    try:
        found = await propose_now(visit, name)
    except InputError as error:
        return await _policy_page(visit, name, http_status=422, problem=str(error))
    if found:
        return go_to("/proposals")
    nothing = "No change fits people's decisions better: there are too few, or none disagrees with the policy."
    return await _policy_page(visit, name, problem=nothing)


@router.post("/policies/{name}/simulate")
async def simulation(
    visit: StoredVisit,
    name: str,
    draft: Annotated[str, Form(max_length=100_000)] = "",
    proposal_id: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """What the policy, and a draft or a proposal, would decide on what is stored; nothing is changed."""
    unnamed = await visit.waiting()

    async def tried() -> Tried:
        loop = loop_of(visit)
        now = await loop.active(name)
        if proposal_id:
            after = (await loop.proposal(proposal_id)).policy
        else:
            after = parse_draft(draft) if draft.strip() else now
        found = await simulate(visit.store, now, newest=SIMULATED, unnamed=unnamed)
        if after.digest == now.digest:
            return Tried(None, found, None)
        return Tried(after, found, await simulate(visit.store, after, now, newest=SIMULATED, unnamed=unnamed))

    try:
        found = await visit.running.computing.ask(tried)
    except (InputError, PolicyError) as error:
        return await _policy_page(visit, name, http_status=422, problem=str(error), draft=draft)
    return await _policy_page(visit, name, tried=found, draft=draft)


async def _policy_page(
    visit: StoredVisit,
    name: str,
    *,
    http_status: int = 200,
    problem: str = "",
    tried: Tried | None = None,
    draft: str = "",
) -> Response:
    loop = loop_of(visit)
    with answered_as({PolicyError: 404}):
        found = await loop.active(name)
    sees = visit.permits(PROPOSALS)
    as_file = yaml.safe_dump(
        found.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True, width=100
    )
    return visit.page(
        "policies_one.html",
        http_status=http_status,
        policy=found,
        versions=await _versions(visit, name, found.digest),
        decided=await visit.ask(overview.decided_by, name),
        proposals=[line for line in await _proposals(loop) if line["proposal"].name == name] if sees else [],
        may_see=sees,
        may_propose=visit.permits("POST /policies/{name}/propose"),
        may_simulate=visit.permits("POST /policies/{name}/simulate"),
        tried=tried,
        draft=draft or as_file,
        simulated=SIMULATED,
        problem=problem,
        tones_of=STATUS_TONES,
    )


@router.get("/proposals")
async def proposals(visit: StoredVisit) -> Response:
    return visit.page("proposals.html", lines=await _proposals(loop_of(visit)), tones_of=STATUS_TONES)


@router.get("/proposals/{proposal_id}")
async def proposal(visit: StoredVisit, proposal_id: str) -> Response:
    return await _proposal_page(visit, proposal_id)


@router.post("/proposals/{proposal_id}/backtest")
async def backtest(visit: StoredVisit, proposal_id: str) -> Response:
    """Tests a proposal on all cases decided by now."""
    return await _after(visit, proposal_id, backtest_again(visit, proposal_id))


@router.post("/proposals/{proposal_id}/activate")
async def activate(visit: StoredVisit, proposal_id: str, reason: Reason = "") -> Response:
    """Puts a proposal in force, under the person's name."""
    by = visit.viewer.reviewer or visit.caller.name
    return await _after(visit, proposal_id, put_in_force(visit, proposal_id, by, reason.strip()), reason)


async def _after(visit: StoredVisit, proposal_id: str, work: Awaitable[object], reason: str = "") -> Response:
    """The page of a proposal after some work on it, or with the work's problem."""
    try:
        await work
    except (InputError, PolicyError) as error:
        return await _proposal_page(visit, proposal_id, http_status=422, problem=str(error), reason=reason)
    return go_to(f"/proposals/{proposal_id}")


async def _proposal_page(
    visit: StoredVisit, proposal_id: str, *, http_status: int = 200, problem: str = "", reason: str = ""
) -> Response:
    loop, found = await existing_proposal(visit, proposal_id)
    line = next(one for one in await _proposals(loop) if one["proposal"].proposal_id == proposal_id)
    tests = await visit.store.audit_log.entries(BACKTEST, proposal_id)
    return visit.page(
        "proposals_one.html",
        http_status=http_status,
        proposal=found,
        status=line["status"],
        base=await _content(visit, found.name, found.base_digest),
        tests=[(one.recorded_at, one.payload["backtest"]) for one in reversed(tests)],
        may_activate=visit.permits("POST /proposals/{proposal_id}/activate"),
        problem=problem,
        reason=reason,
        tones_of=STATUS_TONES,
    )


async def _proposals(loop: FeedbackLoop) -> list[dict[str, Any]]:
    """All proposals, newest first, with what became of each: ``waits``, ``active``, ``replaced`` or ``refused``."""
    newest = {one.name: one.proposal_id for one in await loop.activations()}
    activated = [one.proposal_id for one in await loop.activations()]
    lines = []
    for one in reversed(await loop.proposals()):
        if one.proposal_id in activated:
            status = "active" if newest.get(one.name) == one.proposal_id else "replaced"
        else:
            status = "waits" if one.status == "proposed" else "refused"
        lines.append({"proposal": one, "status": status})
    return lines


async def _versions(visit: StoredVisit, name: str, in_force: str) -> list[dict[str, Any]]:
    """The versions of a policy that are stored, and those activated, with by whom and why; newest first."""
    stored = await visit.store.audit_log.entries(POLICY, name)
    activated = await visit.store.audit_log.entries(ACTIVATION, name)
    found = sorted((*stored, *activated), key=lambda entry: entry.entry_id, reverse=True)
    usual = {"digest": "", "by": None, "reason": "", "proposal_id": None}
    return [
        {**usual, **entry.payload, "at": entry.recorded_at, "in_force": entry.payload.get("digest") == in_force}
        for entry in found
    ]


async def _content(visit: StoredVisit, name: str, digest: str) -> Policy | None:
    """A stored version of a policy; None if it is not stored, as a built-in one that decided nothing."""
    for entry in await visit.store.audit_log.entries(POLICY, name):
        if entry.payload.get("digest") == digest:
            return Policy.model_validate(entry.payload["policy"])
    try:
        found = await loop_of(visit).active(name)
    except PolicyError:
        return None
    return found if found.digest == digest else None
