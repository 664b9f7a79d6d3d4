"""Output files on a disk that may be full: which file it was, and what to do, in place of a bare ``OSError``."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from metajudge.errors import OutputError


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Says which output could not be written to its end, where the operating system only says why.

    Raises:
        OutputError: a write failed.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written any further: {error.strerror or error}; make room, and give the same command "
            "again: what is kept in the store is not asked again"
        ) from error


def let_go(file: IO[Any]) -> None:
    """Closes a file of which a write failed; what is still buffered cannot be written either."""
    with suppress(OSError):
        file.close()
