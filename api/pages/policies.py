"""Policies with their bands, versions and simulations; proposals with evidence, which an administrator activates."""

import time
from dataclasses import dataclass
from typing import Annotated

import yaml
from fastapi import APIRouter, Form, HTTPException, Request, Response

from metajudge.decision import BUILTIN_POLICIES, Policy, parse_draft
from metajudge.errors import InputError, PolicyError
from metajudge.feedback.changes import Proposal
from metajudge.feedback.loop import ACTIVATION, BACKTEST, POLICY, FeedbackLoop
from metajudge.feedback.simulation import Simulation, simulate
from metajudge.store import overview
from metajudge.store.protocol import Store

from ..audit import Action
from ..authorization import ROUTES
from ..deps import ServiceDep, StoreDep
from ..panels import policy_names
from ..routes.feedback import existing_proposal
from .access import ChangesDep, Viewer, ViewerDep
from .login import go_to
from .page_route import PageRoute
from .rendering import page

router = APIRouter(include_in_schema=False, route_class=PageRoute)
STATUS_TONES = {"waits": "accent", "active": "good", "replaced": "", "refused": "warn"}
Reason = Annotated[str, Form(max_length=10_000)]
SIMULATED = 20_000
"""The newest assessments that a simulation on the page looks at."""


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """A policy in force; ``problem`` says why it cannot be used, and ``policy`` is then None."""

    name: str
    policy: Policy | None
    built_in: bool
    proposals: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a policy; ``by`` and ``reason`` are those of an activation, if any."""

    digest: str
    at: float
    by: str | None
    reason: str
    proposal_id: str | None
    in_force: bool


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
        recorded, now = self.in_force.before(), self.in_force.after()
        then = None if self.drafted is None else self.drafted.after()
        names = sorted({*recorded, *now, *(then or ())})
        return [(name, recorded[name], now[name], None if then is None else then[name]) for name in names]

    @property
    def compared(self) -> Simulation:
        """What the changes are shown of: the draft, else the policy in force."""
        return self.drafted or self.in_force


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """A proposal and what became of it: ``waits``, ``active``, ``replaced`` or ``refused``."""

    proposal: Proposal
    status: str


@router.get("/policies")
async def policies(request: Request, viewer: ViewerDep, store: StoreDep) -> Response:
    loop = FeedbackLoop(store, clock=time.time)
    waiting = [line.proposal.name for line in await _proposals(loop) if line.status == "waits"]
    lines = []
    for name in await policy_names(store):
        built_in, count = name in BUILTIN_POLICIES, waiting.count(name)
        try:
            lines.append(PolicyLine(name, await loop.active(name), built_in, count))
        except PolicyError as error:
            lines.append(PolicyLine(name, None, built_in, count, str(error)))
    return page(request, "policies.html", viewer, lines=lines, may_see=_sees_proposals(viewer))


@router.get("/policies/{name}")
async def policy(request: Request, viewer: ViewerDep, store: StoreDep, name: str) -> Response:
    return await _policy_page(request, viewer, store, name)


@router.post("/policies/{name}/propose")
async def propose(
    request: Request, viewer: ViewerDep, running: ServiceDep, store: StoreDep, changes: ChangesDep, name: str
) -> Response:
    """Looks for changes that people's decisions suggest, and tests each."""
    loop = FeedbackLoop(store, clock=time.time)
    try:
        found = await running.computing.ask(lambda: loop.propose(name))
    except InputError as error:
        return await _policy_page(request, viewer, store, name, http_status=422, problem=str(error))
    await changes.note(Action.FEEDBACK_PROPOSE, name, proposals=[one.proposal_id for one in found])
    if found:
        return go_to("/proposals")
    nothing = "No change fits people's decisions better: there are too few, or none disagrees with the policy."
    return await _policy_page(request, viewer, store, name, problem=nothing)


