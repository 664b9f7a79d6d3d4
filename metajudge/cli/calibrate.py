"""``metajudge calibrate``: probabilities that a judgment is correct, and thresholds that carry a guarantee."""

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Fit P(judgment correct) from labelled judgments, and find thresholds that carry a guarantee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataOption = Annotated[
    list[str],
    typer.Option("--data", help="Labelled judgments: a file or folder `vet` reads. Repeatable.", metavar="DIR"),
]
JudgeOption = Annotated[list[str] | None, typer.Option("--judge", help="Only this judge's judgments. Repeatable.")]
ScoresOption = Annotated[
    Path | None,
    typer.Option("--agent-scores", help="Assessments of `vet --out`, for the signal agents.", metavar="FILE"),
]


@app.command("fit")
def fit(
    data: DataOption,
    out: Annotated[Path, typer.Option(help="Where to write the calibration (JSON).", metavar="FILE")],
    signals: Annotated[
        str, typer.Option(help="order, strength, peers, rewards, rationale, format, agents; separated by commas.")
    ] = "order,strength,peers,rationale",
    judge: JudgeOption = None,
    agent_scores: ScoresOption = None,
    per_judge: Annotated[
        bool, typer.Option("--per-judge", help="One model a judge; default: one for judges with common items.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of folds and resampling.")] = 0,
) -> None:
    """Fit a calibration, out of fold by question, and write it as JSON (the same input gives the same bytes)."""
    from metajudge.calibration.fit import fit_calibration

    table = _table(data, _names(signals), judge, agent_scores)
    calibration = fit_calibration(table, pooled=False if per_judge else None, seed=seed)
    calibration.save(out)
    typer.echo(_described(calibration))
    typer.echo(f"Written to {out}.")


@app.command("show")
def show(calibration: Annotated[Path, typer.Argument(help="A calibration file.", metavar="FILE")]) -> None:
    """Show what a calibration was fitted on, how good it is, and what it guarantees."""
    from metajudge.calibration.calibration import load_calibration

    typer.echo(_described(load_calibration(calibration)))


@app.command("threshold")
def threshold(
    calibration: Annotated[Path, typer.Option(help="A calibration file.", metavar="FILE")],
    data: DataOption,
    target: Annotated[float, typer.Option(help="Precision to guarantee, e.g. 0.9.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail, e.g. 0.1.")] = 0.1,
    judge: JudgeOption = None,
    agent_scores: ScoresOption = None,
    seed: Annotated[int, typer.Option(help="Of the choice of one judgment a question.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the calibration here; default: where it was read.", metavar="FILE")
    ] = None,
) -> None:
    """Find the least selective threshold with a guaranteed precision, and store it in the calibration.

    Judgments of questions the calibration was fitted on make the threshold approximate; on questions of its own it
    is exact. Where none can be guaranteed, this says how many more labels are needed and exits with 1.
    """
    from metajudge.calibration.calibration import load_calibration
    from metajudge.calibration.guarantee import Abstention, guaranteed_threshold

    fitted = load_calibration(calibration)
    judges = tuple(judge) if judge else fitted.identity.judges
    table = _table(data, fitted.identity.signals, judges, agent_scores)
    table = table.select(table.labelled)
    values, _marks = fitted.probabilities(table)
    known = {question for question in table.questions if question in set(fitted.provenance.questions)}
    found = guaranteed_threshold(
        values.filled(0.0),
        table.correct,
        table.questions,
        target=target,
        delta=delta,
        seed=seed,
        approximate=bool(known),
        judges=judge or (),
    )
    typer.echo(found.meaning())
    if isinstance(found, Abstention):
        raise typer.Exit(1)
    others = tuple(one for one in fitted.guarantees if (one.judges, one.target) != (found.judges, found.target))
    fitted.model_copy(update={"guarantees": (*others, found)}).save(out or calibration)
    typer.echo(f"Stored in {out or calibration}.")


@app.command("plan")
def plan(
    target: Annotated[float, typer.Option(help="Precision to guarantee.")],
    rate: Annotated[float, typer.Option(help="Precision expected of what is kept; above the target.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    coverage: Annotated[float, typer.Option(help="Share of the questions expected to be kept.")] = 1.0,
) -> None:
    """Say how many labelled questions a guarantee will take, before labelling any."""
    from metajudge.calibration.guarantee import plan as labels_needed

    count = labels_needed(target, delta, rate, coverage=coverage)
    typer.echo(
        f"About {count} labelled questions: then a threshold whose kept judgments are right in {100 * rate:g} % passes "
        f"the test for {100 * target:g} % at confidence {100 * (1 - delta):g} % in four of five cases."
    )


def _names(signals: str) -> list[str]:
    return [name.strip() for name in signals.split(",") if name.strip()]


def _table(data: list[str], signals: Any, judges: Any, agent_scores: Path | None) -> Any:
    """The decided judgments asked for, with evidence over all records given."""
    from metajudge.calibration.agent_scores import AgentScores
    from metajudge.calibration.table import build_table
    from metajudge.errors import InputError
    from metajudge.readers import open_judgments
    from metajudge.readers.rewards import find_reward_scores, read_reward_scores

    source = open_judgments(data)
    chosen = set(judges or ())
    rewards = None
    if "rewards" in signals:
        files = [found for path in data if (found := find_reward_scores(Path(path))) is not None]
        rewards = [score for file in files for score in read_reward_scores(file)] if files else None
    scores = None if agent_scores is None else AgentScores.read(agent_scores)
    table = build_table(
        source.all(),
        signals,
        report=(lambda judgment: judgment.judge in chosen) if chosen else None,
        rewards=rewards,
        agent_scores=scores,
    )
    missing = sorted(chosen - set(table.judges))
    if missing:
        there = ", ".join(sorted({judgment.judge for judgment in source.all()}))
        raise InputError(f"no decided pairwise judgment by {', '.join(missing)}; the judges here are {there}")
    return table


def _described(calibration: Any) -> str:
    identity, provenance = calibration.identity, calibration.provenance
    lines = [
        f"P(correct) from {', '.join(identity.signals)}",
        f"{provenance.n} judgments of {len(provenance.questions)} questions\n",
        f"{'judge':40} {'n':>6}"
        + "".join(f" {name:>6}" for name in ("raw %", "80 %", "60 %", "40 %", "AUC"))
        + f" {'log loss':>9} {'Brier':>6}",
    ]
    for name, quality in calibration.quality.items():
        kept = "".join(f" {100 * quality.precision_at[share]:6.1f}" for share in ("80", "60", "40"))
        area = "     -" if quality.auc is None else f"{quality.auc.estimate:6.3f}"
        lines.append(
            f"{name or 'all judges':40} {quality.n:6} {100 * quality.base:6.1f}{kept} {area} "
            f"{quality.log_loss.estimate:9.3f} {quality.brier.estimate:6.3f}"
        )
    lines.append("Precision of the best 80, 60 and 40 %; all figures out of fold by question.")
    lines += [f"Model for {', '.join(group.judges)}: {group.chosen}" for group in calibration.groups]
    lines += [f"Guarantee: {one.meaning()}" for one in calibration.guarantees] or ["No guaranteed threshold stored."]
    return "\n".join(lines)
