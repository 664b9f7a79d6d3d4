"""``metajudge show``, ``runs``, ``forget`` and ``store``: the records of a store, and copies of a whole one."""

import asyncio
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from metajudge.cli import options
from metajudge.cli.loop import say, with_store
from metajudge.errors import ConfigurationError, InputError
from metajudge.files.command_line import command, store_words
from metajudge.report.document import Table
from metajudge.report.tables import columns, table_to_text
from metajudge.reviewables.accounts import account_of
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import RunRecord, Store
from metajudge.store.forgetting import affected
from metajudge.store.run_view import query_run
from metajudge.types.location import store_location


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="The id of a judgment, item, run, case, review or proposal; or a policy's name.", metavar="ID"
        ),
    ],
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    report: options.ReportOption = None,
    sql: Annotated[
        str | None, typer.Option(help="Query the results of a run: SELECT ... FROM results.", metavar="SELECT")
    ] = None,
) -> None:
    """Explain what is stored under an id or a name: what was judged, what to do, why, and what would change it.

    --json prints all of it. "assessments" contains the current version of each judgment and panel: the panel's
    assessment with its newest probability and decision. "history" contains the other versions. --report writes the
    report of a run of vet. --sql asks about a run: the view results has a row for each judgment and panel with
    judgment_id, item_id, judge, category, verdict, label, status, kept, score, probability, action, policy, strategy,
    panel and decided_at. Nothing can be changed by it.
    """
    options.check_reports(report)
    if report and sql is not None:
        raise ConfigurationError("give --sql or --report, not both")
    found = with_store(store, lambda opened: opened.show(name))
    if found is None:
        raise InputError(f"the store has no judgment, item, run, case, review, proposal or policy {name!r}")
    option = "--report" if report else "--sql" if sql is not None else None
    if option is not None and not found["runs"]:
        raise InputError(f"{option} is about a run, and {name!r} is none: `metajudge runs` lists them")
    if report:
        _write_reports(store, RunRecord(**found["runs"][0]), report)
    elif sql is not None:
        _answer(store, str(found["runs"][0]["run_id"]), sql, as_json=as_json)
    elif as_json:
        typer.echo(orjson.dumps({"version": 1, **found}, option=orjson.OPT_INDENT_2, default=str).decode())
    else:
        options.echo_lines(account_of(found, store_words(store)))


def _answer(store: str | None, run: str, sql: str, *, as_json: bool) -> None:
    """Prints what a query over a run's results finds."""
    where = options.store_path(store)
    if not query_run(where, run, "SELECT 1 FROM results LIMIT 1").rows:
        raise InputError(f"run {run} stored no results of vetting of its own: `metajudge runs` lists others")
    found = query_run(where, run, sql)
    cells = tuple(tuple("" if value is None else str(value) for value in row) for row in found.rows)
    caption = f"{run}: {len(cells):,} row{'s' * (len(cells) != 1)}"
    shown = Table(caption=caption, columns=columns(*found.columns), rows=cells)
    options.tell(as_json, {"columns": found.columns, "rows": found.rows}, [table_to_text(shown)])


def _write_reports(store: str | None, run: RunRecord, paths: list[Path]) -> None:
    from metajudge.report.files import write_report
    from metajudge.vetting.report.page import Place
    from metajudge.vetting.report.stored import report_of_run, when

    place = Place(command=command("show", run.run_id), at=when(run.started_at))
    made = with_store(store, lambda opened: report_of_run(opened, run, place))
    for path in paths:
        write_report(made, path)
    options.say_written(*paths)


def runs(
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    limit: Annotated[int, typer.Option(help="Maximum number of runs.", min=1)] = 20,
) -> None:
    """List runs, newest first."""
    from metajudge.vetting.summary import outcomes_in  # needed here alone

    def line(one: RunRecord) -> str:
        started = datetime.fromtimestamp(one.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        summary = one.summary or {}
        found = outcomes_in(summary) or {name: summary[name] for name in ("failed",) if name in summary}
        found |= {name: summary[name] for name in ("calls",) if name in summary}
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found.items())
        return f"{one.run_id}  {started}  {one.command:<8} {one.status:<12} {counts}"

    listed = with_store(store, lambda opened: opened.runs(limit))
    options.tell(as_json, {"runs": [asdict(one) for one in listed]}, map(line, listed), indent=True)