@router.post("/policies/{name}/simulate")
async def simulation(
    request: Request,
    viewer: ViewerDep,
    running: ServiceDep,
    store: StoreDep,
    name: str,
    draft: Annotated[str, Form(max_length=100_000)] = "",
    proposal_id: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """What the policy, and a draft or a proposal, would decide on what is stored; nothing is changed."""
    unnamed = (await viewer.sight.undecided(store)).subjects

    async def tried() -> Tried:
        loop = FeedbackLoop(store, clock=time.time)
        now = await loop.active(name)
        if proposal_id:
            after = (await loop.proposal(proposal_id)).policy
        else:
            after = parse_draft(draft) if draft.strip() else now
        found = await simulate(store, now, newest=SIMULATED, unnamed=unnamed)
        if after.digest == now.digest:
            return Tried(None, found, None)
        return Tried(after, found, await simulate(store, after, now, newest=SIMULATED, unnamed=unnamed))

    try:
        found = await running.computing.ask(tried)
    except (InputError, PolicyError) as error:
        return await _policy_page(request, viewer, store, name, http_status=422, problem=str(error), draft=draft)
    return await _policy_page(request, viewer, store, name, tried=found, draft=draft)


async def _policy_page(
    request: Request,
    viewer: Viewer,
    store: Store,
    name: str,
    *,
    http_status: int = 200,
    problem: str = "",
    tried: Tried | None = None,
    draft: str = "",
) -> Response:
    loop = FeedbackLoop(store, clock=time.time)
    try:
        found = await loop.active(name)
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    sees = _sees_proposals(viewer)
    return page(
        request,
        "policies_one.html",
        viewer,
        http_status=http_status,
        policy=found,
        versions=await _versions(store, name, found.digest),
        decided=await store.ask(lambda connection: overview.decided_by(connection, name)),
        proposals=[line for line in await _proposals(loop) if line.proposal.name == name] if sees else [],
        may_see=sees,
        may_propose=ROUTES["POST /policies/{name}/propose"].permits(viewer.caller),
        may_simulate=ROUTES["POST /policies/{name}/simulate"].permits(viewer.caller),
        tried=tried,
        draft=draft or _as_yaml(found),
        simulated=SIMULATED,
        problem=problem,
        tones_of=STATUS_TONES,
    )


@router.get("/proposals")
async def proposals(request: Request, viewer: ViewerDep, store: StoreDep) -> Response:
    found = await _proposals(FeedbackLoop(store, clock=time.time))
    return page(request, "proposals.html", viewer, lines=found, tones_of=STATUS_TONES)


@router.get("/proposals/{proposal_id}")
async def proposal(request: Request, viewer: ViewerDep, store: StoreDep, proposal_id: str) -> Response:
    return await _proposal_page(request, viewer, store, proposal_id)


@router.post("/proposals/{proposal_id}/backtest")
async def backtest(
    request: Request, viewer: ViewerDep, running: ServiceDep, store: StoreDep, changes: ChangesDep, proposal_id: str
) -> Response:
    """Tests a proposal on all cases decided by now."""
    loop, found = await existing_proposal(store, proposal_id)
    try:
        made = await running.computing.ask(lambda: loop.backtest(proposal_id))
    except (InputError, PolicyError) as error:
        return await _proposal_page(request, viewer, store, proposal_id, http_status=422, problem=str(error))
    await changes.note(Action.FEEDBACK_BACKTEST, proposal_id, policy=found.name, better=made.better)
    return go_to(f"/proposals/{proposal_id}")


@router.post("/proposals/{proposal_id}/activate")
async def activate(
    request: Request, viewer: ViewerDep, store: StoreDep, changes: ChangesDep, proposal_id: str, reason: Reason = ""
) -> Response:
    """Puts a proposal in force, under the person's name."""
    loop, found = await existing_proposal(store, proposal_id)
    try:
        made = await loop.activate(proposal_id, by=viewer.reviewer or viewer.caller.name, reason=reason.strip())
    except (InputError, PolicyError) as error:
        return await _proposal_page(
            request, viewer, store, proposal_id, http_status=422, problem=str(error), reason=reason
        )
    await changes.note(
        Action.FEEDBACK_ACTIVATE, found.name, proposal_id=proposal_id, digest=made.digest, before=made.base_digest
    )
    return go_to(f"/proposals/{proposal_id}")


async def _proposal_page(
    request: Request,
    viewer: Viewer,
    store: Store,
    proposal_id: str,
    *,
    http_status: int = 200,
    problem: str = "",
    reason: str = "",
) -> Response:
    loop, found = await existing_proposal(store, proposal_id)
    line = next(one for one in await _proposals(loop) if one.proposal.proposal_id == proposal_id)
    tests = await store.audit_log.entries(BACKTEST, proposal_id)
    return page(
        request,
        "proposals_one.html",
        viewer,
        http_status=http_status,
        proposal=found,
        status=line.status,
        base=await _content(store, found.name, found.base_digest),
        tests=[(one.recorded_at, one.payload["backtest"]) for one in reversed(tests)],
        may_activate=ROUTES["POST /proposals/{proposal_id}/activate"].permits(viewer.caller),
        problem=problem,
        reason=reason,
        tones_of=STATUS_TONES,
    )


async def _proposals(loop: FeedbackLoop) -> list[ProposalLine]:
    """All proposals with what became of them, newest first."""
    activated = [one.proposal_id for one in await loop.activations()]
    newest = {one.name: one.proposal_id for one in await loop.activations()}
    lines = []
    for one in reversed(await loop.proposals()):
        if one.proposal_id in activated:
            status = "active" if newest.get(one.name) == one.proposal_id else "replaced"
        else:
            status = "waits" if one.status == "proposed" else "refused"
        lines.append(ProposalLine(one, status))
    return lines


async def _versions(store: Store, name: str, in_force: str) -> list[Version]:
    """The versions of a policy that are stored, and those activated; newest first."""
    stored = await store.audit_log.entries(POLICY, name)
    activated = await store.audit_log.entries(ACTIVATION, name)
    found = sorted((*stored, *activated), key=lambda entry: entry.entry_id, reverse=True)
    return [
        Version(
            str(entry.payload.get("digest", "")),
            entry.recorded_at,
            entry.payload.get("by"),
            str(entry.payload.get("reason", "")),
            entry.payload.get("proposal_id"),
            entry.payload.get("digest") == in_force,
        )
        for entry in found
    ]


async def _content(store: Store, name: str, digest: str) -> Policy | None:
    """A stored version of a policy; None if it is not stored, as a built-in one that decided nothing."""
    for entry in await store.audit_log.entries(POLICY, name):
        if entry.payload.get("digest") == digest:
            return Policy.model_validate(entry.payload["policy"])
    try:
        found = await FeedbackLoop(store, clock=time.time).active(name)
    except PolicyError:
        return None
    return found if found.digest == digest else None


def _as_yaml(policy: Policy) -> str:
    """A policy as its file would say it."""
    data = policy.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _sees_proposals(viewer: Viewer) -> bool:
    return ROUTES["GET /proposals"].permits(viewer.caller)
