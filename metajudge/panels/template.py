"""A commented panel file: what was chosen, and beside it, as comments, what else can be set."""

import json
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import get_args

from metajudge.errors import ConfigurationError
from metajudge.panels.building import threshold_of
from metajudge.panels.config import AgentConfig, Strategy, panel_config
from metajudge.prompts.versions import NEWEST

STRATEGIES: tuple[str, ...] = get_args(Strategy)


def panel_text(
    agents: Sequence[str],
    strategy: str,
    rubric: str,
    *,
    threshold: float | None = None,
    seed: int | None = None,
    folder: Path,
) -> str:
    """The panel file as text, by the template ``panel_file.toml``.

    Args:
        threshold: None for the strategy's own.
        folder: where the file will be; a rubric file in it is named relative to it.

    Raises:
        ConfigurationError: agents or strategy that make no sense.
        RubricError: an unknown or malformed rubric.
    """
    panel = panel_config({"strategy": strategy, "threshold": threshold, "rubric": rubric})
    kept_above = threshold_of(panel)
    if strategy in ("single", "signals") and len(agents) > 1:
        raise ConfigurationError(f"strategy {strategy} does not go with {len(agents)} agents: try weighted_average")
    if strategy != "signals" and not agents:
        raise ConfigurationError(f"strategy {strategy} needs agents: give --agent PROVIDER:MODEL, or choose signals")
    if rubric.endswith((".yaml", ".yml")):
        rubric = Path(os.path.relpath(rubric, folder)).as_posix()
    return Template(resources.files("metajudge.panels").joinpath("panel_file.toml").read_text("utf-8")).substitute(
        strategy=_string(strategy),
        threshold=f"{'# ' * (threshold is None)}threshold = {float(kept_above)!r}",
        rubric=_string(rubric),
        prompt_version=NEWEST,
        seed="# seed = 7" if seed is None else f"seed = {seed}",
        agents="\n\n".join(map(_agent, agents)) or '# [[agents]]\n# model = "openai:gpt-4o-mini"\n# weight = 1.0',
    )


def _agent(text: str) -> str:
    one = AgentConfig.model_validate(text)
    name = [] if one.name is None else [f"name = {_string(one.name)}"]
    return "\n".join(["[[agents]]", *name, f"model = {_string(one.model)}", "weight = 1.0", "# temperature = 0.0"])


def _string(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
