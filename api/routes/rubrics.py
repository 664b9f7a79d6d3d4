"""Rubrics: those that are built in, and those kept here."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends

from metajudge.rubric import Rubric

from ..deps import CallerDep, ServiceDep, StoreDep, needs
from ..errors import RESPONSES
from ..keys import Scope
from ..rubrics import Name

router = APIRouter(prefix="/v1/rubrics", tags=["rubrics"], responses=RESPONSES)
MAY_SEE = [Depends(needs(Scope.READ, Scope.VET))]


@router.get("", summary="All rubrics", dependencies=MAY_SEE)
async def rubrics(running: ServiceDep) -> list[Rubric]:
    return running.panels.rubrics.all()


@router.get("/{name}", summary="One rubric", dependencies=MAY_SEE)
async def rubric(running: ServiceDep, name: Name) -> Rubric:
    return running.panels.rubrics.load(name)


@router.put("/{name}", summary="Keep a rubric under a name", dependencies=[Depends(needs(Scope.ADMIN))])
async def put_rubric(
    running: ServiceDep, store: StoreDep, caller: CallerDep, name: Name, body: Annotated[Rubric, Body()]
) -> Rubric:
    """Vets may name it from now on; built-in ones cannot be replaced. The change is in the audit log."""
    return await running.panels.rubrics.keep(name, body, store, by=caller.name)
