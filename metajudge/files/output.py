"""Output files of a command: checked before the work begins, written in one step."""

import os
from collections.abc import Iterable
from pathlib import Path

from metajudge.errors import InputError, OutputError
from metajudge.files.replacing import FULL, replacing


def check_writable(path: Path) -> None:
    """Raises :class:`InputError` where no file of that name can be made."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")


def check_apart(inputs: Iterable[Path | str], outputs: Iterable[Path | None]) -> None:
    """Refuses an output that is also an input, lies in a folder that is one, or is another output.

    What is written would replace what is there, or be read as input by the next run.

    Raises:
        InputError: naming the file.
    """
    read = {os.path.realpath(one): one for one in inputs}
    named: set[str] = set()
    for path in outputs:
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in read:
            raise InputError(f"{path} is read and would be overwritten: write to another file")
        for folder in map(str, Path(place).parents):
            if folder in read:
                raise InputError(
                    f"{path} lies in the folder {read[folder]}, which is read: the next run would find it there; "
                    "write outside of it"
                )
        if place in named:
            raise InputError(f"{path} is named for two outputs: give each its own file")
        named.add(place)


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Replaces a file in one step, so that no reader sees half of it.

    Args:
        path: what to write.
        text: all of it, or its parts one after the other.

    Raises:
        InputError: the file cannot be written.
        OutputError: it cannot be written to its end.
    """
    try:
        with replacing(path) as part, part.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
    except OSError as error:
        if error.errno in FULL:
            raise OutputError(
                f"{path}: {error.strerror}: the old file is kept; free disk space, then run it again"
            ) from None
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
