"""``/openapi.json``, and ``/docs``: every operation, its parameters and its answers on one page; no script, nothing
from elsewhere.
"""

import asyncio
import json
from html import escape
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from ..authorization import declare

router = APIRouter(include_in_schema=False)

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: .9em }
pre { overflow-x: auto; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent) }
summary { cursor: pointer; padding: .35rem 0 }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600 }
table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0; vertical-align: top }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """What the service can do, as OpenAPI."""
    schema = await _schema(request)
    prefix = request.scope.get("root_path", "").rstrip("/")
    if prefix:  # a proxy serves it below a path of its own
        schema = {"servers": [{"url": prefix}], **schema}
    return Response(orjson.dumps(schema), media_type="application/json")


@router.get("/docs")
async def document(request: Request) -> HTMLResponse:
    """The same as ``/openapi.json``, to be read."""
    return HTMLResponse(page(await _schema(request)), headers={"content-security-policy": POLICY})


async def _schema(request: Request) -> dict[str, Any]:
    """The document; making it takes most of a second, which nobody who is being vetted for should have to wait."""
    return declare(await asyncio.to_thread(request.app.openapi))


def page(schema: dict[str, Any]) -> str:
    """A document of OpenAPI as HTML."""
    info = schema["info"]
    groups: dict[str, list[str]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            groups.setdefault(tag, []).append(_operation(schema, method, path, operation))
    parts = [f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in groups.items()]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} {escape(info['version'])}</title><style>{STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))}</p>"
        '<p>The whole document: <a href="openapi.json">openapi.json</a> (OpenAPI). Keys go into '
        f"<code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>.</p>{''.join(parts)}</html>"
    )


def _operation(schema: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    head = (
        f'<summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(operation.get('summary', ''))}</summary>"
    )
    parameters = "".join(map(_parameter, operation.get("parameters", ())))
    bodies = "".join(
        f"<p>Body: <code>{escape(kind)}</code></p>{_example(schema, content)}"
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = ", ".join(f"{status} {one['description']}" for status, one in operation["responses"].items())
    table = f"<table>{parameters}</table>" if parameters else ""
    said = escape(operation.get("description", ""))
    return f"<details>{head}<p>{said}</p>{table}{bodies}<p>Answers: {escape(answers)}.</p></details>"


def _parameter(one: dict[str, Any]) -> str:
    where = f"{one['in']}, required" if one.get("required") else one["in"]
    said = escape(one.get("description", ""))
    return f"<tr><td><code>{escape(one['name'])}</code><td>{escape(where)}<td>{said}"


def _example(schema: dict[str, Any], content: dict[str, Any]) -> str:
    """The first example there is of a body; nothing where there is none."""
    examples = content.get("examples")
    if examples:
        return _shown(next(iter(examples.values()))["value"])
    if "example" in content:
        return _shown(content["example"])
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    fields = schema.get("components", {}).get("schemas", {}).get(name, {}).get("properties", {})
    given = {field: one["examples"][0] for field, one in fields.items() if one.get("examples")}
    return _shown(given) if given else ""


def _shown(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"
