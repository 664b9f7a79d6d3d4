"""Writes a report to a file; the file's name decides the format."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.errors import InputError
from metajudge.files.output import check_writable, write_text

if TYPE_CHECKING:  # most commands write no report
    from metajudge.report.document import Report


def to_json(report: "Report") -> str:
    """The report's data, indented."""
    return report.model_dump_json(indent=2) + "\n"


def _html(report: "Report") -> str:
    from metajudge.report.html import to_html

    return to_html(report)


def _markdown(report: "Report") -> str:
    from metajudge.report.markdown import to_markdown

    return to_markdown(report)


FORMATS: "dict[str, Callable[[Report], str]]" = {".html": _html, ".htm": _html, ".md": _markdown, ".json": to_json}
"""File name ending -> writer."""


def check_report_kind(path: Path) -> None:
    """Refuses a file name whose ending names no format of a report.

    Raises:
        InputError: with the endings there are.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a report ends in {', '.join(FORMATS)}; the ending chooses its format")


def check_report_path(path: Path) -> None:
    """Refuses, before any work, a path that could not be written.

    Raises:
        InputError: the ending is of no known format, the folder does not exist, or the path is a folder.
    """
    check_report_kind(path)
    check_writable(path)


def write_report(report: "Report", path: Path) -> None:
    """Writes the report in the format its name asks for, atomically.

    Raises:
        InputError: as :func:`check_report_path`, or the file cannot be written.
    """
    check_report_path(path)
    write_text(path, FORMATS[path.suffix.lower()](report))
