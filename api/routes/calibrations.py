"""The calibration in use."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from ..deps import ServiceDep

router = APIRouter(prefix="/v1/calibrations", tags=["calibrations"])


class CalibrationInUse(BaseModel):
    """What gives assessments their probability."""

    digest: str
    identity: dict[str, Any]
    """Whose judgments, by which agents, rubrics and prompts."""
    labels: int
    """Labelled judgments it was fitted on."""
    guarantees: list[str]


@router.get("", summary="The calibration in use")
async def calibrations(running: ServiceDep) -> list[CalibrationInUse]:
    """The one in use; none where the service has none."""
    found = running.engine.calibration
    if found is None:
        return []
    return [
        CalibrationInUse(
            digest=found.digest,
            identity=found.identity.model_dump(mode="json"),
            labels=found.provenance.n,
            guarantees=found.meanings,
        )
    ]
