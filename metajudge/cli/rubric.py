"""``metajudge rubric``: list, show, validate and refine rubrics."""

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from metajudge import __version__
from metajudge.agents.exchange import Answer
from metajudge.cli.loop import run, say
from metajudge.cli.options import StoreOption, store_path
from metajudge.cli.sending import BudgetUsdOption
from metajudge.errors import ConfigurationError, RubricError
from metajudge.files.command_line import command
from metajudge.judging.rubric_refining import PARAMETERS, Notes, read_notes, refine_rubric, rubric_name, rubric_yaml
from metajudge.prompts.case import render_case_system
from metajudge.prompts.meta_judge import render_system
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST, NEWEST, check_version
from metajudge.prompts.writers import REFINING
from metajudge.rubric import Rubric, list_case_rubrics, list_rubrics, load_rubric
from metajudge.runs.exit_codes import ExitCode
from metajudge.runs.loop import RunEnd
from metajudge.session import Session
from metajudge.types.digests import text_digest
from metajudge.types.spent import cost_in_words

app = typer.Typer(help="List, show, validate and refine rubrics.", no_args_is_help=True, rich_markup_mode=None)


def refine(
    file: Annotated[Path, typer.Argument(help="The basic rubric: plain text, Markdown, or a YAML list.")],
    model: Annotated[str, typer.Option(help="The model that writes it: PROVIDER:MODEL[@BASE_URL].", metavar="SPEC")],
    scenario: Annotated[str | None, typer.Option(help="What the judgments are about, to adapt the wording.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write it here; default standard output.", metavar="FILE")] = None,
    name: Annotated[str | None, typer.Option(help="The rubric's name; default the file's.")] = None,
    store: StoreOption = None,
    budget_usd: BudgetUsdOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing --out file.")] = False,
) -> None:
    """Have a model turn a basic rubric into descriptions, a text for every level and weights, as a rubric file.

    Every point of a list must be covered. Read the result before you use it: `metajudge vet --rubric FILE`.
    Exit code 1: the model gave no usable rubric.
    """
    text = _text(file)
    notes = read_notes(text, str(file))
    if out is not None and out.exists() and not force:
        raise ConfigurationError(f"{out} already exists and was not changed: name another file, or give --force")
    chosen = name or rubric_name(str(file))
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", chosen):
        raise RubricError(
            f"{chosen!r} is not a valid rubric name: use lower-case letters, digits and _, a letter first (--name)"
        )
    session = Session([model], store=store_path(store), budget_usd=budget_usd, notify=say, command="refine")
    answer = run(_refine(session, notes, chosen, scenario))
    if answer.failure is not None or answer.value is None:
        assert answer.failure is not None, "an answer has a rubric or a failure"
        typer.echo(f"metajudge: no rubric ({answer.failure.kind.value}): {answer.failure.message}", err=True)
        raise typer.Exit(ExitCode.INCOMPLETE)
    asked = session.config.agents[0].model
    _deliver(answer.value, _provenance(file.name, text_digest(text), asked, answer, scenario), out)
    criteria, cost = len(answer.value.criteria), cost_in_words(answer.spent.cost_usd)
    noted = f" from {notes.count} notes" if notes.count else ""
    typer.echo(f"metajudge: {criteria} criteria{noted}, {answer.spent.calls} calls, {cost}", err=True)
    if out is not None:
        typer.echo(f"Written: {out}; read it, then: {command('rubric', 'show', str(out))}")


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise RubricError(f"{file} is not UTF-8 text: save the basic rubric as plain text") from None
    except OSError as error:
        raise RubricError(f"cannot read {file}: {error.strerror or error}") from None


async def _refine(session: Session, notes: Notes, name: str, scenario: str | None) -> Answer[Rubric]:
    async with session:
        (writer,) = session.models()
        answer = await refine_rubric(writer.model, notes, name=name, scenario=scenario, parameters=PARAMETERS)
        criteria = 0 if answer.value is None else len(answer.value.criteria)
        end = RunEnd.FINISHED if answer.failure is None else RunEnd.FAILED
        await session.finish(end.value, {"calls": session.meter.sent, "criteria": criteria})
    return answer


def _provenance(source: str, digest: str, asked: str, answer: Answer[Rubric], scenario: str | None) -> list[str]:
    when = time.strftime("%Y-%m-%d", time.gmtime())
    lines = [
        f"Refined from {source} (digest {digest}) by {asked} on {when}, metajudge {__version__}.",
        f"Model as reported: {answer.reported_model or 'not reported'}; request {answer.key}; "
        f"prompt templates {prompts_digest(*REFINING)}; replies {answer.replies}.",
        "A model wrote this: read it before you judge by it.",
    ]
    return [*lines, f"Scenario: {scenario}"] if scenario else lines


def _deliver(rubric: Rubric, provenance: list[str], out: Path | None) -> None:
    text = rubric_yaml(rubric, provenance)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(text, nl=False)  # keep a reply that was paid for
        raise ConfigurationError(
            f"{out}: cannot be written: {error.strerror or error}; it is printed instead"
        ) from None


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
        int, typer.Option(help="Of the prompt set: a built-in rubric and the prompt belong to one.")
    ] = NEWEST,
) -> None:
    """Show a rubric: criteria, weights, levels, digest."""
    check_version(prompt_version)
    rubric = load_rubric(name, weights, prompt_set=prompt_version)
    if prompt:
        form = ReplyForm(analysis=prompt_version > FIRST)
        of_cases = rubric.subject == "case"
        typer.echo(
            render_case_system(rubric) if of_cases else render_system(rubric, None, form, version=prompt_version)
        )
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


@app.command("validate")
def validate(file: Annotated[Path, typer.Argument(help="A rubric of your own, in YAML.")]) -> None:
    """Check a rubric file; exit 2 with every problem found."""
    rubric = load_rubric(file)
    typer.echo(f"{file}: valid; {rubric.name}, {rubric.kind}, {len(rubric.criteria)} criteria, digest {rubric.digest}")


app.command("refine")(refine)
