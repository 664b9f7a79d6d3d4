"""The output of ``metajudge audit``: lines for a terminal, JSON, and a folder of files."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from metajudge.errors import InputError
from metajudge.files.output import check_apart, write_text
from metajudge.readers.jsonl import to_line
from metajudge.report.audit.commands import JOINED
from metajudge.report.audit.page import card, page
from metajudge.report.audit.published import AuditDocument
from metajudge.report.audit.sheet import SHEET, sheet
from metajudge.report.audit.terminal import Line, lines
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.types import Item, Judgment

PAGE, CARD, JSON = "report.html", "card.md", "audit.json"


def check_folder(folder: Path, inputs: Sequence[str]) -> None:
    """Makes the folder if it is missing.

    Raises:
        InputError: a file of that name exists, the folder cannot be made, or a file in it would replace an input.
    """
    check_apart([one for one in inputs if one != "-"], [folder / name for name in (PAGE, CARD, JSON, JOINED)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.exists() else error.strerror or str(error)
        raise InputError(f"--out {folder}: the folder cannot be made: {reason}; name another one") from None


def write_folder(
    folder: Path, document: AuditDocument, to_label: Sequence[Item], joined: Sequence[Judgment] = ()
) -> None:
    """Writes the page, the card and the JSON; if there are any, the items to label and the labelled judgments.

    A table of items to label that exists is kept: it may hold labels by now.
    """
    if joined:
        write_text(folder / JOINED, (to_line(one).decode() for one in joined))
    write_text(folder / PAGE, to_html(page(document)))
    write_text(folder / CARD, to_markdown(card(document)))
    write_text(folder / JSON, document.model_dump_json(indent=2) + "\n")
    if to_label and not (folder / SHEET).exists():
        write_text(folder / SHEET, sheet(to_label))


def print_audit(document: AuditDocument, out: Path | None, *, as_json: bool) -> None:
    """Prints the audit, as text or as JSON, and names the folder written."""
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
        return
    console = Console(highlight=False)
    for line in lines(document):
        console.print(_styled(line), soft_wrap=True)
    if out is not None:
        for name in (PAGE, CARD, JSON, SHEET, JOINED):
            if (out / name).exists():
                typer.echo(f"Written: {shlex.quote(str(out / name))}")


def _styled(line: Line) -> Text:
    text = Text(line.text)
    if line.styled:
        text.stylize(line.style, 0, line.styled)
    return text
