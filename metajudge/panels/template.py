"""A commented panel file: what was chosen, and beside it, as comments, what else can be set."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from metajudge.errors import ConfigurationError
from metajudge.panels.building import threshold_of
from metajudge.panels.config import PanelConfig, panel_config, with_flags
from metajudge.prompts.versions import NEWEST
from metajudge.providers.spec import parse_agent_spec

STRATEGIES = ("single", "weighted_average", "majority_vote", "panel_discussion", "rejudge", "signals")


def check_agents(agents: Sequence[str]) -> None:
    """Refuses agents with the same name.

    Raises:
        ConfigurationError: a malformed agent, or two of one name.
    """
    names = [parse_agent_spec(text).name for text in agents]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"agent {twice[0]} is given more than once: name them apart with NAME=PROVIDER:MODEL")


def check_strategy(name: str) -> None:
    """Refuses an unknown strategy.

    Raises:
        ConfigurationError: no rubric has this name.
    """
    panel_config({"strategy": name}, source="panel")


def panel_text(
    agents: Sequence[str],
    strategy: str,
    rubric: str,
    *,
    threshold: float | None = None,
    seed: int | None = None,
    folder: Path,
) -> str:
    """The panel file as text: what was chosen, and beside it, as comments, what else can be.

    Args:
        threshold: None for the strategy's own.
        folder: where the file will be; a rubric file in it is named relative to it.

    Raises:
        ConfigurationError: agents or strategy that make no sense.
        RubricError: an unknown or malformed rubric.
    """
    panel = panel_config({"strategy": strategy, "threshold": threshold, "rubric": rubric}, source="panel")
    kept_above = threshold_of(panel)
    if strategy in ("single", "signals") and len(agents) > 1:
        raise ConfigurationError(f"strategy {strategy} does not go with {len(agents)} agents: try weighted_average")
    if strategy != "signals" and not agents:
        raise ConfigurationError(f"strategy {strategy} needs agents: give --agent PROVIDER:MODEL, or choose signals")
    if rubric.endswith((".yaml", ".yml")):
        rubric = Path(os.path.relpath(rubric, folder)).as_posix()
    lines = [
        "# Which models score judgments, by what rubric, and how their scores become one decision.",
        "# Use it with `metajudge vet INPUT --config FILE`; flags win over it. Keys do not belong here: they are taken",
        "# from the environment (OPENAI_API_KEY, ...) or from the settings file.",
        "",
        "# single, weighted_average, majority_vote, panel_discussion, rejudge (agents judge the item blind, in both",
        "# orders), or signals (no model is asked).",
        f"strategy = {_string(strategy)}",
        "",
        "# Judgments with a score strictly above this are kept; without it 4.5, for rejudge the scale's middle.",
        "# Once it is set, the score decides with a calibration, too.",
        f"{'# ' * (threshold is None)}threshold = {float(kept_above)!r}",
        "# In its place `cut`, from 0 to 1, says from which P(right) of a calibration on a judgment is kept; without",
        "# it from the promise's threshold on, else 0.9.",
        "",
        "# short, long, binary, baseline, or a YAML file relative to this one; `metajudge rubric show NAME` prints it.",
        f"rubric = {_string(rubric)}",
        "",
        "# The version of the prompt set. Another one sends every request again; `metajudge vet --dry-run` with",
        "# `--prompt-version N` prices it.",
        f"prompt_version = {NEWEST}",
        "",
        "# Sent to models that take one, and recorded with every result.",
        f"seed = {seed}" if seed is not None else "# seed = 7",
        "",
        "# Meta-judges of the judge's or a candidate's family favour their own: warn, forbid or ignore.",
        'families = "warn"',
    ]
    lines += ["", *_agents_text(agents), "", *_COMMENTED]
    return "\n".join(lines) + "\n"


def _agents_text(agents: Sequence[str]) -> list[str]:
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
    "# What differs for items of one category; rubric, weights, threshold or cut, strategy and agents (by name)",
    "# can:",
    "# [routes.math]",
    "# threshold = 4.0",
]


def _string(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
