"""``metajudge init``: a commented panel file, from three questions or from flags."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.options import AGENT_HELP
from metajudge.errors import ConfigurationError

STRATEGIES = ("single", "weighted_average", "majority_vote", "panel_discussion", "rejudge", "signals")


def init(
    path: Annotated[Path, typer.Argument(help="The panel file to write.", metavar="FILE")] = Path("panel.toml"),
    agent: Annotated[list[str] | None, typer.Option("--agent", help=AGENT_HELP, metavar="SPEC")] = None,
    strategy: Annotated[str | None, typer.Option(help=", ".join(STRATEGIES) + "; default by the agents.")] = None,
    rubric: Annotated[str | None, typer.Option(help="short, long, binary, baseline or a YAML file.")] = None,
    threshold: Annotated[float, typer.Option(help="Keep scores strictly above.")] = 4.5,
    seed: Annotated[int | None, typer.Option(help="Sent to models that take one, and recorded.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file where it is there.")] = False,
) -> None:
    """Write a commented panel file for --config; asks what the flags leave open, on a terminal.

    Without a terminal the flags must say it: --agent SPEC for each meta-judge, or --strategy signals for none.
    """
    from metajudge.panels.config import load_panel_file

    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder: name a file, for instance {path / 'panel.toml'}")
    if path.exists() and not force:
        raise ConfigurationError(f"{path} is there already and stays as it is: name another file, or give --force")
    answers = _answers(agent, strategy, rubric)
    text = panel_text(*answers, threshold=threshold, seed=seed, folder=path.parent)
    _write(path, text, force)
    panel = load_panel_file(path)  # what was written is what will be read
    agents = ", ".join(one.spec() for one in panel.agents) or "no agents"
    typer.echo(f"Written: {path} ({panel.chosen_strategy}, {agents}, rubric {panel.rubric})")
    for line in _next_steps(path, panel):
        typer.echo(line)


def _answers(agents: list[str] | None, strategy: str | None, rubric: str | None) -> tuple[list[str], str, str]:
    """What the flags say; on a terminal the rest is asked."""
    no_agents = strategy == "signals" and not agents
    asking = sys.stdin.isatty() and not ((agents or no_agents) and strategy and rubric)
    if not asking and not agents and not no_agents:
        raise ConfigurationError(
            "standard input is no terminal, so nothing can be asked: give --agent PROVIDER:MODEL (once for each "
            "meta-judge), or --strategy signals for a panel that asks no model"
        )
    if asking and not agents and not no_agents:
        agents = _ask_agents()
    agents = agents or []
    _check_agents(agents)
    if strategy is None:
        strategy = _ask_strategy(len(agents)) if asking and agents else _default_strategy(len(agents))
    if rubric is None:
        rubric = _ask_rubric() if asking and agents else "short"
    return agents, strategy, rubric


def _ask_agents() -> list[str]:
    typer.echo("1. Which models are to score judgments? PROVIDER:MODEL, several separated by commas, e.g.")
    typer.echo("   openai:gpt-4o-mini, anthropic:claude-sonnet-4-5. Empty: none, free evidence alone.")
    return list(_asked("   models", "", lambda text: _check_agents(_listed(text)), _listed))


def _ask_strategy(agents: int) -> str:
    typer.echo(f"2. How do their scores become one decision? {', '.join(STRATEGIES[:-1])}")
    return str(_asked("   strategy", _default_strategy(agents), lambda text: _check_panel({"strategy": text}), str))


def _ask_rubric() -> str:
    typer.echo("3. By which rubric? short, long, binary, baseline, or a YAML file of your own")
    return str(_asked("   rubric", "short", _check_rubric, str))


def _asked(prompt: str, default: str, check: Any, read: Any) -> Any:
    """Asks until the answer can be used; end of input ends the command."""
    from metajudge.errors import UserError

    while True:
        text = typer.prompt(prompt, default=default, show_default=bool(default)).strip()
        try:
            check(text)
        except UserError as error:
            typer.echo(f"   {error}", err=True)
            continue
        return read(text)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _default_strategy(agents: int) -> str:
    from metajudge.panels.config import PanelConfig

    return PanelConfig.strategy_for(agents)


def _check_agents(agents: list[str]) -> None:
    from metajudge.providers.spec import parse_agent_spec

    names = [parse_agent_spec(text).name for text in agents]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"agent {twice[0]} is given more than once: name them apart with NAME=PROVIDER:MODEL")


def _check_panel(data: dict[str, Any]) -> None:
    from metajudge.panels.config import panel_config

    panel_config(data, source="panel")


def _check_rubric(name: str) -> None:
    from metajudge.rubric import load_rubric

    load_rubric(name)


def panel_text(
    agents: list[str], strategy: str, rubric: str, *, threshold: float = 4.5, seed: int | None = None, folder: Path
) -> str:
    """The panel file as text: what was chosen, and beside it, as comments, what else can be.

    Args:
        folder: where the file will be; a rubric file in it is named relative to it.

    Raises:
        ConfigurationError: agents or strategy that make no sense.
        RubricError: an unknown or malformed rubric.
    """
    from metajudge.prompts.versions import prompt_sets

    _check_rubric(rubric)
    _check_panel({"strategy": strategy, "threshold": threshold})
    if strategy in ("single", "signals") and len(agents) > 1:
        raise ConfigurationError(f"strategy {strategy} does not go with {len(agents)} agents: try majority_vote")
    if strategy != "signals" and not agents:
        raise ConfigurationError(f"strategy {strategy} needs agents: give --agent PROVIDER:MODEL, or choose signals")
    if rubric.endswith((".yaml", ".yml")):
        rubric = _relative(rubric, folder)
    lines = [
        "# Which models score judgments, by what rubric, and how their scores become one decision.",
        "# Use it with `metajudge vet INPUT --config FILE`; flags win over it. Keys do not belong here: they are taken",
        "# from the environment (OPENAI_API_KEY, ...) or from the settings file.",
        "",
        "# single, weighted_average, majority_vote, panel_discussion, rejudge (agents judge the item blind, in both",
        "# orders), or signals (no model is asked).",
        f"strategy = {_string(strategy)}",
        "",
        "# Judgments with a score strictly above this are kept.",
        f"threshold = {float(threshold)!r}",
        "",
        "# short, long, binary, baseline, or a YAML file relative to this one; `metajudge rubric show NAME` prints it.",
        f"rubric = {_string(rubric)}",
        "",
        "# The version of the prompt set. Another one asks everything anew; `metajudge vet --dry-run` with",
        "# `--prompt-version N` prices it.",
        f"prompt_version = {max(prompt_sets())}",
        "",
        "# Sent to models that take one, and recorded with every result.",
        f"seed = {seed}" if seed is not None else "# seed = 7",
        "",
        "# Meta-judges of the judge's or a candidate's family favour their own: warn, forbid or ignore.",
        'families = "warn"',
    ]
    lines += ["", *_agents_text(agents), "", *_COMMENTED]
    return "\n".join(lines) + "\n"


def _agents_text(agents: list[str]) -> list[str]:
    from metajudge.panels.config import PanelConfig, with_flags

    lines = ["# One table an agent: PROVIDER:MODEL[@BASE_URL], a name and a weight (of the weighted average)."]
    for one in with_flags(PanelConfig(), agents).agents if agents else ():
        name = [f"name = {_string(one.name)}"] if one.name is not None else []
        lines += ["[[agents]]", *name, f"model = {_string(one.model)}", "weight = 1.0", "# temperature = 0.0", ""]
    if not agents:
        lines += ["# [[agents]]", '# model = "openai:gpt-4o-mini"', "# weight = 1.0"]
    return lines[:-1] if lines[-1] == "" else lines


_COMMENTED = [
    "# An endpoint's own limits, shared by all agents that ask it:",
    "# [limits.openai]",
    "# concurrency = 16",
    "# requests_per_minute = 500",
    "",
    "# What differs for items of one category; rubric, weights, threshold, strategy and agents (by name) can:",
    "# [routes.math]",
    "# threshold = 4.0",
]


def _string(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _relative(rubric: str, folder: Path) -> str:
    import os

    return Path(os.path.relpath(rubric, folder)).as_posix()


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{path} is there already and stays as it is: give --force to replace it") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}; name another file") from None


def _next_steps(path: Path, panel: Any) -> list[str]:
    lines = ["Next:"]
    if panel.agents:
        lines += [f"  metajudge check --config {path}                asks each agent once (keys, URL, price)"]
    lines += [f"  metajudge doctor --config {path}               looks at what else may be missing"]
    return [*lines, f"  metajudge vet judgments.jsonl --config {path}  vets"]
