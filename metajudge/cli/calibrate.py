"""``metajudge calibrate``: probabilities from signals, and thresholds with a guarantee; and what it prints."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import orjson
import typer

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import SHIPPED, load_calibration, save_fit, shipped_prior
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.folds import SPLIT_SHARE, question_split, use_of
from metajudge.calibration.quality import Quality, Resampled
from metajudge.calibration.sources import SIGNAL_GROUPS, in_votes
from metajudge.calibration.table import FEW, SignalTable
from metajudge.cli.calibrate_history import history
from metajudge.cli.calibrate_plan import plan
from metajudge.cli.calibrate_threshold import (
    AgentScoresOption,
    JudgeOption,
    KindOption,
    check_files,
    labelled_records,
    right_line,
    threshold,
)
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.loop import with_store
from metajudge.cli.options import ResamplingSeedOption, StoreOption, echo_lines
from metajudge.errors import InputError
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.store import Store
from metajudge.types import Judgment, Right


def fit_lines(calibration: Calibration) -> Iterator[str]:
    """The fit, the models tried, and the out-of-fold quality of the probabilities."""
    made = calibration.provenance
    yield (
        f"Fitted on {made.n} judgments of {len(made.questions)} questions by {len(calibration.identity.judges)} "
        f"judge(s); signals {', '.join(calibration.identity.signals)}"
    )
    yield right_line(calibration.identity.kind, calibration.identity.right)
    if made.selection is not None:
        yield f"  {made.selection}"
    for group in calibration.groups:
        who = group.judges[0] if len(group.judges) == 1 else f"{len(group.judges)} judges together"
        tried = ", ".join(f"{one.name} {one.log_loss:.3f}" for one in group.tried[:4])
        yield f"  {who}: {group.chosen} (out-of-fold log loss: {tried}{', ...' if len(group.tried) > 4 else ''})"
        prior = group.levels[0].prior
        if prior is not None:
            yield f"  Added to the shipped prior: log-odds {prior.level:+.3f} {prior.slope:+.3f} x share of peers"
    yield (
        f"The figures below are of models fitted on {made.folds - 1} of {made.folds} parts of the questions, mean over "
        f"{made.repeats} division(s); the stored model was fitted on all of them."
    )
    yield ""
    yield from quality_lines(calibration.quality)


def shipped_lines(calibration: Calibration) -> Iterator[str]:
    """The shipped default: its two numbers, what it was fitted on, and what it does for each kind of verdicts."""
    from metajudge.types import VERDICT_KINDS

    prior = calibration.shipped
    assert prior is not None
    yield f"The shipped default of {prior.made}: transferred probabilities, for any judge, without any guarantee"
    yield (
        f"  log-odds {prior.level:+.3f} {prior.slope:+.3f} x log-odds of (agree + 1) / (n + 2), of n peers on the "
        "item; nothing without peers"
    )
    yield from (f"  {prior.sentence(kind)}" for kind in VERDICT_KINDS)


def show_lines(calibration: Calibration) -> Iterator[str]:
    """The same with identity, reliability and guarantees."""
    if calibration.is_shipped:
        yield from shipped_lines(calibration)
        return
    identity, made = calibration.identity, calibration.provenance
    yield f"For judgments by {', '.join(identity.judges)}"
    if identity.agents:
        agents = ", ".join(f"{name} ({model})" for name, model in identity.agents.items())
        yield f"Agents {agents}; rubrics {', '.join(identity.rubrics)}; prompts {', '.join(identity.prompts)}"
    yield f"Data digest {made.data}, seed {made.seed}, {made.folds} folds by question, {made.repeats} time(s)"
    if calibration.recipe is not None:
        yield f"Recipe: unit {calibration.unit}, fit {calibration.recipe.fit}"
    yield from fit_lines(calibration)
    yield ""
    yield "Reliability out of fold: of judgments with a probability in a bin, how many are right (95 %, by question)"
    for one in calibration.quality[""].reliability:
        yield (
            f"  {one.low:.1f} to {one.high:.1f}  n {one.n:>6}  mean probability {100 * one.probability:5.1f}  "
            f"right {100 * one.right:5.1f} ({100 * one.right_low:.1f} to {100 * one.right_high:.1f})"
        )
    yield ""
    if not calibration.guarantees:
        yield "No guaranteed threshold stored; run `metajudge calibrate threshold` to find one."
    for meaning in calibration.meanings:
        yield f"Guarantee: {meaning}"
    for look in () if calibration.looks is None else calibration.looks.entries:
        whose = f"  {', '.join(look.judges) or 'all judges'}: "
        yield f"{whose}{look.line()}"


def show_json(calibration: Calibration) -> str:
    """Identity, quality, models tried and guarantees, without coefficients and stored probabilities."""
    data = calibration.model_dump(mode="json", include={"identity", "quality", "guarantees", "recipe"})
    if calibration.shipped is not None:
        data["shipped"] = calibration.shipped.model_dump(mode="json")
    looks = () if calibration.looks is None else calibration.looks.entries
    data["looks"] = [one.model_dump(mode="json", exclude={"result"}) for one in looks]
    made = calibration.provenance
    data["provenance"] = made.model_dump(exclude={"questions"}) | {"questions": len(made.questions)}
    data["groups"] = [group.model_dump(mode="json", exclude={"levels"}) for group in calibration.groups]
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def quality_lines(figures: dict[str, Quality]) -> Iterator[str]:
    """One line for all judges and one for each."""
    width = max(len(name) for name in (*figures, "all judges"))
    head = f"{'out of fold':<{width}} {'n':>6} {'right':>6} {'best 80 %':>9} {'60 %':>6} {'40 %':>6}"
    yield f"{head}  AUC, log loss, Brier (95 %, questions resampled)"
    for name, found in figures.items():
        best = [100 * found.precision_at[share] for share in ("80", "60", "40")]
        measures = ", ".join(_figure(one) for one in (found.auc, found.log_loss, found.brier))
        yield (
            f"{name or 'all judges':<{width}} {found.n:>6} {100 * found.base:>6.1f} {best[0]:>9.1f} {best[1]:>6.1f} "
            f"{best[2]:>6.1f}  {measures}"
        )


def _figure(found: Resampled | None) -> str:
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


app = typer.Typer(
    help="Fit probabilities of being correct to labelled judgments, and thresholds with a guarantee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("threshold")(threshold)
app.command("history")(history)
app.command("plan")(plan)

SIGNALS_HELP = f"Signals, separated by commas: {', '.join(SIGNAL_GROUPS)}. Default: by the verdicts' kind."


@app.command("fit")
@takes_labels
@reads_judgments
def fit(
    out: Annotated[Path, typer.Option(help="Where to write the calibration (JSON).", metavar="FILE")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
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
    folds: Annotated[int, typer.Option(help="Number of folds, by question.", min=2)] = 5,
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
    if not (reviews or data):
        raise InputError("give labelled judgments with --data DIR, or --reviews to learn from people's decisions")
    people: ReviewLabels | None = None
    stored: list[Judgment] = []
    if reviews:
        people, stored = with_store(store, partial(_reviewed, rule=rule), maker="vet --policy ...")
    records = labelled_records(data or [], reading, agent_scores, labelling, stored)
    table = records.table(names, judge, people=people, kind=kind, right=rule)
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
    selection = None if people is None else people.selection
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
def show(
    file: Annotated[Path, typer.Argument(help="A calibration file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print quality and identity as one JSON object.")] = False,
) -> None:
    """Show a calibration's domain, out-of-fold quality and guarantees."""
    calibration = load_calibration(file)
    if as_json:
        typer.echo(show_json(calibration))
    else:
        echo_lines(show_lines(calibration))


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
    if share is not None:
        why = f"{100 * share:g} % of the questions for the fit (--share), the others for a threshold"
    return table.select(part == 0), f"Labels: {why}."


def _names(signals: str | None) -> list[str] | None:
    if signals is None:
        return None
    names = [name.strip() for name in signals.split(",") if name.strip()]
    if "share" in names:
        raise InputError("--signals share: what --prior shipped reads is no signal of a fit; name peers")
    return names


async def _reviewed(store: Store, rule: Right | None) -> tuple[ReviewLabels, list[Judgment]]:
    return await review_labels(store, now=time.time(), rule=rule), await store.judgments()
