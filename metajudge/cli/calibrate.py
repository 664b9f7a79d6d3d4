"""``metajudge calibrate``: probabilities from signals, and thresholds with a guarantee."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from metajudge.calibration.files import SHIPPED, load_calibration, save_fit, shipped_prior
from metajudge.calibration.fit import FEW, check_fittable, fit_calibration
from metajudge.calibration.folds import SPLIT_SHARE, question_split, use_of
from metajudge.calibration.profiles import drift
from metajudge.calibration.sources import SIGNAL_GROUPS, in_votes
from metajudge.calibration.table import SignalTable
from metajudge.cli.calibrate_report import diagnosis_lines, drift_lines, fit_lines, show_json, show_lines
from metajudge.cli.calibrate_threshold import (
    AgentScoresOption,
    DataOption,
    FoldsOption,
    JudgeOption,
    KindOption,
    check_files,
    labelled_records,
    threshold,
)
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_items, reads_judgments, takes_labels
from metajudge.cli.options import ResamplingSeedOption, StoreOption, echo_lines
from metajudge.cli.stored import with_store
from metajudge.errors import InputError
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.store import Store
from metajudge.types import Judgment, Right

app = typer.Typer(
    help="Fit probabilities of being correct to labelled judgments, and thresholds with a guarantee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("threshold")(threshold)

SIGNALS_HELP = f"Signals, separated by commas: {', '.join(SIGNAL_GROUPS)}. Default: by the verdicts' kind."


@app.command("fit")
@takes_labels
@reads_judgments
def fit(
    out: Annotated[Path, typer.Option("--out", help="Where to write the calibration (JSON).", metavar="FILE")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            help="Labelled judgments: a file or folder that `vet` reads. Repeatable. With --reviews, default: the "
            "store's.",
            metavar="DIR",
        ),
    ] = None,
    reviews: Annotated[
        bool, typer.Option("--reviews", help="Use people's decisions in the store as the only labels.")
    ] = False,
    store: StoreOption = None,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="`shipped`: add the fit to what agreement of peers was worth on labelled sets of others; for under 50 "
            "labelled questions.",
            metavar="NAME",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            help="Fit on this fraction of the questions, and keep the others for `threshold`; 1 for all. Default: by "
            "the number of labelled questions."
        ),
    ] = None,
    seed: ResamplingSeedOption = 0,
    folds: FoldsOption = 5,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Fit P(judgment correct) out of fold by question, and write it as JSON with its identity and quality.

    Evidence (peers, the other order) is computed over all records of DIR before --judge filters them.
    """
    check_files(data or [], agent_scores, out)
    names, rule = _names(signals), labelling.rule
    if prior is not None:
        if prior != SHIPPED:
            raise InputError(f"--prior {prior}: there is one prior, {SHIPPED}")
        names = [*dict.fromkeys([*(names or ("order", "strength", "repeats", "versions", "peers")), "share"])]
    if reviews:
        people, stored = with_store(store, partial(_reviewed, rule=labelling.rule), maker="vet --policy ...")
        selection: str | None = people.selection
        table = labelled_records(data or [], reading, agent_scores, labelling, stored).table(
            names, judge, people=people, kind=kind, right=rule
        )
    elif data:
        table = labelled_records(data, reading, agent_scores, labelling).table(names, judge, kind=kind, right=rule)
        selection = None
    else:
        raise InputError("give labelled judgments with --data DIR, or --reviews to learn from people's decisions")
    table, split = _fit_part(table, share, seed)
    if signals is None:
        table = _without_absent(table)
    else:
        _check_choice(table)
    if prior is not None and "share" not in table.signals:
        raise InputError(
            "--prior shipped is about peers, and no labelled judgment has one: give other judges' verdicts on the same "
            "items, or leave --prior out"
        )
    drawn_to = None if prior is None else shipped_prior().shrink
    calibration = fit_calibration(table, prior=drawn_to, seed=seed, folds=folds, selection=selection)
    spent = save_fit(calibration, out)
    echo_lines(fit_lines(calibration))
    typer.echo(split)
    if prior is None and "peers" in table.signals and len(calibration.provenance.questions) < FEW:
        typer.echo("With so few labelled questions a fit added to that of other sets is often better: --prior shipped")
    if spent:
        typer.echo(f"The {spent} look(s) recorded in {out} stay spent: labels looked at under another fit are not new.")
    typer.echo(f"Written: {out}")


