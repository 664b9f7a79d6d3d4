"""Is it there, and what is it?"""

from fastapi import APIRouter

from metajudge import __version__

from ..schemas import Health, Version

router = APIRouter(tags=["service"])


@router.get("/healthz", summary="Liveness")
async def healthz() -> Health:
    return Health()


@router.get("/version", summary="Version")
async def version() -> Version:
    return Version(version=__version__)
