"""``metajudge calibrate``: from signals to probabilities, and to thresholds that carry a guarantee."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metajudge.cli.calibrate_cascade import cascade
from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_judgments
from metajudge.cli.options import StoreOption, store_path
from metajudge.runs.exit_codes import ExitCode
from metajudge.types.location import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from metajudge.calibration.calibration import Calibration, Predictions
    from metajudge.calibration.table import SignalTable
    from metajudge.feedback.labels import ReviewLabels
    from metajudge.types import Judgment

app = typer.Typer(
    help="Fit probabilities of being correct to labelled judgments, and thresholds with a guarantee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("cascade")(cascade)

SIGNALS_HELP = "Signals, separated by commas: order, strength, peers, rewards, rationale, format, agents."

DataOption = Annotated[
    list[Path],
    typer.Option("--data", help="Labelled judgments: a file or folder that `vet` reads. Repeatable.", metavar="DIR"),
]
JudgeOption = Annotated[list[str] | None, typer.Option("--judge", help="Only this judge. Repeatable.", metavar="NAME")]
AgentScoresOption = Annotated[
    Path | None,
    typer.Option("--agent-scores", help="Assessments with agents' scores (`vet --out`).", metavar="FILE"),
]
CalibrationOption = Annotated[Path, typer.Option("--calibration", help="A calibration file.", metavar="FILE")]


class Questions(StrEnum):
    """Which questions a threshold is sought on."""

    new = "new"
    all = "all"


class UnitChoice(StrEnum):
    """What stands for a question."""

    one_per_question = "one_per_question"
    any_wrong = "any_wrong"


@app.command("fit")
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
        bool, typer.Option("--reviews", help="Take people's decisions in the store as the labels, and no others.")
    ] = False,
    store: StoreOption = None,
    signals: Annotated[str, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = "order,strength,peers,rationale",
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    pooled: Annotated[
        bool | None,
        typer.Option(
            "--pooled/--per-judge", help="One model for all judges, or one each; default by how much each judged."
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="Fit on this share of the questions only, and leave the others for `threshold`."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of folds, split and resampling.", min=0)] = 0,
    folds: Annotated[int, typer.Option(help="By question.", min=2)] = 5,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Fit P(judgment correct) out of fold by question, and write it as JSON with its identity and quality.

    Evidence (peers, the other order) is computed over all records of DIR before --judge chooses.
    """
    from metajudge.calibration.files import save_calibration
    from metajudge.calibration.fit import fit_calibration
    from metajudge.calibration.folds import question_split
    from metajudge.cli.calibrate_report import fit_lines
    from metajudge.report.files import check_apart, check_writable

    check_writable(out)
    check_apart([*(data or ()), *((agent_scores,) if agent_scores else ())], [out])
    table, selection = _labelled_table(
        data or [], _names(signals), judge, agent_scores, store if reviews else None, reviews, reading
    )
    if share is not None:
        table = table.select(question_split(table.questions, share, seed) == 0)
    calibration = fit_calibration(table, pooled=pooled, seed=seed, folds=folds, selection=selection)
    save_calibration(calibration, out)
    for line in fit_lines(calibration):
        typer.echo(line)
    typer.echo(f"Written: {out}")