def _check_choice(table: SignalTable) -> None:
    """Refuses signals that were named and change nothing."""
    idle = in_votes(table.kind, table.signals)
    if idle:
        raise InputError(
            f"--signals: beside peers {' and '.join(idle)} {'changes' if len(idle) == 1 else 'change'} nothing for "
            "pairs, whose votes contain both orders and the strength of verdicts: leave "
            f"{'it' if len(idle) == 1 else 'them'} out"
        )


@app.command("show")
@reads_items
def show(
    file: Annotated[Path, typer.Argument(help="A calibration file.")],
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="New judgments, to measure how far their signals have drifted.", metavar="DIR"),
    ] = None,
    agent_scores: AgentScoresOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print quality and identity as one JSON object.")] = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Show a calibration's domain, out-of-fold quality and guarantees; with --data, also drift."""
    calibration = load_calibration(file)
    if calibration.is_shipped and data:
        raise InputError("show shipped: it is for any judge, and has no distribution to compare with; leave out --data")
    if as_json:
        typer.echo(show_json(calibration))
    else:
        echo_lines(show_lines(calibration))
    if data:
        identity = calibration.identity
        table = labelled_records(data, reading, agent_scores).table(
            identity.signals, known=identity.judges, kind=calibration.kind, right=calibration.right
        )
        found = drift(calibration.profiles, calibration.categories, table.with_scales(calibration.scales))
        echo_lines(drift_lines(found))


@app.command("diagnose")
@takes_labels
@reads_judgments
def diagnose(
    data: DataOption,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    seed: ResamplingSeedOption = 0,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Estimate the effective number of independent judges, the value of unanimity, and which signals matter."""
    table = labelled_records(data, reading, agent_scores, labelling).table(
        _names(signals), judge, kind=kind, right=labelling.rule
    )
    if signals is None and table.kind == "pairwise":
        table = table.without("rationale")
    if signals is None:
        table = _without_absent(table)
    rows = table.select(table.labelled)
    check_fittable(table, rows)
    echo_lines(diagnosis_lines(rows, seed=seed))


def _without_absent(table: SignalTable) -> SignalTable:
    """The table without the signals that no labelled judgment has, which are named."""
    found, absent = table.without_absent()
    if absent:
        typer.echo(f"Without {', '.join(absent)}: no labelled judgment has it.")
    return found


def _fit_part(table: SignalTable, share: float | None, seed: int) -> tuple[SignalTable, str]:
    """The questions to fit on, and how the labels are used."""
    labelled = {question for question, one in zip(table.questions, table.labelled, strict=True) if one}
    use, why = use_of(len(labelled))
    if share is None and use == "cross-fit":
        return table, f"Labels: {why}. `--share {SPLIT_SHARE:g}` splits them all the same."
    if share == 1:
        return table, "Labels: all are for the fit (--share 1); a threshold on the same questions is approximate."
    part = question_split(table.questions, SPLIT_SHARE if share is None else share, seed)
    why = (
        why
        if share is None
        else f"{100 * share:g} % of the questions for the fit (--share), the others for a threshold"
    )
    return table.select(part == 0), f"Labels: {why}."


def _names(signals: str | None) -> list[str] | None:
    if signals is None:
        return None
    names = [name.strip() for name in signals.split(",") if name.strip()]
    if "share" in names:
        raise InputError("--signals share: what --prior shipped reads is no signal of a fit; name peers")
    return names


async def _reviewed(store: Store, rule: Right | None) -> tuple[ReviewLabels, list[Judgment]]:
    """People's labels and all judgments of a store."""
    return await review_labels(store, now=time.time(), rule=rule), await store.judgments()
