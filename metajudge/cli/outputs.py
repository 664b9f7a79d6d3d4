"""Files that a command writes beside its text: one JSON document and reports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from metajudge.cli.options import JsonOption, ReportOption, echo_json, echo_lines
from metajudge.files.output import check_writable, write_text

if TYPE_CHECKING:
    from metajudge.report.document import Report

JsonFileOption = Annotated[
    Path | None, typer.Option("--json-out", help="Write every figure as JSON to a file.", metavar="OUT.json")
]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What ``--json-out`` and ``--report`` name, and whether ``--json`` prints JSON in place of text."""

    json_out: JsonFileOption = None
    report: ReportOption = None
    as_json: JsonOption = False

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
        check_reports(self.report)

    def tell(self, line: str) -> None:
        """Prints a line of text; beside JSON on standard output, on standard error."""
        typer.echo(line, err=self.as_json)

    def write(self, text: Callable[[], str], report: "Callable[[], Report]") -> None:
        """Writes the files asked for and names them; prints the JSON if that is asked for."""
        data = versioned(text()) if self.as_json or self.json_out is not None else ""
        if self.json_out is not None:
            write_text(self.json_out, data)
        if self.as_json:
            typer.echo(data, nl=False)
        if self.report:
            from metajudge.report.files import write_report

            page = report()
            for path in self.report:
                write_report(page, path)
        say_written(self.json_out, *(self.report or ()), err=self.as_json)


def tell(as_json: bool, data: Mapping[str, object], lines: Iterable[str], *, indent: bool = False) -> None:
    """Prints what a command found: as one JSON object where that is asked for, else as lines of text."""
    if as_json:
        echo_json(data, indent=indent)
    else:
        echo_lines(lines)


def check_reports(paths: Sequence[Path] | None) -> None:
    """Refuses, before any work, a report that could not be written; most commands write none, and import nothing.

    Raises:
        InputError: see :func:`metajudge.report.files.check_report_path`.
    """
    if paths:
        from metajudge.report.files import check_report_path

        for path in paths:
            check_report_path(path)


def versioned(text: str) -> str:
    """A JSON object that says the version of its format."""
    data = orjson.loads(text)
    if not isinstance(data, dict) or "version" in data:
        return text
    whole = {"version": 1, **data}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def say_written(*paths: Path | None, err: bool = False) -> None:
    """Names each file written."""
    for path in paths:
        if path is not None:
            typer.echo(f"Written: {path}", err=err)
