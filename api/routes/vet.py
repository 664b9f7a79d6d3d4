"""Vetting one judgment."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends

from metajudge.types import Assessment, Judgment

from ..deps import PanelsDep, authorised
from ..errors import RESPONSES
from ..schemas import EXAMPLE_JUDGMENT, VetBody

router = APIRouter(prefix="/v1", tags=["vet"], dependencies=[Depends(authorised)], responses=RESPONSES)

EXAMPLES = {
    "judgment": {"summary": "A judgment record as it is", "value": EXAMPLE_JUDGMENT},
    "with choices": {
        "summary": "With panel and rubric by name",
        "value": {"judgment": EXAMPLE_JUDGMENT, "rubric": "short"},
    },
}


@router.post("/vet", summary="Vet one judgment")
async def vet(panels: PanelsDep, body: Annotated[VetBody, Body(openapi_examples=EXAMPLES)]) -> Assessment:
    """Assesses one judgment: a record as it is, or one with a panel and a rubric chosen by name.

    A judgment whose models could not be asked, or did not answer usably, is answered with 200 and status
    `failed` or `unscored` with typed reasons. One that was assessed before under the same panel is not asked again.
    """
    if isinstance(body, Judgment):
        return await panels.vet(body, None, None)
    return await panels.vet(body.judgment, body.panel, body.rubric, body.others, body.policy)
