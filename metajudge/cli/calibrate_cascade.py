"""``metajudge calibrate cascade``: curves for each stage and the band of doubt, from labelled scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.cascade import CascadePlan
from metajudge.calibration.cascade_fit import plan_cascade
from metajudge.calibration.cascade_scores import staged_scores
from metajudge.calibration.files import read_assessments
from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_judgments
from metajudge.cli.options import ResamplingSeedOption
from metajudge.errors import InputError
from metajudge.files.output import check_apart, check_writable, write_text
from metajudge.types import Judgment


@reads_judgments
def cascade(
    data: Annotated[list[Path], typer.Option("--data", help="Labelled judgments: files or folders.", metavar="DIR")],
    agent_scores: Annotated[
        Path,
        typer.Option(
            "--agent-scores",
            help="Assessments with every agent's score (`vet --no-early-exit --out`).",
            metavar="FILE",
        ),
    ],
    stage: Annotated[
        list[str],
        typer.Option("--stage", help="Agents of a stage, comma-separated; cheapest first. Repeat.", metavar="NAMES"),
    ],
    out: Annotated[Path, typer.Option("--out", help="Write the plan to this file.", metavar="FILE.json")],
    cut: Annotated[float, typer.Option(help="Keep judgments with a probability above this.", min=0, max=1)] = 0.5,
    precision_given_up: Annotated[
        float, typer.Option(help="Precision that may be lost compared with the last stage, e.g. 0.01.", min=0, max=1)
    ] = 0.0,
    kept_given_up: Annotated[
        float, typer.Option(help="Fraction of the judgments kept by the last stage that may be lost.", min=0, max=1)
    ] = 0.0,
    seed: ResamplingSeedOption = 0,
    folds: Annotated[int, typer.Option(help="Number of folds, by question.", min=2)] = 5,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Plan a cascade: the cheapest band of doubt that keeps up with the last stage alone on the labels given.

    Name the plan in a panel file: strategy = "cascade", and [cascade] plan = FILE.
    """
    check_writable(out)
    check_apart([*data, agent_scores], [out])
    stages = [tuple(name.strip() for name in names.split(",") if name.strip()) for names in stage]
    judgments = _labelled(data, reading)
    assessments = read_assessments(agent_scores)
    staged = staged_scores(judgments, {one.judgment_id: one for one in assessments}, stages)
    plan = plan_cascade(
        staged,
        stages,
        cut=cut,
        precision_given_up=precision_given_up,
        kept_given_up=kept_given_up,
        folds=folds,
        seed=seed,
    )
    plan = plan.model_copy(update=_identity(AgentScores.from_assessments(assessments), stages))
    write_text(out, plan.model_dump_json(indent=2) + "\n")
    for line in plan_lines(plan):
        typer.echo(line)
    typer.echo(f"Written: {out}")


def plan_lines(plan: CascadePlan) -> list[str]:
    """The expected results of a plan, as text."""
    found = plan.provenance
    assert found is not None
    low, high = plan.band
    lines = [
        f"{found.judgments} labelled judgments of {found.questions} questions"
        + (f"; {found.left_out} left out because a stage has no score for them" if found.left_out else ""),
        f"Band of doubt {low:.3f}..{high:.3f}, cut {plan.cut:.3f}.",
    ]
    for number, (stage, asked) in enumerate(zip(plan.stages, found.asked, strict=True), 1):
        lines.append(f"Stage {number}, {', '.join(stage.agents)}: asked about {asked} of {found.judgments}")
    lines.append(
        f"On these labels: keeps {found.kept} with precision {_share(found.precision)}; the last stage alone keeps "
        f"{found.reference_kept} with {_share(found.reference_precision)}"
    )
    lines.append(f"Costs {found.share_of_cost:.1%} of asking the last stage about all, in {found.cost_unit}.")
    if found.share_of_cost >= 1:
        lines.append("That saves nothing: use the last stage alone, or put a better or cheaper agent before it.")
    return lines + _held_out_lines(plan)


def _held_out_lines(plan: CascadePlan) -> list[str]:
    found = None if plan.provenance is None else plan.provenance.held_out
    if found is None:
        return ["The band was chosen on these labels: expect somewhat lower figures on new data."]
    difference = 100 * (found.precision - found.reference_precision)
    return [
        f"On questions that neither curves nor band saw (plans made without each fold): keeps {found.kept} with "
        f"precision {_share(found.precision)}, the last stage alone {found.reference_kept} with "
        f"{_share(found.reference_precision)}; difference {difference:+.1f} points (95 % {100 * found.low:+.1f} to "
        f"{100 * found.high:+.1f}, questions resampled), at {found.share_of_cost:.1%} of the cost. "
        "This is what to expect."
    ]


def _share(value: float | None) -> str:
    return "none to count" if value is None else f"{value:.4f}"


def _labelled(paths: list[Path], reading: Reading) -> dict[str, Judgment]:
    """Judgments with a label and a verdict that is not a tie, by id."""
    source = reading.open(list(map(str, paths)))
    found = {judgment.id: judgment for judgment in source if judgment.correct is not None}
    if not found:
        raise InputError(
            f"no labelled judgments in {', '.join(map(str, paths))}: a cascade plan needs items with labels"
        )
    return found


def _identity(scores: AgentScores, stages: Sequence[tuple[str, ...]]) -> dict[str, object]:
    """What the plan is for: its agents, rubrics and prompts."""
    names = {name for stage in stages for name in stage}
    agents = {name: model for name, model in scores.agents.items() if name in names}
    return {"agents": agents, "rubrics": scores.rubrics, "prompts": scores.prompts}
