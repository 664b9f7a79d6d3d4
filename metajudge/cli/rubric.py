"""``metajudge rubric``: list, show, validate and refine rubrics."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli import refine
from metajudge.prompts.case import render_case_system
from metajudge.prompts.meta_judge import render_system
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, NEWEST, check_version
from metajudge.rubric import Rubric, list_case_rubrics, list_rubrics, load_rubric

app = typer.Typer(help="List, show, validate and refine rubrics.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_all() -> None:
    """List the built-in rubrics."""
    for rubric in (*list_rubrics(), *list_case_rubrics()):
        criteria = f"{len(rubric.criteria)} criteria, " if rubric.criteria else ""
        kind = "cases" if rubric.subject == "case" else rubric.kind
        typer.echo(f"{rubric.name:<13} {kind:<9} {criteria}{rubric.scale}  {rubric.digest}")
        typer.echo(f"{'':<13} {' '.join(rubric.description.split())}")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A built-in name or a YAML file.")],
    weights: Annotated[str | None, typer.Option(help="A weight set of the rubric.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the system prompt made from it instead.")] = False,
    prompt_version: Annotated[
        int, typer.Option("--prompt-version", help="Of the prompt set: a built-in rubric and the prompt belong to one.")
    ] = NEWEST,
) -> None:
    """Show a rubric: criteria, weights, levels, digest."""
    check_version(prompt_version)
    rubric = load_rubric(name, weights, prompt_set=prompt_version)
    if prompt:
        typer.echo(_system_prompt(rubric, prompt_version))
        return
    typer.echo(f"{rubric.title} ({rubric.name}, {rubric.kind}, {rubric.scale})\ndigest {rubric.digest}\n")
    typer.echo(rubric.description.strip())
    for criterion in rubric.criteria:
        share = rubric.weights.get(criterion.name)
        weight = "" if share is None else f"  weight {share:.3g}"
        only = "  judges the rationale" if criterion.judges_rationale else ""
        typer.echo(f"\n{criterion.name}: {criterion.title}{weight}{only}\n  {criterion.description.strip()}")
        for point, text in sorted(criterion.levels.items()):
            typer.echo(f"  {point:g}: {text.strip()}")


def _system_prompt(rubric: Rubric, version: int) -> str:
    if rubric.subject == "case":
        return render_case_system(rubric)
    return render_system(rubric, None, ReplyForm(analysis=version > FIRST), version=version)


@app.command("validate")
def validate(file: Annotated[Path, typer.Argument(help="A rubric of your own, in YAML.")]) -> None:
    """Check a rubric file; exit 2 with every problem found."""
    rubric = load_rubric(file)
    typer.echo(f"{file}: valid; {rubric.name}, {rubric.kind}, {len(rubric.criteria)} criteria, digest {rubric.digest}")


app.command("refine")(refine.refine)
