"""Decision policies: the versions in force, and new ones."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException
from pydantic import BaseModel

from metajudge.decision import BUILTIN_POLICIES, Policy, load_policy
from metajudge.errors import PolicyError
from metajudge.feedback.loop import ACTIVATION, POLICY, FeedbackLoop
from metajudge.store.protocol import Store

from ..audit import Action
from ..deps import CallerDep, ChangesDep, StoreDep
from ..panels import policy_names
from ..rubrics import Name

EXAMPLES: Any = {
    "verdict_score": {
        "summary": "The built-in policy verdict_score, under another name",
        "value": {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine"},
    }
}
router = APIRouter(prefix="/v1/policies", tags=["policies"])


class PolicyInForce(BaseModel):
    """A policy and its version."""

    name: str
    digest: str
    policy: Policy


@router.get("", summary="The policies in force")
async def policies(store: StoreDep) -> list[PolicyInForce]:
    """Built-in policies, then those that have decided judgments or were added here."""
    return [await _in_force(store, name) for name in await policy_names(store)]


@router.get("/{name}", summary="The version of a policy in force")
async def policy(store: StoreDep, name: Name) -> PolicyInForce:
    """The version activated last, else the version added here last, else the built-in one."""
    return await _in_force(store, name)


@router.put("/{name}", summary="Put a policy in force")
async def put_policy(
    store: StoreDep,
    caller: CallerDep,
    changes: ChangesDep,
    name: Name,
    body: Annotated[Policy, Body(openapi_examples=EXAMPLES)],
) -> PolicyInForce:
    """Adds or replaces a policy of your own; built-in ones change only by proposals. The change log records it."""
    if body.name != name:
        raise HTTPException(
            422, f"name: the policy is named {body.name!r}, but the path has {name!r}: use the same name"
        )
    if name in BUILTIN_POLICIES or await store.audit_log.entries(ACTIVATION, name, limit=1):
        raise HTTPException(409, f"policy {name!r} changes only by activating a proposal: see /v1/feedback/proposals")
    if body.cases is not None:
        raise HTTPException(
            422, "cases: policies with this section are not stored: pass the policy file to `metajudge case`"
        )
    record = {"digest": body.digest, "policy": body.model_dump(mode="json"), "by": caller.name}
    await store.audit_log.append(POLICY, name, record, now=time.time())
    await changes.note(Action.POLICY_PUT, name, digest=body.digest)
    return PolicyInForce(name=name, digest=body.digest, policy=body)


async def _in_force(store: Store, name: str) -> PolicyInForce:
    try:
        found = await FeedbackLoop(store, clock=time.time).active(name)
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    return PolicyInForce(name=name, digest=found.digest, policy=found)
