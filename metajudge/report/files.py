"""Writes a report to a file; the file's name decides the format."""

from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.errors import InputError
from metajudge.files.output import check_writable, write_text

if TYPE_CHECKING:  # most commands write no report
    from metajudge.report.document import Report


def to_json(report: "Report") -> str:
    """The report's data, indented."""
    return report.model_dump_json(indent=2) + "\n"


ENDINGS = (".html", ".htm", ".md", ".json")
"""What a report's file name may end in."""


def check_report_kind(path: Path) -> None:
    """Refuses a file name whose ending names no format of a report.

    Raises:
        InputError: with the endings there are.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a report ends in {', '.join(ENDINGS)}; the ending chooses its format")


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
    match path.suffix.lower():  # a writer is imported when it is needed
        case ".json":
            text = to_json(report)
        case ".md":
            from metajudge.report.markdown import to_markdown

            text = to_markdown(report)
        case _:
            from metajudge.report.html import to_html

            text = to_html(report)
    write_text(path, text)
