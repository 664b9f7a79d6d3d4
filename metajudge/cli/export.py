"""``metajudge export``: preference datasets from vetted verdicts, and their check."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.export_run import ExportSource, request_of, run_export
from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_judgments
from metajudge.cli.options import JsonOption, StoreOption, echo_json
from metajudge.errors import ConfigurationError
from metajudge.preferences import check as check_folder
from metajudge.runs.exit_codes import ExitCode

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
    asked = {
        "kind": kind,
        "format": layout,
        "selection": selection_of(accepted, min_probability, guarantee, keep_all),
        "filters": {
            "judges": judge or (),
            "categories": category or (),
            "decisions": decision or (),
            "runs": run or (),
            "panels": panel or (),
            "since": since,
            "until": until,
        },
        "ignore_decisions": ignore_decisions,
        "conflicts": conflicts.replace("-", "_"),
        "reconcile": reconcile,
        "pairing": pairing,
        "quality_pairs": quality_pairs,
        "by_label": by_label,
        "balance_length": balance_length,
        "dedupe": dedupe,
        "near_threshold": near_threshold,
        "ngram": ngram,
        "split": None if split is None else numbers(split, "--split", "0.9,0.05,0.05"),
        "unit": reading.unit,
        "personal_data": personal_data,
        "truncation": truncation,
        "from_grades": from_grades,
        "pass_mark": pass_mark,
        "max_length": max_length,
        "licences": licence or (),
        "shard_rows": shard_rows,
        "seed": seed,
    }
    source = ExportSource(store, assessments, judgments or [], calibration, decontaminate or [])
    raise typer.Exit(run_export(out, request_of(asked), source, reading, as_json))


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
    if as_json:
        echo_json(report.to_json(), indent=True)
        raise typer.Exit(ExitCode.INCOMPLETE if report.faults else ExitCode.DONE)
    for fault in report.faults:
        typer.echo(f"FAULT {fault}")
    rows = ", ".join(f"{part} {count:,}" for part, count in report.rows.items())
    longer = (
        ""
        if report.chosen_longer is None
        else f"; longer chosen in {100 * report.chosen_longer:.1f} % of those that differ"
    )
    verdict = f"{len(report.faults)} faults" if report.faults else "no fault found"
    typer.echo(f"{folder}: {verdict} ({rows} rows{longer})")
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
