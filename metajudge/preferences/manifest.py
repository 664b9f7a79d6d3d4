"""``manifest.json``: what the folder is, how it was asked for, and the digest of every file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.installation import __version__

MANIFEST: Final = "manifest.json"
STATS: Final = "stats.json"
CARD: Final = "README.md"
FORMAT_VERSION: Final = 1


def pretty(data: Any) -> bytes:
    """JSON for people, with sorted keys: the same data gives the same bytes."""
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def write_manifest(folder: Path, about: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the manifest over all files that are in the folder.

    Args:
        folder: whole but for the manifest.
        about: request and inputs.
        described: data file -> what :func:`describe` says of it.
    """
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    files = {name: described.get(name) or describe(folder / name) for name in names if name != MANIFEST}
    data = {"format_version": FORMAT_VERSION, "metajudge_version": __version__, **about, "files": files}
    (folder / MANIFEST).write_bytes(pretty(data))


def describe(path: Path, rows: int | None = None) -> dict[str, Any]:
    """Size and SHA-256 of a file, and its rows where it has any."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": found} | ({} if rows is None else {"rows": rows})
