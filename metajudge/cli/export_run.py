"""How ``metajudge export preferences`` runs: its progress, its report."""

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import typer
from pydantic import ValidationError

from metajudge.cli.inputs import Reading
from metajudge.cli.options import echo_json, store_path
from metajudge.errors import ConfigurationError, InputError
from metajudge.files.command_line import command
from metajudge.files.output import check_apart
from metajudge.preferences import ExportRequest, ExportResult, export
from metajudge.runs.exit_codes import RunCounts, exit_code

LIVE_EVERY_S = 0.2
PLAIN_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class ExportSource:
    """What is exported: a store, or a file of assessments with the judgments they were made from.

    Attributes:
        calibration: file that the guaranteed threshold is taken from.
        decontaminate: benchmarks whose items are removed.
    """

    store: str | None
    assessments: Path | None
    judgments: list[str]
    calibration: Path | None
    decontaminate: list[Path]


def request_of(asked: Mapping[str, object]) -> ExportRequest:
    """The request that the options make.

    Raises:
        ConfigurationError: an option is invalid; the message names it.
    """
    try:
        return ExportRequest.model_validate(asked)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(
            f"{_option(first['loc'])}: {why[0].lower()}{why[1:]}, not {first['input']!r}"
        ) from None


def run_export(out: Path, request: ExportRequest, source: ExportSource, reading: Reading, as_json: bool) -> int:
    """Runs the export and prints its result; returns the exit code."""
    from_files = source.assessments is not None or bool(source.judgments)
    if from_files and source.store is not None:
        raise InputError("--store and --assessments exclude each other: name one source")
    check_apart(
        [*source.judgments, *source.decontaminate, *([source.assessments] if source.assessments else [])], [out]
    )
    if reading.mapping is not None and source.judgments:
        reading.open(source.judgments)  # which keeps the mapping
    with StageBar() as bar:
        result = export(
            out,
            request,
            store=None if from_files else store_path(source.store),
            assessments=source.assessments,
            judgments=source.judgments or None,
            calibration=source.calibration,
            decontaminate=source.decontaminate,
            watch=bar.begin,
            mapping=reading.mapping,
            prefix_ids=reading.prefix_ids,
        )
    unreadable = result.stats["read"]["unreadable_lines"]
    if as_json:
        echo_json({"out": str(out), "rows": result.rows, "resumed": result.resumed, **result.stats})
    else:
        _print(out, result)
    return exit_code(RunCounts(bad_lines=unreadable), strict=reading.strict)


_OPTIONS = {"judges": "judge", "categories": "category", "decisions": "decision", "runs": "run", "panels": "panel"}


def _option(place: tuple[int | str, ...]) -> str:
    """The option behind a field of the request."""
    name = str(place[1] if place[0] == "filters" and len(place) > 1 else place[0])
    return "--" + _OPTIONS.get(name, name).replace("_", "-")


def _print(out: Path, result: ExportResult) -> None:
    for step in result.steps:
        dropped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in step.dropped.items() if count)
        typer.echo(
            f"{step.name:<18} {step.before:>10,} -> {step.after:>10,} {step.unit}"
            + (f"  ({dropped})" if dropped else "")
        )
    _print_kinds(result.stats)
    _print_decisions(result.stats)
    for sentence in result.stats["guarantees"]:
        typer.echo(sentence)
    after = result.stats["lengths"]["after"]
    if after["chosen_longer"] is not None:
        typer.echo(f"Longer is chosen in {100 * after['chosen_longer']:.1f} % of the pairs that differ in length.")
    rows = ", ".join(f"{part} {count:,}" for part, count in result.rows.items())
    typer.echo(f"{out}: {rows} rows. Check it any time: {command('export', 'check', str(out))}")
    _print_notes(result)


def _print_kinds(stats: dict[str, Any]) -> None:
    """Kept judgments by kind, unless all are pairwise."""
    kept = {name.replace("_", " "): count["kept"] for name, count in stats["kinds"].items() if count["kept"]}
    if set(kept) <= {"pairwise"}:
        return
    made = "grades and categories" if stats["from_grades"] else "comparisons"
    listed = ", ".join(f"{count:,} {name}" for name, count in kept.items())
    typer.echo(f"Kept by kind of verdict: {listed}. The rows are from {made}.")


