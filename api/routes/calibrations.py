"""The calibration in use."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from ..deps import ServiceDep

router = APIRouter(prefix="/v1/calibrations", tags=["calibrations"])


class CalibrationInUse(BaseModel):
    """The calibration that gives assessments their probability."""

    digest: str
    identity: dict[str, Any]
    """The judges, agents, rubrics and prompts it was fitted for."""
    labels: int
    """Number of labelled judgments in the fit."""
    guarantees: list[str]


@router.get("", summary="The calibration in use")
async def calibrations(running: ServiceDep) -> list[CalibrationInUse]:
    """The calibration in use; an empty list without one."""
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
