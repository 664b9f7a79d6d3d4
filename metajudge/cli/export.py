"""``metajudge export``: preference datasets from vetted verdicts, and their check."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_judgments
from metajudge.cli.options import JsonOption, StoreOption, echo_json, store_path, tell
from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, ExportResult, export
from metajudge.exports import check as check_folder
from metajudge.exports.export import Watcher
from metajudge.files.command_line import command
from metajudge.files.output import check_apart
from metajudge.runs.exit_codes import ExitCode, RunCounts, exit_code

LIVE_EVERY_S = 0.2
PLAIN_EVERY_S = 5.0


def request_of(asked: Mapping[str, object]) -> ExportRequest:
    """The request that the options make.

    Raises:
        ConfigurationError: an option is invalid; the message names it.
    """
    try:
        return ExportRequest.model_validate(asked)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, why = first["loc"], first["msg"].removeprefix("Value error, ")
        name = str(place[1] if place[0] == "filters" and len(place) > 1 else place[0])
        option = "--" + _OPTIONS.get(name, name).replace("_", "-")
        raise ConfigurationError(f"{option}: {why[0].lower()}{why[1:]}, not {first['input']!r}") from None


_OPTIONS = {"judges": "judge", "categories": "category", "decisions": "decision", "runs": "run", "panels": "panel"}


def _print(out: Path, result: ExportResult) -> None:
    for step in result.steps:
        dropped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in step.dropped.items() if count)
        counts = f"{step.name:<18} {step.before:>10,} -> {step.after:>10,} {step.unit}"
        typer.echo(f"{counts}  ({dropped})" if dropped else counts)
    kinds = {name.replace("_", " "): count["kept"] for name, count in result.stats["kinds"].items() if count["kept"]}
    if set(kinds) - {"pairwise"}:
        made = "grades and categories" if result.stats["from_grades"] else "comparisons"
        listed = ", ".join(f"{count:,} {name}" for name, count in kinds.items())
        typer.echo(f"Kept by kind of verdict: {listed}. The rows are from {made}.")
    _print_decisions(result.stats)
    for sentence in result.stats["guarantees"]:
        typer.echo(sentence)
    after = result.stats["lengths"]["after"]
    if after["chosen_longer"] is not None:
        typer.echo(f"Longer is chosen in {100 * after['chosen_longer']:.1f} % of the pairs that differ in length.")
    rows = ", ".join(f"{part} {count:,}" for part, count in result.rows.items())
    typer.echo(f"{out}: {rows} rows. Check it any time: {command('export', 'check', str(out))}")
    _print_notes(result)


def _print_decisions(stats: dict[str, Any]) -> None:
    """Rows kept and dropped by people, policy and rule; nothing if only the rule decided."""
    decided = stats["decisions"]
    if decided["ignored"]:
        typer.echo("Decisions of people and policies were ignored, as requested; the card notes it.")
        return
    kept, dropped = decided["kept"], decided["dropped"]
    if not any(counts[name] for counts in (kept, dropped) for name in counts if name != "rule"):
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
    read = result.stats["read"]
    if read["conflicting_items"]:
        ids = read["conflicting_item_ids"]
        more = f" and {read['conflicting_items'] - len(ids):,} more" if len(ids) < read["conflicting_items"] else ""
        typer.echo(
            f"{read['conflicting_items']:,} item ids have two different contents and were left out: "
            f"{', '.join(ids)}{more}.",
            err=True,
        )
    for count, what in (
        (
            f"{read['by_people']:,}",
            "scores by people are about no item that a judge judged; `metajudge inspect` names them.",
        ),
        (read["unreadable_lines"], "input lines could not be read as judgments."),
        (read["changed_since"], "judgments differ from the vetted record (their digests differ)."),
    ):
        if count not in (0, "0"):
            typer.echo(f"{count} {what}", err=True)
    if not result.stats["request"]["licences"]:
        typer.echo("metajudge: note: no licence given, as the card notes: add one with --licence TEXT", err=True)


@contextlib.contextmanager
def shown() -> Iterator[Watcher]:
    """Shows on standard error which stage an export is at: a live bar on a terminal, else a plain line at intervals."""
    live, over, started = sys.stderr.isatty(), threading.Event(), time.monotonic()
    at: list[Any] = ["read", 0, 7, None]

    def line() -> str:
        name, number, count, connection = at
        within = 0.0
        with contextlib.suppress(Exception):  # of a connection that is closed, or not there yet
            within = max(connection.query_progress(), 0.0) / 100
        filled = int(30 * (number + min(within, 1.0)) / count)
        elapsed = int(time.monotonic() - started)
        return f"[{'#' * filled}{'.' * (30 - filled)}] {number + 1}/{count} {name}, {elapsed} s"

    def run() -> None:
        while not over.wait(LIVE_EVERY_S if live else PLAIN_EVERY_S):
            print(f"\r\033[K{line()}" if live else f"metajudge: {line()}\n", end="", file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield lambda *stage: at.__setitem__(slice(None), stage)
    finally:
        over.set()
        thread.join()
        if live:
            print("\r\033[K", end="", file=sys.stderr)  # noqa: T201


app = typer.Typer(
    help="Write preference datasets from vetted verdicts, and check them.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("preferences")
@reads_judgments
def preferences(
    out: Annotated[Path, typer.Option(help="Output folder; it must not exist yet.", metavar="DIR")],
    kind: Annotated[
        str, typer.Option(help="responses (the better answer), or judgments (the better judgment, to train judges).")
    ] = "responses",
    layout: Annotated[
        str, typer.Option("--format", help="trl, trl-conversational, ultrafeedback, kto, jsonl or parquet.")
    ] = "trl",
    store: StoreOption = None,
    run: Annotated[
        list[str] | None,
        typer.Option(help="Only judgments vetted by this run (needs a store). Repeatable.", metavar="ID"),
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Only judgments by this judge. Repeatable.", metavar="ID")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Only items of this category. Repeatable.", metavar="NAME")
    ] = None,
    decision: Annotated[
        list[str] | None,
        typer.Option(
            help="Only judgments with this policy decision: APPROVE, REVIEW, REVIEW_PRIORITY, REJECT. Repeatable.",
            metavar="ACTION",
        ),
    ] = None,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            help="Only judgments vetted by this panel: its digest or a prefix of it. Repeatable.", metavar="DIGEST"
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only judgments vetted at or after this time (ISO 8601; UTC).", metavar="TIME")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only judgments vetted before this time (ISO 8601; UTC).", metavar="TIME")
    ] = None,
    assessments: Annotated[
        Path | None, typer.Option(help="A file of `vet --out`, in place of a store.", metavar="FILE")
    ] = None,
    judgments: Annotated[
        list[str] | None,
        typer.Option(help="The judgments behind --assessments, which contain no texts. Repeatable.", metavar="INPUT"),
    ] = None,
    accepted: Annotated[bool, typer.Option("--accepted", help="Keep what vetting accepted (the default).")] = False,
    min_probability: Annotated[
        float | None, typer.Option(help="Keep judgments with at least this calibrated probability.", metavar="P")
    ] = None,
    guarantee: Annotated[
        str | None,
        typer.Option(
            help="Keep by a stored guaranteed threshold: precision T, probability of failure D.", metavar="T,D"
        ),
    ] = None,
    keep_all: Annotated[
        bool, typer.Option("--all", help="Keep everything that neither people nor a policy rejected.")
    ] = False,
    ignore_decisions: Annotated[
        bool,
        typer.Option("--ignore-decisions", help="Ignore people's decisions and policies' actions; noted in the card."),
    ] = False,
    conflicts: Annotated[
        str, typer.Option(help="Item ids with two different contents: leave-out, or refuse.")
    ] = "leave-out",
    calibration: Annotated[
        Path | None, typer.Option(help="Take the guaranteed threshold from this file.", metavar="FILE")
    ] = None,
    reconcile: Annotated[
        str, typer.Option(help="Several verdicts on one pair: unanimous, or majority (of judges).")
    ] = "unanimous",
    pairing: Annotated[
        str, typer.Option(help="Judge pairs of a prompt: best-worst, all, or one-per-judge.")
    ] = "best-worst",
    quality_pairs: Annotated[
        bool, typer.Option("--quality-pairs", help="Judge pairs: also pair judgments with the same winner.")
    ] = False,
    by_label: Annotated[
        bool, typer.Option("--by-label", help="Judge pairs: prefer the judgment that agrees with the label.")
    ] = False,
    balance_length: Annotated[
        bool,
        typer.Option("--balance-length", help="Drop pairs until longer texts are chosen as often as shorter ones."),
    ] = False,
    dedupe: Annotated[
        bool, typer.Option("--dedupe", help="Also remove near duplicates (exact ones are always removed).")
    ] = False,
    near_threshold: Annotated[
        float, typer.Option(help="Minimum Jaccard similarity of near duplicates; 1 disables the check.")
    ] = 0.7,
    decontaminate: Annotated[
        list[Path] | None,
        typer.Option(help="Drop rows that share an n-gram with this benchmark's items. Repeatable.", metavar="FILE"),
    ] = None,
    ngram: Annotated[int, typer.Option(help="Words per n-gram for --decontaminate.", min=3)] = 13,
    split: Annotated[
        str | None, typer.Option(help="train,validation,test (or train,test) as fractions, e.g. 0.9,0.05,0.05.")
    ] = None,
    personal_data: Annotated[
        str, typer.Option(help="Personal data and secrets: leave, flag (column flags), or drop.")
    ] = "leave",
    truncation: Annotated[
        str, typer.Option(help="Truncated texts to drop: any (reported, or by their end), reported, or keep all.")
    ] = "any",
    from_grades: Annotated[
        bool,
        typer.Option(
            "--from-grades",
            help="Pair responses to one question by kept grades (the default if nothing kept compares responses).",
        ),
    ] = False,
    pass_mark: Annotated[
        float | None, typer.Option(help="Format kto: a response passes with at least this grade.", metavar="GRADE")
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(
            help="Drop pairs that are the same in their first N characters of prompt and answer together.",
            metavar="N",
            min=1,
        ),
    ] = None,
    licence: Annotated[
        list[str] | None, typer.Option(help="A source's licence, for the card. Repeatable.", metavar="TEXT")
    ] = None,
    shard_rows: Annotated[int, typer.Option(help="Maximum rows per file.", min=1)] = 50_000,
    seed: Annotated[int, typer.Option(help="Seed of splits and choices; the same seed gives identical files.")] = 0,
    as_json: JsonOption = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Write a folder of preference data from vetted judgments.

    People's review decisions take precedence, then the newest policy action, then the rule. The folder is created only
    when complete. Exit code 2: also if there is nothing to export. After an interruption (130) run the same command
    again to resume.
    """
    filters = {"judges": judge, "categories": category, "decisions": decision, "runs": run, "panels": panel}
    asked = {name: value for name, value in locals().items() if name in ExportRequest.model_fields} | {
        "format": layout,
        "selection": selection_of(accepted, min_probability, guarantee, keep_all),
        "filters": {"since": since, "until": until} | {name: values or () for name, values in filters.items()},
        "conflicts": conflicts.replace("-", "_"),
        "split": None if split is None else numbers(split, "--split", "0.9,0.05,0.05"),
        "unit": reading.unit,
        "licences": licence or (),
    }
    request, read, against = request_of(asked), judgments or [], decontaminate or []
    from_files = assessments is not None or bool(read)
    if from_files and store is not None:
        raise InputError("--store and --assessments exclude each other: name one source")
    check_apart([*read, *against, *([assessments] if assessments else [])], [out])
    if reading.mapping is not None and read:
        reading.open(read)  # which keeps the mapping
    with shown() as watch:
        result = export(
            out,
            request,
            store=None if from_files else store_path(store),
            assessments=assessments,
            judgments=read or None,
            calibration=calibration,
            decontaminate=against,
            watch=watch,
            mapping=reading.mapping,
            prefix_ids=reading.prefix_ids,
        )
    if as_json:
        echo_json({"out": str(out), "rows": result.rows, "resumed": result.resumed, **result.stats})
    else:
        _print(out, result)
    unreadable = result.stats["read"]["unreadable_lines"]
    raise typer.Exit(exit_code(RunCounts(bad_lines=unreadable), strict=reading.strict))


