"""Static files of the pages, under addresses that contain a digest of their content."""

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response

FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    name: str
    content: bytes
    digest: str
    media_type: str

    @property
    def address(self) -> str:
        """Its address with the content digest: it may be cached forever."""
        stem, dot, suffix = self.name.partition(".")
        return f"/static/{stem}.{self.digest}{dot}{suffix}"


@cache
def _assets() -> dict[str, Asset]:
    found = {}
    for path in sorted(FOLDER.iterdir()):
        content = path.read_bytes()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        found[path.name] = Asset(path.name, content, hashlib.sha256(content).hexdigest()[:12], kind)
    return found


def asset(name: str) -> str:
    """The address of a file of ``static/``.

    Raises:
        KeyError: no file has this name.
    """
    return _assets()[name].address


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file by its digest address or its plain name."""
    found = next((file for file in _assets().values() if file.address == request.url.path), None)
    headers: dict[str, Any] = {"Cache-Control": FOREVER}
    if found is None:
        found = _assets().get(name)
        headers["Cache-Control"] = "no-cache"
    if found is None:
        raise HTTPException(404, f"there is no file {name!r}")
    charset = "; charset=utf-8" if found.media_type.startswith("text/") else ""
    return Response(found.content, media_type=None, headers={**headers, "Content-Type": found.media_type + charset})
