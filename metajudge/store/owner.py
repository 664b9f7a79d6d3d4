"""A note beside a store's file about the service that owns it, so that a command that finds it in use can name the URL.

DuckDB lets one process open a file and gives others its process id, but not its URL.
"""

import contextlib
import json
import os
from pathlib import Path

from metajudge.files.replacing import replacing


def announce(store: Path, url: str) -> None:
    """Writes that this process owns a store and serves it at a URL; call it once the store is open."""
    with replacing(_note(store)) as part:
        part.write_text(json.dumps({"pid": os.getpid(), "url": url}), "utf-8")


def withdraw(store: Path) -> None:
    """Removes this process's note; one of another process is kept."""
    if owner_url(store, os.getpid()) is not None:
        _note(store).unlink(missing_ok=True)


def owner_url(store: Path, pid: int) -> str | None:
    """The URL of the process that has the store open; None if it is not a service, or the note is stale."""
    note = _read(store)
    return None if note is None or note[0] != pid else note[1]


def _read(store: Path) -> tuple[int, str] | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads(_note(store).read_text("utf-8"))
        if isinstance(data["pid"], int) and isinstance(data["url"], str):
            return data["pid"], data["url"]
    return None


def _note(store: Path) -> Path:
    file = store.expanduser().resolve()
    return file.with_name(file.name + ".owner")
