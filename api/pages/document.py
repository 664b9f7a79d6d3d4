"""``/docs``: every operation, its parameters and responses on one page; no scripts, no external files."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ..routes.health import schema_of
from .page_route import HEADERS
from .rendering import environment

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def document(request: Request) -> HTMLResponse:
    """``/openapi.json`` as a page."""
    return HTMLResponse(page(await schema_of(request)), headers=HEADERS)


def page(schema: dict[str, Any]) -> str:
    """An OpenAPI document as HTML."""
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append((method.upper(), path, operation))
    return (
        environment()
        .get_template("document.html")
        .render(info=schema["info"], groups=groups, example=lambda content: example(schema, content))
    )


def example(schema: dict[str, Any], content: dict[str, Any]) -> str | None:
    """The first example of a body, as indented JSON; None without examples."""
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    fields = schema.get("components", {}).get("schemas", {}).get(name, {}).get("properties", {})
    value = {field: one["examples"][0] for field, one in fields.items() if one.get("examples")} or None
    value = content.get("example", value)
    if examples := content.get("examples"):
        value = next(iter(examples.values()))["value"]
    return None if value is None else json.dumps(value, indent=2, ensure_ascii=False)
