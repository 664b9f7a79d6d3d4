"""Preference data from what was kept."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from metajudge.errors import InputError
from metajudge.preferences import ExportRequest
from metajudge.store.protocol import Store
from metajudge.types import Assessment

from ..deps import ServiceDep, StoreDep, needs
from ..errors import RESPONSES
from ..keys import Scope

router = APIRouter(prefix="/v1/export", tags=["export"], dependencies=[Depends(needs(Scope.READ))], responses=RESPONSES)


@router.post(
    "/preferences",
    summary="A preference dataset as a zip file",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def preferences(request: Request, running: ServiceDep, store: StoreDep, body: ExportRequest) -> FileResponse:
    """The folder of `metajudge export preferences`: data, dataset card, statistics, manifest.

    Of several assessments of a judgment the newest counts.
    """
    folder = Path(tempfile.mkdtemp(prefix="metajudge-export-"))
    try:
        archive = await running.admission.work(request, lambda: _archive(store, body, folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(archive, media_type="application/zip", filename="preferences.zip", background=tidy)


async def _archive(store: Store, asked: ExportRequest, folder: Path) -> Path:
    from metajudge.preferences import export

    judgments = await store.judgments()
    newest: dict[str, Assessment] = {}  # several panels may have vetted a judgment: the last one's assessment counts
    after = 0
    while page := await store.newest_assessments(after):
        newest |= {one.judgment_digest or one.judgment_id: one for _, one in page}
        after = page[-1][0]
    if not judgments:
        raise InputError("the store holds no judgment yet: vet some first")
    await asyncio.to_thread(
        export, folder / "preferences", asked, judgments=judgments, assessments=list(newest.values())
    )
    made = await asyncio.to_thread(shutil.make_archive, str(folder / "out"), "zip", folder / "preferences")
    return Path(made)
