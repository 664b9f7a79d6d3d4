"""Rubrics: built-in and stored ones."""

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
    """Built-in rubrics, then those added here."""
    return running.panels.rubrics.all()


@router.get("/{name}", summary="One rubric")
async def rubric(running: ServiceDep, name: Name) -> Rubric:
    """Its criteria, weights, scale and wording."""
    return running.panels.rubrics.load(name)


@router.put("/{name}", summary="Store a rubric under a name")
async def put_rubric(
    running: ServiceDep,
    store: StoreDep,
    caller: CallerDep,
    changes: ChangesDep,
    name: Name,
    body: Annotated[Rubric, Body(openapi_examples=EXAMPLES)],
) -> Rubric:
    """Adds or replaces a rubric for vetting by name; built-in ones cannot be replaced. The change log records it."""
    kept = await running.panels.rubrics.keep(name, body, store, by=caller.name)
    await changes.note(Action.RUBRIC_PUT, name, digest=kept.digest)
    return kept