@app.command("check")
def check(
    folder: Annotated[Path, typer.Argument(help="A folder of preference data.", metavar="DIR")],
    near_threshold: Annotated[
        float | None,
        typer.Option(help="Similarity at which two questions count as one; default: the folder's own, else 0.7."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a folder: schema, digests, card, ties, equal pairs, duplicates, leaks between splits, balance.

    Exit code 1: there are faults; each is listed.
    """
    report = check_folder(folder, near_threshold=near_threshold)
    rows = ", ".join(f"{part} {count:,}" for part, count in report.rows.items())
    longer = ""
    if report.chosen_longer is not None:
        longer = f"; longer chosen in {100 * report.chosen_longer:.1f} % of those that differ"
    verdict = f"{len(report.faults)} faults" if report.faults else "no fault found"
    lines = [*(f"FAULT {fault}" for fault in report.faults), f"{folder}: {verdict} ({rows} rows{longer})"]
    tell(as_json, report.to_json(), lines, indent=True)
    raise typer.Exit(ExitCode.INCOMPLETE if report.faults else ExitCode.DONE)


def selection_of(
    accepted: bool, min_probability: float | None, guarantee: str | None, keep_all: bool
) -> dict[str, object]:
    """The selection that the options ask for; at most one of the flags may be given.

    Raises:
        ConfigurationError: two of the flags are given.
    """
    given = {
        "--accepted": accepted,
        "--min-probability": min_probability is not None,
        "--guarantee": guarantee is not None,
        "--all": keep_all,
    }
    named = [name for name, there in given.items() if there]
    if len(named) > 1:
        raise ConfigurationError(f"{' and '.join(named)} exclude each other: choose one rule for what is kept")
    if min_probability is not None:
        return {"rule": "min_probability", "min_probability": min_probability}
    if guarantee is not None:
        found = numbers(guarantee, "--guarantee", "0.9,0.1")
        if len(found) != 2:
            raise ConfigurationError(
                f"--guarantee takes a precision and a probability of failure, such as 0.9,0.1, not {guarantee}"
            )
        return {"rule": "guarantee", "target": found[0], "delta": found[1]}
    return {"rule": "all" if keep_all else "accepted"}


def numbers(text: str, option: str, example: str) -> tuple[float, ...]:
    """Comma-separated numbers.

    Raises:
        ConfigurationError: the text is anything else.
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(f"{option} takes numbers with commas, such as {example}, not {text!r}") from None
