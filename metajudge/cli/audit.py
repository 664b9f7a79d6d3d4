"""``metajudge audit``: what is a judge worth, on the verdicts at hand?"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console

from metajudge.audit.card import AuditDocument, CheckName
from metajudge.auditing import audited_by, demo_judgments
from metajudge.cli.inputs import Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import JsonOption, echo_lines
from metajudge.errors import ConfigurationError, InputError
from metajudge.evidence.verdicts import collected
from metajudge.files.command_line import command
from metajudge.files.output import check_apart, write_text
from metajudge.reading import JudgmentSource
from metajudge.reading.jsonl import to_line
from metajudge.report.audit.page import card, page
from metajudge.report.audit.published import JOINED, SHEET, Given, flags, next_commands, published, sheet, to_label
from metajudge.report.audit.terminal import lines
from metajudge.report.audit.words import counted
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.runs.exit_codes import RunCounts, exit_code
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
        console.print(line, soft_wrap=True)
    if out is not None:
        for name in (PAGE, CARD, JSON, SHEET, JOINED):
            if (out / name).exists():
                typer.echo(f"Written: {shlex.quote(str(out / name))}")


ANY = "any"
CHECKS: tuple[str, ...] = (ANY, *get_args(CheckName))


@reads_judgments
@takes_labels
def audit(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files or folders of judgments; - is standard input.", metavar="INPUT...")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Write report.html, card.md (for a pull request), audit.json, {SHEET} (items for people to label), "
            f"{JOINED} (with the labels of --labels).",
            metavar="DIR",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Exit with 5 if this check has a finding: {', '.join(CHECKS)}. Repeatable.", metavar="CHECK"
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Audit the shipped sample, which has planted biases.")] = False,
    as_json: JsonOption = False,
    *,
    labelling: Labelling,
    reading: Reading,
) -> None:
    """Audit judges: agreement with people, biases, corrected rates.

    Reads verdicts that you have, of any kind, with or without people's labels. Asks no model and needs no key. Exit
    code 0 whatever it finds, 5 with --fail-on.
    """
    if unknown := [name for name in fail_on or () if name not in CHECKS]:
        raise ConfigurationError(f"--fail-on {unknown[0]}: there is no such check; the checks are {', '.join(CHECKS)}")
    if demo == bool(inputs):
        raise ConfigurationError("name a file of judgments, or give --demo for the shipped sample (not both)")
    if out is not None:
        check_folder(out, [*(inputs or ()), *map(str, labelling.labels or ())])
    notices: list[str] = []
    seen: list[str] = []
    rejects = 0
    if demo:
        audited = audited_by(demo_judgments(), right=labelling.rule)
    else:
        source = reading.open(inputs or [])
        labelling.join(source, reading.values)
        audited = audited_by(source, right=labelling.rule)
        notices, rejects = _told(inputs or (), source), source.rejects
        seen = [] if as_json else [*source.lines(collected(audited.judgments, texts=False), audited.judgments[0]), ""]
    sheet = to_label(audited.judgments) if out is not None else []
    joined = audited.judgments if labelling.labels else ()
    given = _given(inputs or [], labelling, reading, out, bool(sheet))
    document = published(
        audited.found,
        inputs=tuple(inputs or ()),
        next_commands=() if demo else next_commands(audited.found, given),
        notices=(*notices, *audited.notices),
    )
    if out is not None:
        write_folder(out, document, sheet, joined)
    echo_lines(seen)
    print_audit(document, out, as_json=as_json)
    if demo and not as_json:
        typer.echo("\nYour own verdicts: metajudge audit FILE [--labels FILE] [--out DIR]")
    missed = _missed(document, fail_on or ())
    raise typer.Exit(exit_code(RunCounts(bad_lines=rejects), strict=reading.strict, bar_missed=missed))


def _told(inputs: Sequence[str], source: JudgmentSource) -> list[str]:
    look = f"`{command('inspect', inputs)}`"
    bad = [f"{counted(source.rejects, 'record')} could not be read; {look} shows why."]
    twice = [f"{counted(source.duplicates, 'record')} repeated an earlier one and counted once."]
    return [*source.notices, *(bad if source.rejects else ()), *(twice if source.duplicates else ())]


def _given(inputs: Sequence[str], labelling: Labelling, reading: Reading, out: Path | None, sheet: bool) -> Given:
    """The options of this call that further commands need as well."""
    on = () if labelling.on is None else ("--on", labelling.on)
    prefix = ("--prefix-ids",) if reading.prefix_ids else ()
    return Given(
        inputs=tuple(inputs),
        labels=(
            *flags("--labels", [str(one) for one in labelling.labels or ()]),
            *on,
            *flags("--labels-map", labelling.labels_map),
        ),
        right=() if labelling.right is None else ("--right", labelling.right),
        reading=(*flags("--map-values", reading.values), *prefix),
        sheet=str(out / SHEET) if out is not None and sheet else None,
    )


def _missed(document: AuditDocument, names: Sequence[str]) -> bool:
    """Names the findings that ``--fail-on`` asks for on standard error; returns whether there are any."""
    found = [(judge, check) for judge, check in document.findings if ANY in names or check.name in names]
    for judge, check in found:
        typer.echo(f"metajudge: --fail-on: {judge.judge}, {check.name}: {check.sentence}", err=True)
    return bool(found)
