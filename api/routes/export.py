"""Preference data from stored assessments."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import StreamingResponse

from metajudge.exports import ExportRequest

from ..computing import while_connected
from ..deps import Action, StoredCall
from ..errors import PROBLEM
from ..exporting import archive_of

EXAMPLES: Any = {
    "accepted": {"summary": "Pairs of responses from accepted judgments", "value": {"format": "trl-conversational"}},
    "probable": {
        "summary": "From judgments that are probably correct, split by question",
        "value": {"selection": {"rule": "min_probability", "min_probability": 0.9}, "split": [0.9, 0.1]},
    },
    "filtered": {
        "summary": "From judgments of one judge, vetted since a given day",
        "value": {"filters": {"judges": ["gpt-4o"], "since": "2026-11-01"}},
    },
}
router = APIRouter(prefix="/v1/export", tags=["export"])


SUMMARY = "X-Export-Summary"


@router.post(
    "/preferences",
    summary="A preference dataset as a zip file",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {SUMMARY: {"description": "Rows and counts as JSON.", "schema": {"type": "string"}}},
        },
        507: {"description": "Insufficient Storage", "content": PROBLEM},
    },
)
async def preferences(
    call: StoredCall, body: Annotated[ExportRequest, Body(openapi_examples=EXAMPLES)]
) -> StreamingResponse:
    """The folder of `metajudge export preferences`: data, dataset card, statistics, manifest.

    Decisions of people come first, then the newest action of a policy, then the selection. Of several assessments of a
    judgment the newest counts, and of several judgments with one id the one vetted last. An item id with two different
    contents is left out and reported. The header `X-Export-Summary` counts kept rows by source, and dropped ones.
    """
    archive = await call.running.computing.in_turn(
        lambda: while_connected(call.request, archive_of(call.store, call.running.options, body))
    )
    await call.note(Action.EXPORT, "preferences", request=body.model_dump(mode="json", exclude_defaults=True))
    headers = {
        "content-length": str(archive.size),
        "content-disposition": 'attachment; filename="preferences.zip"',
        SUMMARY: json.dumps(archive.summary),
    }
    return StreamingResponse(archive.pieces(), media_type="application/zip", headers=headers)
