"""Preference data from what was kept."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from metajudge.errors import InputError
from metajudge.preferences import ExportRequest
from metajudge.store.protocol import Store
from metajudge.types import Assessment

from ..audit import Action
from ..deps import ChangesDep, ServiceDep, StoreDep, needs
from ..errors import RESPONSES
from ..keys import Scope

EXAMPLES: Any = {
    "accepted": {"summary": "Pairs of responses from accepted judgments", "value": {"format": "trl-conversational"}},
    "probable": {
        "summary": "From judgments that are probably right, split by question",
        "value": {"selection": {"rule": "min_probability", "min_probability": 0.9}, "split": [0.9, 0.1]},
    },
}
router = APIRouter(prefix="/v1/export", tags=["export"], dependencies=[Depends(needs(Scope.READ))], responses=RESPONSES)


@router.post(
    "/preferences",
    summary="A preference dataset as a zip file",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def preferences(
    running: ServiceDep,
    store: StoreDep,
    changes: ChangesDep,
    body: Annotated[ExportRequest, Body(openapi_examples=EXAMPLES)],
) -> FileResponse:
    """The folder of `metajudge export preferences`: data, dataset card, statistics, manifest.

    Of several assessments of a judgment the newest counts, and of several judgments with one id the one vetted last.
    """
    work = Path(tempfile.mkdtemp(prefix="metajudge-export-"))
    archive = await running.computing.ask(lambda: _archive(store, body, work), held=work)
    await changes.note(Action.EXPORT, "preferences", request=body.model_dump(mode="json", exclude_defaults=True))
    tidy = BackgroundTask(shutil.rmtree, work, ignore_errors=True)
    return FileResponse(archive, media_type="application/zip", filename="preferences.zip", background=tidy)


async def _archive(store: Store, asked: ExportRequest, folder: Path) -> Path:
    from metajudge.preferences import export

    judgments = await store.judgments()
    newest: dict[str, Assessment] = {}  # of several panels', or of several contents under one id, the last one's counts
    after = 0
    while page := await store.newest_assessments(after):
        newest |= {one.judgment_id: one for _, one in page}
        after = page[-1][0]
    if not judgments:
        raise InputError("the store holds no judgment yet: vet some first")
    contents = {one.judgment_digest for one in newest.values()}
    vetted = {one.id: one for one in judgments if one.digest in contents or one.id not in newest}
    export(folder / "preferences", asked, judgments=list(vetted.values()), assessments=list(newest.values()))
    return Path(shutil.make_archive(str(folder / "out"), "zip", folder / "preferences"))