def _print_decisions(stats: dict[str, Any]) -> None:
    """Rows kept and dropped by people, policy and rule; nothing if only the rule decided."""
    decided = stats["decisions"]
    if decided["ignored"]:
        typer.echo("Decisions of people and policies were ignored, as requested; the card notes it.")
        return
    kept, dropped = decided["kept"], decided["dropped"]
    if not any(kept[name] for name in kept if name != "rule") and not any(
        dropped[name] for name in dropped if name != "rule"
    ):
        return
    people = kept["people"] + kept["people_corrected"]
    corrected = f" ({kept['people_corrected']:,} with a person's verdict)" if kept["people_corrected"] else ""
    typer.echo(
        f"Kept by people {people:,}{corrected}, by a policy {kept['policy']:,}, by the rule {kept['rule']:,}; "
        f"dropped by people {dropped['people']:,}, by a policy {dropped['policy']:,}, by the rule "
        f"{dropped['rule']:,}; waiting for review {dropped['waiting_for_review']:,}."
    )
    if decided["outside_guarantee"]:
        typer.echo(
            f"{decided['outside_guarantee']:,} judgments were kept by people or a policy alone: the guarantee does not "
            f"cover their {stats['rows_outside_guarantee']:,} rows."
        )


def _print_notes(result: ExportResult) -> None:
    """Reports unusable input on standard error."""
    read = result.stats["read"]
    if read["conflicting_items"]:
        ids = read["conflicting_item_ids"]
        more = f" and {read['conflicting_items'] - len(ids):,} more" if len(ids) < read["conflicting_items"] else ""
        typer.echo(
            f"{read['conflicting_items']:,} item ids have two different contents and were left out: "
            f"{', '.join(ids)}{more}.",
            err=True,
        )
    if read.get("by_people"):  # absent from an export that an earlier version began
        typer.echo(
            f"{read['by_people']:,} scores by people are about no item that a judge judged; `metajudge inspect` names "
            "them.",
            err=True,
        )
    if read["unreadable_lines"]:
        typer.echo(f"{read['unreadable_lines']} input lines could not be read as judgments.", err=True)
    if read["changed_since"]:
        typer.echo(f"{read['changed_since']} judgments differ from the vetted record (their digests differ).", err=True)
    if not result.stats["request"]["licences"]:
        typer.echo("metajudge: note: no licence given, as the card notes: add one with --licence TEXT", err=True)


class StageBar:
    """Progress of an export on standard error: a live bar on a terminal, else a plain line at intervals."""

    def __init__(self) -> None:
        self._name, self._number, self._count = "read", 0, 7
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._started = time.monotonic()
        self._over = threading.Event()
        self._live = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "StageBar":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._connection = None
        if self._live:
            print("\r\033[K", end="", file=sys.stderr)  # noqa: T201

    def begin(self, name: str, number: int, count: int, connection: duckdb.DuckDBPyConnection) -> None:
        """A stage begins."""
        self._name, self._number, self._count, self._connection = name, number, count, connection

    def _run(self) -> None:
        while not self._over.wait(LIVE_EVERY_S if self._live else PLAIN_EVERY_S):
            text = f"\r\033[K{self.line()}" if self._live else f"metajudge: {self.line()}\n"
            print(text, end="", file=sys.stderr, flush=True)  # noqa: T201

    def line(self) -> str:
        """The state in one line."""
        within = 0.0
        if self._connection is not None:
            try:
                within = max(self._connection.query_progress(), 0.0) / 100
            except Exception:
                within = 0.0
        share = (self._number + min(within, 1.0)) / self._count
        filled = int(30 * share)
        elapsed = int(time.monotonic() - self._started)
        return f"[{'#' * filled}{'.' * (30 - filled)}] {self._number + 1}/{self._count} {self._name}, {elapsed} s"
