"""``metajudge init``: a commented panel file, from three questions or from flags."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import SeedOption, Vetting, echo_lines, takes
from metajudge.errors import ConfigurationError, UserError
from metajudge.files.command_line import command
from metajudge.panels.building import named_agents
from metajudge.panels.config import PanelConfig, load_panel_file, panel_config
from metajudge.panels.template import STRATEGIES, panel_text
from metajudge.rubric import load_rubric


@takes("chosen", Vetting, "families")
def init(
    path: Annotated[Path, typer.Argument(help="The panel file to write.", metavar="FILE")] = Path("panel.toml"),
    *,
    chosen: Vetting,
    seed: SeedOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented panel file for --config; on a terminal, asks for what the options leave open.

    Without a terminal give --agent SPEC for each meta-judge, or --strategy signals for none.
    """
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder: name a file, for instance {path / 'panel.toml'}")
    if path.exists() and not force:
        raise ConfigurationError(f"{path} already exists and was not changed: name another file, or give --force")
    answers = _answers(chosen.agent, chosen.strategy, chosen.rubric)
    text = panel_text(*answers, threshold=chosen.threshold, seed=seed, folder=path.parent)
    _write(path, text, force)
    panel = load_panel_file(path)  # check the file as written
    agents = ", ".join(one.spec() for one in panel.agents) or "no agents"
    typer.echo(f"Written: {path} ({panel.chosen_strategy}, {agents}, rubric {panel.rubric})")
    echo_lines(_next_steps(path, panel))


def _answers(agents: list[str] | None, strategy: str | None, rubric: str | None) -> tuple[list[str], str, str]:
    """The options given; on a terminal the rest is asked for."""
    no_agents = strategy == "signals" and not agents
    asking = sys.stdin.isatty() and not ((agents or no_agents) and strategy and rubric)
    if not asking and not agents and not no_agents:
        raise ConfigurationError(
            "standard input is not a terminal, so nothing can be asked: give --agent PROVIDER:MODEL (once for each "
            "meta-judge), or --strategy signals for a panel that asks no model"
        )
    if asking and not agents and not no_agents:
        explanation = (
            "1. Which models should score judgments? PROVIDER:MODEL, several separated by commas, e.g.\n"
            "   openai:gpt-4o-mini, anthropic:claude-sonnet-4-5. Empty: none, free evidence alone."
        )
        agents = _named(_asked(explanation, "models", "", lambda text: _checked(_named(text))))
    agents = _checked(agents or [])
    if strategy is None:
        default = panel_config({"agents": agents, "rubric": rubric or "short"}).chosen_strategy
        explanation = f"2. How should their scores be combined? {', '.join(STRATEGIES[:-1])}"
        known = lambda one: panel_config({"strategy": one})  # noqa: E731
        strategy = _asked(explanation, "strategy", default, known) if asking and agents else default
    if rubric is None:
        explanation = "3. Which rubric? short, long, binary, baseline, or your own YAML file"
        rubric = _asked(explanation, "rubric", "short", load_rubric) if asking and agents else "short"
    return agents, strategy, rubric


def _asked(explanation: str, prompt: str, default: str, check: Callable[[str], object]) -> str:
    """Explains and asks until the answer is valid; end of input ends the command."""
    typer.echo(explanation)
    while True:
        text = typer.prompt(f"   {prompt}", default=default, show_default=bool(default)).strip()
        try:
            check(text)
        except UserError as error:
            typer.echo(f"   {error}", err=True)
        else:
            return str(text)


def _checked(agents: list[str]) -> list[str]:
    """The agents; two of one name are refused."""
    named_agents(panel_config({"agents": agents}).agents, {})
    return agents


def _named(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{path} already exists and was not changed: give --force to replace it") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}; name another file") from None


def _next_steps(path: Path, panel: PanelConfig) -> list[str]:
    given = ("--config", str(path))
    steps = [("check", "asks each agent once (keys, URL, price)")] if panel.agents else []
    steps.append(("doctor", "checks what else may be missing"))
    lines = [f"  {command(name, given):<44}  {what}" for name, what in steps]
    return ["Next:", *lines, f"  {command('vet', 'FILE', given):<44}  vets your verdicts"]
