"""A report to a file; the file's name says the format."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from metajudge.errors import InputError, OutputError
from metajudge.files.replacing import FULL, replacing
from metajudge.report.document import Report
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown


def to_json(report: Report) -> str:
    """The report's data, indented."""
    return report.model_dump_json(indent=2) + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    ".html": to_html,
    ".htm": to_html,
    ".md": to_markdown,
    ".json": to_json,
}
"""File name ending -> writer."""


def check_report_path(path: Path) -> None:
    """Refuses, before any work, a path that could not be written.

    Raises:
        InputError: the ending is of no known format, the folder does not exist, or the path is a folder.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a report ends in {', '.join(FORMATS)}; the ending chooses its format")
    check_writable(path)


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
            raise InputError(f"{path} is named for two outputs: give each a file of its own")
        named.add(place)


def write_report(report: Report, path: Path) -> None:
    """Writes the report in the format its name asks for, at once or not at all.

    Raises:
        InputError: as :func:`check_report_path`, or the file cannot be written.
    """
    check_report_path(path)
    write_text(path, FORMATS[path.suffix.lower()](report))


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Replaces a file in one step, so that nobody ever reads half of it.

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
            raise OutputError(f"{path}: {error.strerror}: what was there stays; make room, then run it again") from None
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
