"""``metajudge rubric``: list, show and validate rubrics."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="List, show and validate rubrics.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_all() -> None:
    """List the built-in rubrics."""
    from metajudge.rubric import list_rubrics

    for rubric in list_rubrics():
        criteria = f"{len(rubric.criteria)} criteria, " if rubric.criteria else ""
        typer.echo(f"{rubric.name:<10} {rubric.kind:<9} {criteria}{rubric.scale}  {rubric.digest}")
        typer.echo(f"{'':<10} {' '.join(rubric.description.split())}")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A built-in name or a YAML file.")],
    weights: Annotated[str | None, typer.Option(help="A weight set of the rubric.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the system prompt made from it instead.")] = False,
) -> None:
    """Show a rubric: criteria, weights, levels, digest."""
    from metajudge.rubric import load_rubric

    rubric = load_rubric(name, weights)
    if prompt:
        from metajudge.prompts.meta_judge import render_system

        typer.echo(render_system(rubric))
        return
    typer.echo(f"{rubric.title} ({rubric.name}, {rubric.kind}, {rubric.scale})\ndigest {rubric.digest}\n")
    typer.echo(rubric.description.strip())
    for criterion in rubric.criteria:
        share = rubric.weights.get(criterion.name)
        weight = "" if share is None else f"  weight {share:.3g}"
        typer.echo(f"\n{criterion.name}: {criterion.title}{weight}\n  {criterion.description.strip()}")
        for point, text in sorted(criterion.levels.items()):
            typer.echo(f"  {point:g}: {text.strip()}")


@app.command("validate")
def validate(file: Annotated[Path, typer.Argument(help="A rubric of your own, in YAML.")]) -> None:
    """Check a rubric file; exit 2 with every problem found."""
    from metajudge.rubric import load_rubric

    rubric = load_rubric(file)
    typer.echo(f"{file}: valid; {rubric.name}, {rubric.kind}, {len(rubric.criteria)} criteria, digest {rubric.digest}")
