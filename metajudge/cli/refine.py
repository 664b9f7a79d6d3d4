"""``metajudge rubric refine``: a human's basic rubric becomes one that a meta-judge can apply."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.options import StoreOption, store_path
from metajudge.errors import ConfigurationError, RubricError
from metajudge.runs.exit_codes import ExitCode


def refine(
    file: Annotated[Path, typer.Argument(help="The basic rubric: plain text, Markdown, or a YAML list.")],
    model: Annotated[str, typer.Option("--model", help="Who writes it: PROVIDER:MODEL[@BASE_URL].", metavar="SPEC")],
    scenario: Annotated[str | None, typer.Option(help="What the judgments are about, for fitting words.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write it here; default standard output.", metavar="FILE")] = None,
    name: Annotated[str | None, typer.Option(help="The rubric's name; default the file's.")] = None,
    store: StoreOption = None,
    budget_usd: Annotated[float | None, typer.Option(help="Spend no more than this.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out where it is there.")] = False,
) -> None:
    """Have a model turn a basic rubric into descriptions, a text for every level and weights, as a rubric file.

    Every point of a list must be taken up. Read the result before you use it: `metajudge vet --rubric FILE`.
    Exit code 1: the model gave no usable rubric.
    """
    from metajudge.cli.loop import run
    from metajudge.judging.rubric_refining import read_notes, rubric_name
    from metajudge.types.digests import text_digest

    text = _text(file)
    notes = read_notes(text, str(file))
    if out is not None and out.exists() and not force:
        raise ConfigurationError(f"{out} is there already and stays as it is: name another file, or give --force")
    chosen = name or rubric_name(str(file))
    _check_name(chosen)
    answer, asked = run(_refine(model, notes, chosen, scenario, store_path(store), budget_usd))
    if answer.value is None:
        typer.echo(f"metajudge: no rubric ({answer.failure.kind.value}): {answer.failure.message}", err=True)
        raise typer.Exit(ExitCode.INCOMPLETE)
    said = _provenance(file.name, text_digest(text), asked, answer, scenario)
    _deliver(answer.value, said, out)
    cost = "an unknown cost" if answer.spent.cost_usd is None else f"${answer.spent.cost_usd:.4f}"
    criteria = len(answer.value.criteria)
    noted = f" from {notes.count} notes" if notes.count else ""
    typer.echo(f"metajudge: {criteria} criteria{noted}, {answer.spent.calls} calls, {cost}", err=True)
    if out is not None:
        typer.echo(f"Written: {out}; read it, then: metajudge rubric show {out}")


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise RubricError(f"{file} is not UTF-8 text: save the basic rubric as plain text") from None
    except OSError as error:
        raise RubricError(f"cannot read {file}: {error.strerror or error}") from None


def _check_name(name: str) -> None:
    import re

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise RubricError(f"{name!r} is no name of a rubric: lower-case letters, digits and _, a letter first (--name)")


async def _refine(model: str, notes: Any, name: str, scenario: str | None, store: Any, usd: float | None) -> Any:
    from dataclasses import replace

    from metajudge.cli.loop import say
    from metajudge.judging.rubric_refining import PARAMETERS, refine_rubric
    from metajudge.panels.config import PanelConfig, with_flags
    from metajudge.vetting.engine import Engine

    panel = with_flags(PanelConfig(strategy="single"), [model])
    async with Engine(panel=panel, store=store, command="refine", notify=say, budget_usd=usd) as engine:
        agent = engine.vetter.default.agents[0]
        answer = await refine_rubric(agent.model, notes, name=name, scenario=scenario, parameters=replace(PARAMETERS))
        status = "failed" if answer.failure is not None else "finished"
        await engine.finish(status, {"calls": engine.meter.sent, "criteria": _criteria(answer)})
    return answer, str(panel.agents[0].model)


def _criteria(answer: Any) -> int:
    return 0 if answer.value is None else len(answer.value.criteria)


def _provenance(source: str, digest: str, asked: str, answer: Any, scenario: str | None) -> list[str]:
    from metajudge import __version__
    from metajudge.judging.rubric_refining import templates_digest

    when = time.strftime("%Y-%m-%d", time.gmtime())
    lines = [
        f"Refined from {source} (digest {digest}) by {asked} on {when}, metajudge {__version__}.",
        f"Model as reported: {answer.reported_model or 'not reported'}; request {answer.key}; "
        f"prompt templates {templates_digest()}; replies {answer.replies}.",
        "A model wrote this: read it before you judge by it.",
    ]
    return [*lines, f"Scenario: {scenario}"] if scenario else lines


def _deliver(rubric: Any, provenance: list[str], out: Path | None) -> None:
    from metajudge.judging.rubric_refining import rubric_yaml

    text = rubric_yaml(rubric, provenance)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(text, nl=False)  # it was paid for
        raise ConfigurationError(
            f"{out}: cannot be written: {error.strerror or error}; it is printed instead"
        ) from None
