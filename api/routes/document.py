"""``/openapi.json``: what the service can do."""

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from ..authorization import declare

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """What the service can do, as OpenAPI."""
    schema = await schema_of(request)
    prefix = request.scope.get("root_path", "").rstrip("/")
    if prefix:  # a proxy serves it below a path of its own
        schema = {"servers": [{"url": prefix}], **schema}
    return Response(orjson.dumps(schema), media_type="application/json")


async def schema_of(request: Request) -> dict[str, Any]:
    """The document; making it takes most of a second, which nobody who is being vetted for should have to wait."""
    return declare(await asyncio.to_thread(request.app.openapi))
