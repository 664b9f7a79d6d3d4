"""``/openapi.json``: the OpenAPI document."""

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from ..declaring import declare

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The OpenAPI document of the service."""
    schema = await schema_of(request)
    prefix = request.scope.get("root_path", "").rstrip("/")
    if prefix:  # a proxy serves the service under a path prefix
        schema = {"servers": [{"url": prefix}], **schema}
    return Response(orjson.dumps(schema), media_type="application/json")


async def schema_of(request: Request) -> dict[str, Any]:
    """The document; building it takes most of a second, so it is built in a thread."""
    keyed = not request.app.state.service.keys.empty
    return declare(await asyncio.to_thread(request.app.openapi), keyed=keyed)
