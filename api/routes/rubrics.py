"""Rubrics: those that are built in, and those kept here."""

from typing import Annotated, Any

from fastapi import APIRouter, Body

from metajudge.rubric import Rubric, load_rubric

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep, StoreDep
from ..rubrics import Name

EXAMPLES: Any = {
    "short": {
        "summary": "The built-in rubric short, under another name",
        "value": {**load_rubric("short").model_dump(mode="json"), "name": "mine"},
    }
}
router = APIRouter(prefix="/v1/rubrics", tags=["rubrics"])


@router.get("", summary="All rubrics")
async def rubrics(running: ServiceDep) -> list[Rubric]:
    """Those that are built in, then those put here."""
    return running.panels.rubrics.all()


@router.get("/{name}", summary="One rubric")
async def rubric(running: ServiceDep, name: Name) -> Rubric:
    """Its criteria, weights, scale and wording."""
    return running.panels.rubrics.load(name)


@router.put("/{name}", summary="Keep a rubric under a name")
async def put_rubric(
    running: ServiceDep,
    store: StoreDep,
    caller: CallerDep,
    changes: ChangesDep,
    name: Name,
    body: Annotated[Rubric, Body(openapi_examples=EXAMPLES)],
) -> Rubric:
    """Vets may name it from now on; built-in ones cannot be replaced. The change is in the audit log."""
    kept = await running.panels.rubrics.keep(name, body, store, by=caller.name)
    await changes.note(Action.RUBRIC_PUT, name, digest=kept.digest)
    return kept
