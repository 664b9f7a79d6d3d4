"""Replaces a file in one step, so that no reader sees half of it and a failure leaves the old content."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""No room on the disk, no quota left, the file may not grow, the device failed."""


@contextmanager
def replacing(path: Path, *, private: bool = False, durable: bool = False) -> Iterator[Path]:
    """An empty file beside ``path`` to write to; it takes the place of ``path`` unless the block raises.

    Args:
        private: only this user may read the file.
        durable: return after the content and the new name are on the disk.

    Raises:
        OSError: the file cannot be written or moved to its place.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield part
        if durable:
            sync(part)
        os.replace(part, path)
        if durable:
            sync(path.parent)
    finally:
        with suppress(OSError):  # a folder that cannot be written contains no partial file either
            part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Waits until a file's content, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
