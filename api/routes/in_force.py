"""What is in force: rubrics, decision policies, and the calibration in use."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException
from pydantic import BaseModel

from metajudge.decision import BUILTIN_POLICIES, Policy, load_policy
from metajudge.errors import PolicyError
from metajudge.feedback.loop import ACTIVATION, POLICY
from metajudge.rubric import Rubric, load_rubric

from ..deps import Action, Call, ServiceDep, StoredCall
from ..errors import answered_as
from ..panels import Name, policy_names
from .feedback import loop_of

rubric_router = APIRouter(prefix="/v1/rubrics", tags=["rubrics"])
policy_router = APIRouter(prefix="/v1/policies", tags=["policies"])
calibration_router = APIRouter(prefix="/v1/calibrations", tags=["calibrations"])


def _example(noun: str, one: Rubric | Policy) -> Any:
    summary = f"The built-in {noun} {one.name}, under another name"
    return {one.name: {"summary": summary, "value": {**one.model_dump(mode="json"), "name": "mine"}}}


RUBRIC_EXAMPLES = _example("rubric", load_rubric("short"))
POLICY_EXAMPLES = _example("policy", load_policy("verdict_score"))


class PolicyInForce(BaseModel):
    """A policy and its version."""

    name: str
    digest: str
    policy: Policy


class CalibrationInUse(BaseModel):
    """The calibration that gives assessments their probability."""

    digest: str
    identity: dict[str, Any]
    """The judges, agents, rubrics and prompts it was fitted for."""
    labels: int
    """Number of labelled judgments in the fit."""
    guarantees: list[str]


@rubric_router.get("", summary="All rubrics")
async def rubrics(running: ServiceDep) -> list[Rubric]:
    """Built-in rubrics, then those added here."""
    return running.panels.rubrics.all()


@rubric_router.get("/{name}", summary="One rubric")
async def rubric(running: ServiceDep, name: Name) -> Rubric:
    """Its criteria, weights, scale and wording."""
    return running.panels.rubrics.load(name)


@rubric_router.put("/{name}", summary="Store a rubric under a name")
async def put_rubric(
    call: StoredCall, name: Name, body: Annotated[Rubric, Body(openapi_examples=RUBRIC_EXAMPLES)]
) -> Rubric:
    """Adds or replaces a rubric for vetting by name; built-in ones cannot be replaced. The change log records it."""
    kept = await call.running.panels.rubrics.keep(name, body, call.store, by=call.caller.name)
    await call.note(Action.RUBRIC_PUT, name, digest=kept.digest)
    return kept


@policy_router.get("", summary="The policies in force")
async def policies(call: StoredCall) -> list[PolicyInForce]:
    """Built-in policies, then those that have decided judgments or were added here."""
    return [await _in_force(call, name) for name in await policy_names(call.store)]


@policy_router.get("/{name}", summary="The version of a policy in force")
async def policy(call: StoredCall, name: Name) -> PolicyInForce:
    """The version activated last, else the version added here last, else the built-in one."""
    return await _in_force(call, name)


@policy_router.put("/{name}", summary="Put a policy in force")
async def put_policy(
    call: StoredCall, name: Name, body: Annotated[Policy, Body(openapi_examples=POLICY_EXAMPLES)]
) -> PolicyInForce:
    """Adds or replaces a policy of your own; built-in ones change only by proposals. The change log records it."""
    log = call.store.audit_log
    if body.name != name:
        raise HTTPException(
            422, f"name: the policy is named {body.name!r}, but the path has {name!r}: use the same name"
        )
    if name in BUILTIN_POLICIES or await log.entries(ACTIVATION, name, limit=1):
        raise HTTPException(409, f"policy {name!r} changes only by activating a proposal: see /v1/feedback/proposals")
    if body.cases is not None:
        raise HTTPException(
            422, "cases: policies with this section are not stored: pass the policy file to `metajudge case`"
        )
    record = {"digest": body.digest, "policy": body.model_dump(mode="json"), "by": call.caller.name}
    await log.append(POLICY, name, record, now=time.time())
    await call.note(Action.POLICY_PUT, name, digest=body.digest)
    return PolicyInForce(name=name, digest=body.digest, policy=body)


async def _in_force(call: Call, name: str) -> PolicyInForce:
    with answered_as({PolicyError: 404}):
        found = await loop_of(call).active(name)
    return PolicyInForce(name=name, digest=found.digest, policy=found)


@calibration_router.get("", summary="The calibration in use")
async def calibrations(running: ServiceDep) -> list[CalibrationInUse]:
    """The calibration in use; an empty list without one."""
    found = running.engine.calibration
    if found is None:
        return []
    identity, n = found.identity.model_dump(mode="json"), found.provenance.n
    return [CalibrationInUse(digest=found.digest, identity=identity, labels=n, guarantees=found.meanings)]
