"""``metajudge calibrate``: probabilities from signals, and thresholds with a guarantee."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import load_calibration, save_fit
from metajudge.calibration.fit import check_fittable, fit_calibration
from metajudge.calibration.folds import question_split
from metajudge.calibration.guarantee import Guarantee
from metajudge.calibration.looks import Schedule
from metajudge.calibration.planning import SPLIT_SHARE, Use, use_of
from metajudge.calibration.planning import plan as plan_labels
from metajudge.calibration.procedures import ProcedureName, check_promise
from metajudge.calibration.profiles import drift
from metajudge.calibration.sources import SIGNAL_GROUPS
from metajudge.calibration.table import SignalTable
from metajudge.calibration.weights import fit_weights, to_toml
from metajudge.cli.calibrate_cascade import cascade
from metajudge.cli.calibrate_report import (
    diagnosis_lines,
    drift_lines,
    fit_lines,
    plan_lines,
    right_line,
    show_json,
    show_lines,
)
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import ResamplingSeedOption, StoreOption
from metajudge.cli.stored import with_store
from metajudge.errors import InputError
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.files.output import check_apart, check_writable, write_text
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import Store
from metajudge.types import Judgment, Right, VerdictKind
from metajudge.vetting.labelled import LabelledRecords, threshold_rows
from metajudge.vetting.looking import LookRequest, ReferenceScores, advice_after, look

app = typer.Typer(
    help="Fit probabilities of being correct to labelled judgments, and thresholds with a guarantee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("cascade")(cascade)

SIGNALS_HELP = f"Signals, separated by commas: {', '.join(SIGNAL_GROUPS)}. Default: by the verdicts' kind."

DataOption = Annotated[
    list[Path],
    typer.Option("--data", help="Labelled judgments: a file or folder that `vet` reads. Repeatable.", metavar="DIR"),
]
JudgeOption = Annotated[list[str] | None, typer.Option("--judge", help="Only this judge. Repeatable.", metavar="NAME")]
AgentScoresOption = Annotated[
    Path | None,
    typer.Option("--agent-scores", help="Assessments with agents' scores (`vet --out`).", metavar="FILE"),
]
KindOption = Annotated[
    VerdictKind | None,
    typer.Option(help="Only verdicts of this kind; needed where the data have several.", show_choices=True),
]
FoldsOption = Annotated[int, typer.Option(help="Number of folds, by question.", min=2)]
CalibrationOption = Annotated[Path, typer.Option("--calibration", help="A calibration file.", metavar="FILE")]

NO_LOOK_LEFT = "No look is left in the ledger: nothing more can be promised about these judges by this schedule."


class Questions(StrEnum):
    """Which questions a threshold is selected on."""

    new = "new"
    all = "all"


class ScheduleChoice(StrEnum):
    """How delta is divided over looks."""

    declining = "declining"
    even = "even"
    anytime = "anytime"


class ProcedureChoice(StrEnum):
    """How thresholds are tested; see `docs/calibration.md`."""

    ranks = "ranks"
    graphical = "graphical"
    one_error = "one_error"
    learn_then_test = "learn_then_test"
    bonferroni = "bonferroni"
    e_process = "e_process"
    log_odds = "log_odds"


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
    pooled: Annotated[
        bool | None,
        typer.Option(
            "--pooled/--per-judge",
            help="One model for all judges, or one per judge; default: by the number of judgments of each.",
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
    _check_files(data or [], agent_scores, out)
    names, rule = _names(signals), labelling.rule
    if reviews:
        people, stored = with_store(store, partial(_reviewed, rule=labelling.rule), maker="vet --policy ...")
        selection: str | None = people.selection
        table = _records(data or [], reading, agent_scores, labelling, stored).table(
            names, judge, people=people, kind=kind, right=rule
        )
    elif data:
        table = _records(data, reading, agent_scores, labelling).table(names, judge, kind=kind, right=rule)
        selection = None
    else:
        raise InputError("give labelled judgments with --data DIR, or --reviews to learn from people's decisions")
    table, split = _fit_part(table, share, seed)
    calibration = fit_calibration(table, pooled=pooled, seed=seed, folds=folds, selection=selection)
    spent = save_fit(calibration, out)
    for line in fit_lines(calibration):
        typer.echo(line)
    typer.echo(split)
    if spent:
        typer.echo(f"The {spent} look(s) recorded in {out} stay spent: labels looked at under another fit are not new.")
    typer.echo(f"Written: {out}")


@app.command("show")
@reads_judgments
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
    if as_json:
        typer.echo(show_json(calibration))
    else:
        for line in show_lines(calibration):
            typer.echo(line)
    if data:
        identity = calibration.identity
        table = _records(data, reading, agent_scores).table(
            identity.signals, known=identity.judges, kind=calibration.kind, right=calibration.right
        )
        found = drift(calibration.profiles, calibration.categories, table.with_scales(calibration.scales))
        for line in drift_lines(found):
            typer.echo(line)


@app.command("threshold")
@takes_labels
@reads_judgments
def threshold(
    calibration: CalibrationOption,
    data: DataOption,
    target: Annotated[float, typer.Option(help="Precision to guarantee, such as .9.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    questions: Annotated[
        Questions | None,
        typer.Option(
            help="`new`: only questions not used in the fit; `all`: approximate. Default: new if there are any."
        ),
    ] = None,
    procedure: Annotated[
        ProcedureChoice | None,
        typer.Option(
            help="Which thresholds are tested and how, fixed without labels. Default: ranks; e_process with "
            "--schedule anytime."
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most-per-question",
            help="Judgments of one question the promise is to cover at most. Default: the most there are.",
            min=1,
        ),
    ] = None,
    allow_other: Annotated[
        bool,
        typer.Option("--allow-other-calibration", help="Apply it to judges or agents it was not fitted on."),
    ] = False,
    schedule: Annotated[
        ScheduleChoice | None,
        typer.Option(
            help="How delta is divided over looks, declared at the first one: `declining` (3/4 for the first), `even` "
            "(over --looks) or `anytime` (an e-process, read after any label)."
        ),
    ] = None,
    planned_looks: Annotated[
        int | None, typer.Option("--looks", help="With --schedule even: how many looks there may be.", min=1)
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changed-labels",
            help="Allow a look in which earlier questions are missing or have other labels; it is recorded as such.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the threshold here; the look is recorded in the calibration all the same.",
            metavar="FILE",
        ),
    ] = None,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Find the least selective threshold whose precision is guaranteed, and store it in the calibration.

    With --judge the guarantee is for these judges' judgments together, else for all. Every look at labels spends a part
    of delta: the calibration file records it, and later looks, such as after adding labels, get what is left by the
    declared schedule. The same look again spends nothing. Exit code 1: no threshold passes; only the look is stored.
    """
    check_promise(target, delta)
    _check_files(data, agent_scores, out or calibration)
    fitted = load_calibration(calibration)
    _check_same(fitted, kind, labelling.rule)
    table = _records(data, reading, agent_scores, labelling).table(
        fitted.identity.signals, judge, known=fitted.identity.judges, kind=fitted.kind, right=fitted.right
    )
    only_new = None if questions is None else questions is Questions.new
    rows = threshold_rows(fitted, table, only_new=only_new, allow_other=allow_other)
    for note in rows.notes:
        typer.echo(note, err=True)
    labelled = set(rows.table.judges)
    # The guarantee covers the judges with labels; empty if these are all judges.
    judges = sorted(judge or (() if labelled >= set(fitted.identity.judges) else labelled))
    request = LookRequest(
        target=target,
        delta=delta,
        judges=tuple(judges),
        procedure=_procedure(procedure, schedule, fitted),
        most_per_question=most,
        reference=ReferenceScores.of_fit(fitted, judges),
        schedule=_schedule(schedule, planned_looks),
        accept_changes=accept_changes,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    result = look(calibration, fitted, rows, request, out=out)
    for line in result.lines():
        typer.echo(line)
    if not isinstance(result.found, Guarantee):
        typer.echo(result.found.meaning())
        advice = advice_after(result, rows, request)
        for line in [NO_LOOK_LEFT] if advice is None else advice.lines():
            typer.echo(line)
        raise typer.Exit(ExitCode.INCOMPLETE)
    typer.echo(result.found.meaning(fitted.identity.judges))
    typer.echo(right_line(fitted.kind, fitted.identity.right))
    typer.echo(f"Written: {out or calibration}")


@app.command("plan")
def plan(
    target: Annotated[float, typer.Option(help="Precision to guarantee, such as .9.")],
    rate: Annotated[float, typer.Option(help="Expected precision of the judgments kept, such as .95.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    coverage: Annotated[float, typer.Option(help="Expected fraction of judgments kept.")] = 1.0,
    power: Annotated[float, typer.Option(help="Probability that the threshold passes.")] = 0.8,
    share: Annotated[
        float | None,
        typer.Option(
            help="Fraction of all labelled questions used in the fit (`fit --share`); 0 for none. Default: split or "
            "cross-fit, by the number of labels."
        ),
    ] = None,
) -> None:
    """Compute how many labelled questions a guarantee needs in all: for the fit and for the threshold."""
    ways: tuple[Use, ...] = ("split", "cross-fit") if share is None else ("split",)
    for line in plan_lines(
        [
            plan_labels(
                target,
                delta,
                rate,
                coverage=coverage,
                power=power,
                share=SPLIT_SHARE if share is None else share,
                use=use,
            )
            for use in ways
        ],
        target,
        delta,
    ):
        typer.echo(line)


@app.command("weights")
@reads_judgments
def weights(
    data: DataOption,
    agent_scores: Annotated[
        Path, typer.Option("--agent-scores", help="Assessments with agents' scores (`vet --out`).", metavar="FILE")
    ],
    judge: JudgeOption = None,
    seed: ResamplingSeedOption = 0,
    folds: FoldsOption = 5,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write here instead of printing.", metavar="FILE.toml")
    ] = None,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Fit weights of a panel's agents by category, out of fold, and print them as TOML for a panel file."""
    _check_files(data, agent_scores, out)
    table = _records(data, reading, agent_scores).table(["agents"], judge)
    models = dict(table.agent_scores.agents) if table.agent_scores is not None else None
    text = to_toml(fit_weights(table, seed=seed, folds=folds), models)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(f"Written: {out}")


@app.command("diagnose")
@takes_labels
@reads_judgments
def diagnose(
    data: DataOption,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    pooled: Annotated[bool | None, typer.Option("--pooled/--per-judge", help="As for `fit`.")] = None,
    seed: ResamplingSeedOption = 0,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Estimate the effective number of independent judges, the value of unanimity, and which signals matter."""
    table = _records(data, reading, agent_scores, labelling).table(
        _names(signals), judge, kind=kind, right=labelling.rule
    )
    if signals is None and table.kind == "pairwise":
        table = table.without("rationale")
    rows = table.select(table.labelled)
    check_fittable(table, rows)
    for line in diagnosis_lines(rows, pooled=pooled, seed=seed):
        typer.echo(line)


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


def _schedule(name: ScheduleChoice | None, looks: int | None) -> Schedule | None:
    if name is None and looks is None:
        return None
    return Schedule(name=(name or ScheduleChoice.even).value, looks=looks)


def _procedure(
    given: ProcedureChoice | None, schedule: ScheduleChoice | None, fitted: Calibration
) -> ProcedureName | None:
    if given is not None:
        return given.value
    declared = fitted.looks.schedule.name if fitted.looks is not None else schedule
    return "e_process" if declared == ScheduleChoice.anytime else None


def _check_same(fitted: Calibration, kind: VerdictKind | None, right: Right | None) -> None:
    """A threshold is for the verdicts and the rule of the fit; another one needs another fit."""
    for flag, given, known in (("--kind", kind, fitted.kind), ("--right", right, fitted.right)):
        if given is not None and given != known:
            raise InputError(
                f"{flag} {given}: this calibration was fitted with {flag} {known}; leave the option out, or fit "
                "another calibration with `metajudge calibrate fit`"
            )


def _names(signals: str | None) -> list[str] | None:
    if signals is None:
        return None
    return [name.strip() for name in signals.split(",") if name.strip()]


def _records(
    data: list[Path],
    reading: Reading,
    agent_scores: Path | None,
    labelling: Labelling = UNLABELLED,
    stored: Sequence[Judgment] = (),
) -> LabelledRecords:
    """The judgments to read; those of the store if no data are given."""
    source = reading.open([str(path) for path in data], labelling=labelling) if data else stored
    return LabelledRecords(source, data, agent_scores, lambda notice: typer.echo(f"metajudge: {notice}", err=True))


async def _reviewed(store: Store, rule: Right | None) -> tuple[ReviewLabels, list[Judgment]]:
    """People's labels and all judgments of a store."""
    return await review_labels(store, now=time.time(), rule=rule), await store.judgments()


def _check_files(data: list[Path], agent_scores: Path | None, out: Path | None) -> None:
    if out is not None:
        check_writable(out)
    check_apart([*data, *((agent_scores,) if agent_scores else ())], [out])