def forget(
    item: Annotated[str, typer.Argument(help="An item's or a case's id.", metavar="ITEM")],
    store: options.StoreOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be redacted; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where there is no terminal.")] = False,
) -> None:
    """Redact the texts of an item or a case; digests and numbers are kept. It cannot be undone.

    The texts of its judgments, verdicts and replies are also redacted. It asks before; --dry-run counts. A file is
    written anew, which takes a while for some GB.
    """
    if not (yes or dry_run or sys.stdin.isatty()):
        raise ConfigurationError("forget cannot be undone: give --yes where it cannot ask, or --dry-run to count")
    unknown = InputError(f"the store has no text of an item {item!r}")
    if dry_run or not yes:
        counts = with_store(store, lambda opened: opened.ask(lambda connection: affected(connection, item)))
        if not counts:
            raise unknown
        said = ", ".join(f"{count:,} {_ROWS[table]}" for table, count in counts.items())
        typer.echo(f"{item}: the texts of {said} {'would be' if dry_run else 'will be'} redacted, for good.")
        if dry_run:
            return
        if not typer.confirm("Redact them?"):
            typer.echo("Nothing was changed.")
            raise typer.Exit(ExitCode.USAGE)
    count = with_store(store, lambda opened: _forgotten(opened, item))
    if count == 0:
        raise unknown
    typer.echo(f"{item}: {count} records redacted. Copies of the store and exported files are not changed.")


PROGRESS_S = 10.0
"""Seconds between two notes while a file is written anew."""


async def _forgotten(store: Store, item: str) -> int:
    """Forgets an item; a large file takes its time to be written anew."""
    task = asyncio.create_task(store.forget(item))
    while not (await asyncio.wait([task], timeout=PROGRESS_S))[0]:
        say("removing the texts from the store's files")
    return await task


_ROWS = {
    "annotations": "probabilities and decisions",
    "assessments": "assessments",
    "items": "items",
    "judgments": "judgments",
    "reviews": "reviews",
    "review_decisions": "people's decisions",
    "review_events": "comments and amendments",
    "drafts": "drafted changes",
    "calls": "calls",
}


PROGRESS_EVERY_S = 2.0

app = typer.Typer(help="Copy a whole store to another.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    pass


@app.command("copy")
def copy(
    source: Annotated[
        str,
        typer.Argument(
            help="The store to copy: a file, of version 0.2 or earlier too, or postgresql://...",
            metavar="OLD",
            show_default=False,
        ),
    ],
    target: Annotated[str, typer.Argument(help="The copy: a file or postgresql://..., empty or new.", metavar="NEW")],
    rename: Annotated[
        bool, typer.Option("--rename", help="Once all is copied, name OLD (a file) OLD.old and give NEW its name.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            help="What the names of a service's own files of version 0.2 begin with, if not with OLD.", metavar="PREFIX"
        ),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Copy a whole store into another one, and verify the copy.

    OLD is not changed: a file of version 0.2 or earlier is read with what lies beside it (its log, and a service's
    jobs, answers and budget of the day). After an interruption run the same command again to resume; later runs add
    new records. A NEW with other content is refused and not changed.
    """
    from metajudge.store.copying import copy_store  # needed here alone

    places = store_location(source), store_location(target)
    done = copy_store(*places, state=state, rename=rename, watch=_Progress())
    if as_json:
        options.echo_json(
            {"from": str(places[0]), "to": str(places[1]), "renamed": rename, "tables": list(map(asdict, done))}
        )
        return
    width = max(len(one.table) for one in done)
    for one in (one for one in done if one.rows):
        typer.echo(f"{one.table:<{width}}  {one.rows:>10,} rows, {one.added:,} of them new")
    typer.echo(f"{places[1]} contains all of {places[0]}: counts and SHA-256 of every table are the same.")
    if rename:
        typer.echo(f"{places[0]} is {places[0]}.old now, with what lies beside it, and {places[1]} is {places[0]}.")


class _Progress:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, table: str, done: int, total: int) -> None:
        if time.monotonic() - self._last >= PROGRESS_EVERY_S:
            self._last = time.monotonic()
            print(f"metajudge: {table}: {done:,} of {total:,} rows", file=sys.stderr)  # noqa: T201
