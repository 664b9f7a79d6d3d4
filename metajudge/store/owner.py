"""Which service owns a store's file: noted beside it, so that a command that finds it in use can say where to ask.

DuckDB lets one process have a file, and names that process to others, but not what it is.
"""

import contextlib
import json
import os
from pathlib import Path

from metajudge.files.replacing import replacing


def announce(store: Path, url: str) -> None:
    """Notes that this process owns a store and answers at a URL; call it once the store is open."""
    with replacing(_note(store)) as part:
        part.write_text(json.dumps({"pid": os.getpid(), "url": url}), "utf-8")


def withdraw(store: Path) -> None:
    """Removes this process's note; another's stays."""
    if owner_url(store, os.getpid()) is not None:
        _note(store).unlink(missing_ok=True)


def owner_url(store: Path, pid: int) -> str | None:
    """Where the process that has the store's file answers; None where it is no service, or left its note behind."""
    said = _read(store)
    return None if said is None or said[0] != pid else said[1]


def _read(store: Path) -> tuple[int, str] | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads(_note(store).read_text("utf-8"))
        if isinstance(said["pid"], int) and isinstance(said["url"], str):
            return said["pid"], said["url"]
    return None


def _note(store: Path) -> Path:
    file = store.expanduser().resolve()
    return file.with_name(file.name + ".owner")
