"""A note beside a store's file about the process that owns it: where it answers others, and its URL if it is a service.

DuckDB lets one process open a file and gives others its process id, nothing else.
"""

import contextlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from metajudge.files.replacing import replacing


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that has a store open.

    Attributes:
        address: of the socket on which it answers (:mod:`metajudge.store.sharing`); None if it does not.
        secret: what others prove to know; only this user may read the note.
        url: where it serves pages and requests; None if it is no service.
    """

    pid: int
    address: str | None = None
    secret: str = ""
    url: str | None = None


def announce(store: Path, url: str) -> None:
    """Notes that this process serves a store at a URL; call it once the store is open."""
    write(store, replace(_own(store), url=url))


def withdraw(store: Path) -> None:
    """Notes that this process serves the store no longer at a URL; a note of another process is kept."""
    own = _own(store)
    if own.address is None:
        remove(store)
    else:
        write(store, replace(own, url=None))


def _own(store: Path) -> Owner:
    return owner_of(store, os.getpid()) or Owner(os.getpid())


def write(store: Path, owner: Owner) -> None:
    """Writes the note."""
    with replacing(_note(store), private=True) as part:
        values = {name: getattr(owner, name) for name in Owner.__slots__}
        part.write_text(json.dumps({name: value for name, value in values.items() if value}), "utf-8")


def remove(store: Path) -> None:
    """Removes this process's note; one of another process is kept."""
    if owner_of(store, os.getpid()) is not None:
        _note(store).unlink(missing_ok=True)


def owner_of(store: Path, pid: int) -> Owner | None:
    """What the process that has the store open says of itself; None if it says nothing, or the note is stale."""
    found = _read(store)
    return None if found is None or found.pid != pid else found


def owner_url(store: Path, pid: int) -> str | None:
    """The URL of the process that has the store open; None if it is not a service, or the note is stale."""
    found = owner_of(store, pid)
    return None if found is None else found.url


def _read(store: Path) -> Owner | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        data = json.loads(_note(store).read_text("utf-8"))
        pid, texts = data["pid"], [data.get(name) for name in ("address", "secret", "url")]
        if isinstance(pid, int) and all(one is None or isinstance(one, str) for one in texts):
            return Owner(pid, texts[0], texts[1] or "", texts[2])
    return None


def _note(store: Path) -> Path:
    file = store.expanduser().resolve()
    return file.with_name(file.name + ".owner")
