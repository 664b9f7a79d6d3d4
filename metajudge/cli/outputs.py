"""Files that a command writes beside its text: one JSON document and reports."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from metajudge.files.output import check_writable, write_text
from metajudge.report.document import Report
from metajudge.report.files import check_report_path, write_report

JsonFileOption = Annotated[Path | None, typer.Option("--json", help="Write every figure as JSON.", metavar="OUT.json")]
ReportOption = Annotated[
    list[Path] | None,
    typer.Option("--report", help="Write a report: .html, .md or .json by its name. Repeatable.", metavar="OUT.html"),
]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What ``--json`` and ``--report`` name."""

    json_out: JsonFileOption = None
    report: ReportOption = None

    def check(self, *others: Path | None) -> None:
        """Fails before any work is done if a file cannot be written.

        Args:
            others: further files of the command.

        Raises:
            ConfigurationError: a file that cannot be written, or a report of an unknown kind.
        """
        for path in (*others, self.json_out):
            if path is not None:
                check_writable(path)
        for path in self.report or ():
            check_report_path(path)

    def write(self, text: Callable[[], str], report: Callable[[], Report]) -> None:
        """Writes the files asked for and names them."""
        if self.json_out is not None:
            write_text(self.json_out, text())
        page = report() if self.report else None
        for path in self.report or ():
            if page is not None:
                write_report(page, path)
        say_written(self.json_out, *(self.report or ()))


def say_written(*paths: Path | None) -> None:
    """Names each file written."""
    for path in paths:
        if path is not None:
            typer.echo(f"Written: {path}")
