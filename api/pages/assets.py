"""Style, scripts and other files that ship with the pages, under addresses that change with their content."""

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
        """Its address, which names its content: it may be kept forever."""
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
        KeyError: there is none of that name.
    """
    return _assets()[name].address


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file, by the address of its content or by its plain name."""
    found = next((one for one in _assets().values() if one.address == request.url.path), None)
    headers: dict[str, Any] = {"Cache-Control": FOREVER}
    if found is None:
        found = _assets().get(name)
        headers["Cache-Control"] = "no-cache"
    if found is None:
        raise HTTPException(404, f"there is no file {name!r}")
    charset = "; charset=utf-8" if found.media_type.startswith("text/") else ""
    return Response(found.content, media_type=None, headers={**headers, "Content-Type": found.media_type + charset})
