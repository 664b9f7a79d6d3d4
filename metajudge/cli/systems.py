"""``metajudge data``, ``pull`` and ``push``: public benchmark data, and the systems where verdicts live."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import say
from metajudge.cli.options import JsonOption, echo_json, tell
from metajudge.errors import ConfigurationError
from metajudge.exports.assessment_lines import read_assessments
from metajudge.files.command_line import command
from metajudge.runs.exit_codes import ExitCode
from metajudge.settings import Settings
from metajudge.systems.catalogue import SYSTEMS, open_system
from metajudge.systems.system import NAME, Note, SystemCallError, note_of
from metajudge.systems.transfer import PullCounts, PushCounts
from metajudge.systems.transfer import pull as pull_records
from metajudge.systems.transfer import push as push_notes

app = typer.Typer(help="Fetch public benchmark data.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _root() -> None:
    """Keeps ``fetch`` a subcommand although it is the only one."""


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A benchmark of `metajudge bench list`.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="A new or empty folder.", metavar="DIR")],
    source: Annotated[
        str | None, typer.Option(help="Another copy of the repository: a URL or a path.", metavar="URL")
    ] = None,
    timeout_s: Annotated[float, typer.Option(help="Timeout of the download in seconds.", min=1)] = 1800.0,
) -> None:
    """Download a benchmark from its public repository, at the commit whose checksum is built in.

    The download is checked before the folder is created; an incomplete one leaves nothing behind. Needs git.
    """
    catalogue = import_module("metajudge.benchmarks.benchmark")
    fetching = import_module("metajudge.benchmarks.fetch")
    card = catalogue.benchmark_named(name).card
    count = fetching.fetch(card, out, source=source, timeout_s=timeout_s)
    typer.echo(f"{out}: {count} files of {card.title} at commit {card.commit}, every object checked.")
    typer.echo(f"Licence: {card.licence}.")
    if card.layout:
        typer.echo(f"Its layout is not read as it is: {card.layout}.")
    typer.echo(f"Use it: {command('bench', card.name, '--data', str(out))}")


SHOWN = 5
SystemArgument = Annotated[str, typer.Argument(help=f"One of {', '.join(SYSTEMS)}.", metavar="SYSTEM")]
UrlOption = Annotated[str | None, typer.Option(help="Its address; default: the variable that its own client reads.")]
ProjectOption = Annotated[str | None, typer.Option(help="Its project, experiment or dataset; default its default one.")]
RateOption = Annotated[float, typer.Option(help="Requests a second at most.")]


def push(
    system: SystemArgument,
    assessments: Annotated[Path, typer.Argument(help="A file of `vet --out`.", metavar="FILE")],
    url: UrlOption = None,
    project: ProjectOption = None,
    name: Annotated[str, typer.Option(help="Name under which it is shown there.")] = NAME,
    link: Annotated[
        str | None, typer.Option(help="Address of an assessment, with {judgment_id} in it; part of the explanation.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="What was sent already; default FILE.SYSTEM.pushed.jsonl.", metavar="FILE")
    ] = None,
    per_second: RateOption = 10.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent; send nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put assessments beside the verdicts they are about: what to do, score, reason.

    Run it again to continue, or to replace what a later `vet` decided otherwise: every verdict has one note.
    """
    if link is not None and "{judgment_id}" not in link:
        raise ConfigurationError("--link needs {judgment_id} where the judgment's id belongs")
    notes = (note_of(one, name=name, link=link) for one in read_assessments(assessments))
    opened = open_system(system, Settings.load().environ, address=url, project=project, per_second=per_second)
    with closing(opened):
        if dry_run:
            _preview(notes, opened.address, as_json)
            return
        where = ledger or assessments.with_name(f"{assessments.name}.{system}.pushed.jsonl")
        counts = push_notes(notes, opened, where)
    _tell_pushed(counts, opened.address, where, as_json)
    raise typer.Exit(ExitCode.INCOMPLETE if counts.failed else ExitCode.DONE)


def pull(
    system: SystemArgument,
    out: Annotated[Path, typer.Option(help="The folder to write to, or to add to.", metavar="DIR")],
    url: UrlOption = None,
    project: ProjectOption = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="From a date, a time, or a span before now (24h, 7d), or all; default: since the last pull.",
            metavar="TIME",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many traces or spans.", min=1)] = None,
    per_second: RateOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Fetch verdicts from where they live, with what they are about, into a folder that `vet` and `audit` read.

    Run it again to fetch what is new; changed records take the place of earlier ones.
    """
    opened = open_system(system, Settings.load().environ, address=url, project=project, per_second=per_second)
    with closing(opened):
        try:
            counts = pull_records(opened, out, since, now=datetime.now(UTC), limit=limit)
        except SystemCallError as failure:
            say(f"{failure}; what came before is in {out}: the same command goes on")
            raise typer.Exit(ExitCode.INCOMPLETE) from None
    _tell_pulled(counts, opened.source, out, as_json)


def _preview(notes: Iterator[Note], address: str, as_json: bool) -> None:
    first = list(islice(notes, SHOWN))
    count = len(first) + sum(1 for _ in notes)
    lines = [f"Nothing was sent. To {address}: {count} notes" + (". The first ones:" if first else "")]
    for note in first:
        score = "no score" if note.score is None else f"{note.score:g}"
        lines.append(f"  on {note.target}: {note.name} = {note.label}, {score}: {note.explanation}")
    tell(as_json, {"address": address, "notes": count, "first": asdict(first[0]) if first else None}, lines)


def _tell_pushed(counts: PushCounts, address: str, ledger: Path, as_json: bool) -> None:
    if as_json:
        echo_json({"address": address, "ledger": str(ledger), **asdict(counts)})
        return
    typer.echo(
        f"{counts.notes} notes for {address}: {counts.created} created, {counts.updated} updated, "
        f"{counts.unchanged} there already, {counts.known} sent before, {counts.failed} failed"
    )
    for failure in counts.failures[:SHOWN]:
        typer.echo(f"  {failure}", err=True)
    if counts.failed > SHOWN:
        typer.echo(f"  and {counts.failed - SHOWN} more: {ledger}", err=True)
    if counts.stopped is not None:
        say(f"stopped: {counts.stopped}. Run the same command again to continue")


def _tell_pulled(counts: PullCounts, source: str, folder: Path, as_json: bool) -> None:
    times = {name: time and time.isoformat() for name, time in (("since", counts.since), ("newest", counts.newest))}
    lines = [f"{part}: {new} new, {counts.replaced[part]} replaced" for part, new in counts.new.items()]
    more = [] if counts.complete else ["The limit was reached: the next pull starts from the same place."]
    data = {"source": source, "folder": str(folder), **asdict(counts), **times}
    tell(as_json, data, [*(lines or ["nothing new"]), *more, f"Next: {command('vet', str(folder))}"])