@app.command("show")
@reads_judgments
def show(
    file: Annotated[Path, typer.Argument(help="A calibration file.")],
    data: Annotated[
        list[Path] | None, typer.Option("--data", help="New judgments: how far are their signals?", metavar="DIR")
    ] = None,
    agent_scores: AgentScoresOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print quality and identity as one JSON object.")] = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Show what a calibration is for, how good it is out of fold, and its guarantees; with --data, drift."""
    from metajudge.calibration.files import load_calibration
    from metajudge.cli.calibrate_report import drift_lines, show_json, show_lines

    calibration = load_calibration(file)
    if as_json:
        typer.echo(show_json(calibration))
    else:
        for line in show_lines(calibration):
            typer.echo(line)
    if data:
        from metajudge.calibration.profiles import drift

        table = _table(
            data, calibration.identity.signals, None, agent_scores, reading, known=calibration.identity.judges
        )
        found = drift(calibration.profiles, calibration.categories, table.with_scales(calibration.scales))
        for line in drift_lines(found):
            typer.echo(line)


@app.command("threshold")
@reads_judgments
def threshold(
    calibration: CalibrationOption,
    data: DataOption,
    target: Annotated[float, typer.Option(help="Precision to guarantee, such as .9.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    questions: Annotated[
        Questions | None,
        typer.Option(
            help="`new`: only questions that were not fitted on; `all`: approximate. Default: new if there are any."
        ),
    ] = None,
    unit: Annotated[
        UnitChoice, typer.Option(help="One seeded judgment a question, or any kept one wrong makes it wrong.")
    ] = UnitChoice.one_per_question,
    seed: Annotated[int, typer.Option(help="Of the choice of one judgment a question.", min=0)] = 0,
    allow_other: Annotated[
        bool,
        typer.Option("--allow-other-calibration", help="Apply it to other judges or agents than it was fitted on."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write here instead of into the calibration.", metavar="FILE")
    ] = None,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Find the least selective threshold whose precision is guaranteed, and store it in the calibration.

    With --judge the guarantee is for these judges' judgments together, else for all. It holds for one look: adding
    labels and looking again spends confidence, so decide on their number beforehand (`plan`). Exit code 1: none can be
    guaranteed, and nothing is stored.
    """
    import numpy as np

    from metajudge.calibration.calibration import in_domain
    from metajudge.calibration.files import load_calibration, save_calibration
    from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
    from metajudge.calibration.procedures import check_promise
    from metajudge.report.files import check_apart, check_writable

    check_promise(target, delta)
    check_writable(out or calibration)
    check_apart([*data, *((agent_scores,) if agent_scores else ())], [out])
    fitted = load_calibration(calibration)
    table = _table(data, fitted.identity.signals, judge, agent_scores, reading, known=fitted.identity.judges)
    table = table.select(table.labelled)
    table, approximate = _for_threshold(fitted, table, questions)
    predicted = fitted.probabilities(table, allow_other)
    covered = in_domain(predicted, approximate)
    _say_left_out(predicted, covered)
    table = table.select(covered)
    found = guaranteed_threshold(
        np.ma.getdata(predicted.probabilities)[covered],
        table.correct,
        table.questions,
        target=target,
        delta=delta,
        unit=unit.value,
        seed=seed,
        approximate=approximate,
        judges=sorted(judge or ()) or _some_of(fitted.identity.judges, table.judges),
    )
    if not isinstance(found, Guarantee):
        typer.echo(found.meaning())
        raise typer.Exit(ExitCode.INCOMPLETE)
    typer.echo(found.meaning(fitted.identity.judges))
    save_calibration(fitted.with_guarantee(found), out or calibration)
    typer.echo(f"Written: {out or calibration}")


@app.command("plan")
def plan(
    target: Annotated[float, typer.Option(help="Precision to guarantee, such as .9.")],
    rate: Annotated[float, typer.Option(help="Precision you expect of what is kept, such as .95.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    coverage: Annotated[float, typer.Option(help="Share you expect to keep.")] = 1.0,
    power: Annotated[float, typer.Option(help="Probability with which the threshold is to pass.")] = 0.8,
    share: Annotated[
        float, typer.Option(help="Share of all labelled questions that go into the fit (`fit --share`); 0 for none.")
    ] = 0.4,
) -> None:
    """Say how many labelled questions a guarantee will take, before any is labelled: the fit's and the threshold's."""
    from metajudge.calibration.planning import plan as labels_for
    from metajudge.calibration.planning import with_fit

    number = labels_for(target, delta, rate, coverage=coverage, power=power)
    total = with_fit(number, share)
    typer.echo(
        f"About {total} labelled questions in all: {total - number} for the fit (--share {share:g}) and {number} for "
        f"the threshold. With {100 * rate:g} % of the kept right and {100 * coverage:g} % kept, a precision of "
        f"{100 * target:g} % is then guaranteed at {100 * (1 - delta):g} % confidence with probability {power:g} or "
        "more. That is for one look: decide on the number, label, and look once."
    )


@app.command("weights")
@reads_judgments
def weights(
    data: DataOption,
    agent_scores: Annotated[
        Path, typer.Option("--agent-scores", help="Assessments with agents' scores (`vet --out`).", metavar="FILE")
    ],
    judge: JudgeOption = None,
    seed: Annotated[int, typer.Option(help="Of the folds.", min=0)] = 0,
    folds: Annotated[int, typer.Option(help="By question.", min=2)] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write here instead of printing.", metavar="FILE.toml")
    ] = None,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Fit weights of a panel's agents by category, out of fold, and print them as TOML: a panel file to paste."""
    from metajudge.calibration.weights import fit_weights, to_toml
    from metajudge.report.files import check_apart, check_writable, write_text

    if out is not None:
        check_writable(out)
        check_apart([*data, *((agent_scores,) if agent_scores else ())], [out])
    table = _table(data, ["agents"], judge, agent_scores, reading)
    models = dict(table.agent_scores.agents) if table.agent_scores is not None else None
    text = to_toml(fit_weights(table, seed=seed, folds=folds), models)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(f"Written: {out}")


@app.command("diagnose")
@reads_judgments
def diagnose(
    data: DataOption,
    signals: Annotated[str, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = "order,strength,peers",
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    pooled: Annotated[bool | None, typer.Option("--pooled/--per-judge", help="As for `fit`.")] = None,
    seed: Annotated[int, typer.Option(help="Of the folds.", min=0)] = 0,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Say how many independent judges the panel is worth, what unanimity is worth, and which signals matter."""
    from metajudge.calibration.fit import check_fittable
    from metajudge.cli.calibrate_report import diagnosis_lines

    table = _table(data, _names(signals), judge, agent_scores, reading)
    rows = table.select(table.labelled)
    check_fittable(table, rows)
    for line in diagnosis_lines(rows, pooled=pooled, seed=seed):
        typer.echo(line)


def _say_left_out(predicted: "Predictions", covered: "NDArray[np.bool_]") -> None:
    """Names the judgments a threshold is not sought on, because its promise would not cover them.

    Raises:
        InputError: it would cover none.
    """
    from collections import Counter

    from metajudge.calibration.domain import MEANINGS
    from metajudge.errors import InputError

    left = [marks for marks, kept in zip(predicted.marks, covered, strict=True) if not kept]
    counts = Counter(mark for marks in left for mark in marks)
    why = "; ".join(f"{count} {MEANINGS[mark].partition(':')[0]}" for mark, count in sorted(counts.items()))
    if left and not covered.any():
        raise InputError(
            f"all {len(left)} labelled judgments lie outside the calibration's domain, where no guarantee holds: "
            f"{why}. Give data like those it was fitted on, or fit one for these with `metajudge calibrate fit`"
        )
    if left:
        typer.echo(f"{len(left)} judgments are left out, since no guarantee would cover them: {why}.", err=True)


def _some_of(judges: "Sequence[str]", there: "Sequence[str]") -> list[str]:
    """Those whose labels made the threshold, where they are not all: it promises nothing of the others."""
    return [] if set(judges) <= set(there) else sorted(set(there))


def _names(signals: str) -> list[str]:
    return [name.strip() for name in signals.split(",") if name.strip()]


def _labelled_table(
    data: list[Path],
    signals: "Sequence[str]",
    judges: list[str] | None,
    scores: Path | None,
    store: str | None,
    reviews: bool,
    reading: Reading,
) -> "tuple[SignalTable, str | None]":
    """The records with the labels they carry; or with people's decisions in their place, and how these came about."""
    from metajudge.errors import InputError

    if not reviews:
        if not data:
            raise InputError("give labelled judgments with --data DIR, or --reviews to learn from people's decisions")
        return _table(data, signals, judges, scores, reading), None
    said, kept = _reviewed(store_path(store))
    by_id: dict[str, str] = {}
    table = _table(data, signals, judges, scores, reading, records=None if data else kept, seen=by_id)
    right = {name: said.right[content] for name, content in by_id.items() if content in said.right}
    if not right:
        raise InputError(
            f"none of the {len(said.right)} judgments that people decided is among these records: give those that were "
            "vetted with --data, or leave it out"
        )
    weights = {name: said.weights[content] for name, content in by_id.items() if content in said.weights}
    return table.with_labels(right, weights), said.selection


def _reviewed(path: StoreLocation) -> "tuple[ReviewLabels, list[Judgment]]":
    """People's labels and all judgments of a store."""
    import time

    from metajudge.cli.loop import run
    from metajudge.errors import StoreError
    from metajudge.feedback.labels import review_labels
    from metajudge.store import open_store

    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with --store, or make one with `metajudge vet --policy ...`")

    async def main() -> "tuple[ReviewLabels, list[Judgment]]":
        opened = await open_store(path)
        try:
            return await review_labels(opened, now=time.time()), await opened.judgments()
        finally:
            await opened.close()

    return run(main())


def _table(
    data: list[Path],
    signals: "Sequence[str]",
    judges: list[str] | None,
    scores: Path | None,
    reading: Reading,
    *,
    records: "list[Judgment] | None" = None,
    seen: dict[str, str] | None = None,
    known: "Sequence[str] | None" = None,
) -> "SignalTable":
    """All records of an input as evidence, the judgments by some judges as rows; bad lines are said.

    Without judges asked for, those of ``known`` are rows, of whom some must be there; None for every judge.
    """
    from metajudge.calibration.files import read_agent_scores
    from metajudge.calibration.table import build_table
    from metajudge.errors import InputError
    from metajudge.readers import Reject
    from metajudge.readers.rewards import find_reward_scores, read_reward_scores
    from metajudge.types import Judgment as Record

    source = reading.open([str(path) for path in data]) if records is None else None
    rejects: list[Reject] = []

    def readable() -> "Iterator[Judgment]":
        for record in source.scan() if source is not None else records or ():
            if isinstance(record, Record):
                if seen is not None:
                    seen[record.id] = record.digest
                yield record
            elif not rejects:
                rejects.append(record)

    wanted = judges or known
    files = [found for path in data if (found := find_reward_scores(path)) is not None]
    table = build_table(
        readable(),
        signals,
        report=None if wanted is None else lambda judgment: judgment.judge in wanted,
        rewards=[one for file in files for one in read_reward_scores(file)] if "rewards" in signals and files else None,
        agent_scores=read_agent_scores(scores) if scores is not None and "agents" in signals else None,
    )
    if rejects and source is not None:
        typer.echo(
            f"{source.rejects} bad line{'s were' if source.rejects > 1 else ' was'} left out, the first at "
            f"{rejects[0]}; `metajudge vet` writes them to a file.",
            err=True,
        )
    for notice in source.notices if source is not None else ():
        typer.echo(f"metajudge: {notice}", err=True)
    missing = sorted(set(wanted or ()) - set(table.known_judges))
    if missing and (judges or len(missing) == len(set(wanted or ()))):
        there = ", ".join(table.known_judges[:20]) + (", ..." if len(table.known_judges) > 20 else "")
        raise InputError(f"no judgment by {', '.join(map(repr, missing))}; the judges here are {there}")
    return table


def _for_threshold(
    fitted: "Calibration", table: "SignalTable", questions: Questions | None
) -> "tuple[SignalTable, bool]":
    """The rows to seek a threshold on, and whether they were fitted on."""
    from metajudge.errors import InputError

    new = [question not in fitted.provenance.questions for question in table.questions]
    if questions is Questions.new and not any(new):
        raise InputError(
            "every question was fitted on: give other data, fit with --share .5, or take --questions all and an "
            "approximate threshold"
        )
    if questions is Questions.all or not any(new):
        return table, not all(new)
    if not all(new):
        count = len({question for question, fresh in zip(table.questions, new, strict=True) if fresh})
        typer.echo(f"Sought on the {count} of {len(set(table.questions))} questions that were not fitted on.", err=True)
    return table.select(new), False
