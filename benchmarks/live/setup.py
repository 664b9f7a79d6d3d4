"""What the live experiment asks and compares: agents, the panel, the pairs that differ in room to think, the rules."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, PanelConfig, Weights
from metajudge.types.frozen import Frozen

BUILT_IN = "openai"
FREE_EVIDENCE = "free evidence"
PANEL = "panel"

Topic = Literal["evidence", "panel", "think", "cost"]

QUESTIONS: dict[Topic, str] = {
    "evidence": "Do meta-judges beat free evidence?",
    "panel": "Does a panel beat one?",
    "think": "Does room to think help?",
    "cost": "Does a right verdict kept cost more from the panel than from one?",
}


class Think(Frozen):
    """Two agents that differ in how much they may think before they score; ``name`` is the difference in words."""

    name: str
    less: str
    more: str


class Comparison(Frozen):
    """One comparison: the figure of ``first`` less that of ``second``, each an agent, the panel or free evidence.

    Attributes:
        measure: ``area``: the area under the ROC curve; ``cost``: the logarithm of dollars for each right verdict kept.
    """

    topic: Topic
    name: str
    first: str
    second: str
    measure: Literal["area", "cost"] = "area"


class LiveSetup(Frozen):
    """The experiment without its data.

    Attributes:
        agents: name of its part in the experiment -> the model and its settings. Each is asked once a judgment.
        one: the agent that stands for a single meta-judge, chosen before anything is seen.
        panel: the agents whose scores become the panel's; they are not asked again for it.
        reply_tokens: output tokens of a reply to price an agent by, in place of the usual assumption.
        relevant: the smallest difference of areas that matters; a smaller one counts as none.
        relevant_ratio: the same for the ratio of costs.
        level: probability of any wrong "yes" or "no, the other way round" over all comparisons together.
        most_missing: the largest share of the planned judgments without a score at which a comparison is answered.
    """

    title: str
    agents: dict[str, AgentConfig]
    one: str
    panel: tuple[str, ...] = Field(min_length=2)
    panel_strategy: Literal["weighted_average", "majority_vote"] = "weighted_average"
    think: tuple[Think, ...] = ()
    rubric: str = "short"
    weights: Weights | None = None
    threshold: float = 4.5
    prompt_version: PositiveInt = 2
    reply_tokens: dict[str, PositiveInt] = Field(default_factory=dict)
    relevant: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    relevant_ratio: Annotated[float, Field(gt=1)] = 1.1
    level: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    most_missing: Annotated[float, Field(ge=0, lt=0.5)] = 0.1

    @model_validator(mode="after")
    def _check(self) -> "LiveSetup":
        used = [self.one, *self.panel, *(name for pair in self.think for name in (pair.less, pair.more))]
        if unknown := sorted({*used, *self.reply_tokens} - set(self.agents)):
            raise ValueError(f"{unknown[0]!r} is no agent; there are {', '.join(self.agents)}")
        if len(set(self.panel)) < len(self.panel):
            raise ValueError("the panel names an agent twice")
        if idle := sorted(set(self.agents) - set(used)):
            raise ValueError(f"agent {idle[0]!r} is in no comparison: leave it out, it would be paid for nothing")
        if taken := {PANEL, FREE_EVIDENCE} & set(self.agents):
            raise ValueError(f"an agent cannot be called {taken.pop()!r}: it is the name of something else here")
        seen: dict[str, str] = {}
        for name, agent in self.agents.items():
            same = agent.model_copy(update={"name": None, "price": None, "max_tokens": None}).model_dump_json()
            if same in seen:
                raise ValueError(
                    f"{seen[same]!r} and {name!r} ask the same model alike: their replies would be the same"
                )
            seen[same] = name
        return self

    def panel_of(self, agent: str) -> PanelConfig:
        """One agent as the panel that asks it; never stops early, because scores are needed."""
        return PanelConfig(
            agents=(self.agents[agent].model_copy(update={"name": agent, "role": None, "weight": 1.0}),),
            strategy="single",
            threshold=self.threshold,
            rubric=self.rubric,
            weights=self.weights,
            prompt_version=self.prompt_version,
            early_exit=False,
            families="ignore",
        )

    def members(self, arm: str) -> tuple[str, ...]:
        """The agents whose replies an arm rests on; none for free evidence."""
        if arm == PANEL:
            return self.panel
        return () if arm == FREE_EVIDENCE else (arm,)

    @property
    def arms(self) -> tuple[str, ...]:
        """All that is measured: free evidence, every agent, the panel."""
        return (FREE_EVIDENCE, *self.agents, PANEL)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What is tested, in the order of the report."""
        think = [Comparison(topic="think", name=one.name, first=one.more, second=one.less) for one in self.think]
        return (
            Comparison(topic="evidence", name="the panel", first=PANEL, second=FREE_EVIDENCE),
            Comparison(topic="evidence", name="one meta-judge", first=self.one, second=FREE_EVIDENCE),
            Comparison(topic="panel", name=f"{len(self.panel)} agents", first=PANEL, second=self.one),
            *think,
            Comparison(topic="cost", name="dollars", first=PANEL, second=self.one, measure="cost"),
        )

    @property
    def confidence(self) -> float:
        """Of each interval, so that all hold together with ``1 - level`` (Bonferroni)."""
        return 1 - self.level / len(self.comparisons)

    @property
    def analyses(self) -> dict[str, Any]:
        """What must be equal for runs to be pooled: all but the models."""
        plain = self.model_dump(mode="json", exclude={"agents", "reply_tokens", "title", "think"})
        forms = {name: {"analysis": one.analysis, "effort": one.effort} for name, one in self.agents.items()}
        comparisons = [one.model_dump(exclude={"name"}) for one in self.comparisons]
        return {**plain, "comparisons": comparisons, "agents": forms}


def load_setup(name: str = BUILT_IN) -> LiveSetup:
    """Reads a setup file, or the built-in one.

    Raises:
        ConfigurationError: no such file, or what is wrong in it and where.
    """
    try:
        if name == BUILT_IN:
            text = files("metajudge.benchmarks.live").joinpath(f"{name}.toml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
        return checked_setup(tomllib.loads(text), f"--setup {name}")
    except FileNotFoundError:
        raise ConfigurationError(f"--setup {name}: no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"--setup {name}: cannot be read as TOML: {error}") from None


def checked_setup(data: Mapping[str, Any], source: str) -> LiveSetup:
    """Plain data as a setup.

    Raises:
        ConfigurationError: what is wrong in it and where.
    """
    try:
        return LiveSetup.model_validate(data)
    except ValidationError as error:
        lines = [
            f"{source}: {'.'.join(map(str, one['loc'])) or 'the setup'}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False)
        ]
        raise ConfigurationError("\n".join(lines)) from None


def with_agents(setup: LiveSetup, agents: Sequence[str], effort_agent: str | None) -> LiveSetup:
    """The setup with other models in the same parts.

    Args:
        setup: whose rules are kept.
        agents: ``PROVIDER:MODEL[@BASE_URL]``, two or more: the panel, and the first one alone; none keeps the setup's.
        effort_agent: a model that takes an effort, asked with low and with high; None keeps the setup's, or leaves the
            comparison out where other agents are given.

    Raises:
        ConfigurationError: one agent alone, or two that are the same.
    """
    if not agents and effort_agent is None:
        return setup
    plain = setup.model_dump(mode="json")
    if agents:
        if len(agents) < 2:
            raise ConfigurationError("give --agent at least twice: the first is the one, all together are the panel")
        names = [f"agent-{number}" for number in range(1, len(agents) + 1)]
        common = {"analysis": True, "max_tokens": 2500}
        plain["agents"] = {name: {"model": spec, **common} for name, spec in zip(names, agents, strict=True)}
        plain["agents"]["agent-1-no-analysis"] = {**plain["agents"]["agent-1"], "analysis": False}
        plain |= {"one": "agent-1", "panel": names, "reply_tokens": {}}
        plain["think"] = [{"name": "an analysis before the scores", "less": "agent-1-no-analysis", "more": "agent-1"}]
    if effort_agent is not None:
        for effort, limit, tokens in (("low", 4000, 1000), ("high", 12000, 4000)):
            name = f"effort-{effort}"
            plain["agents"][name] = {
                "model": effort_agent, "effort": effort, "analysis": False, "max_tokens": limit,
            }  # fmt: skip
            plain["reply_tokens"][name] = tokens
        pair = {"name": "more effort", "less": "effort-low", "more": "effort-high"}
        plain["think"] = [one for one in plain["think"] if one["name"] != pair["name"]] + [pair]
    return checked_setup(plain, "--agent")


def with_models(setup: LiveSetup, agents: Sequence[str], effort_agent: str | None) -> LiveSetup:
    """The setup with other models in its parts and nothing else changed, as a plan of others needs it.

    Args:
        setup: of the plan.
        agents: models for the members of the panel in their order; parts that asked the same model as a member get its
            new one, too. None keeps them.
        effort_agent: a model for the parts with a set effort that are no members.

    Raises:
        ConfigurationError: another number of models than members, or a part that is kept and whose requests would go to
            an address of the plan's author.
    """
    if agents and len(agents) != len(setup.panel):
        raise ConfigurationError(
            f"the plan's panel has {len(setup.panel)} agents: give --agent as many times, or never"
        )
    models = dict(zip((setup.agents[name].model for name in setup.panel), agents, strict=False))
    named = dict(zip(setup.panel, agents, strict=False))
    plain = setup.model_dump(mode="json")
    for name, agent in plain["agents"].items():
        spec = named.get(name) or models.get(agent["model"])
        if effort_agent is not None and name not in setup.panel and agent["effort"] is not None:
            spec = effort_agent
        if spec is not None:
            agent |= {"model": spec, "price": None, "headers": {}, "api_key_env": None}
        elif "@" in agent["model"] or agent["headers"] or agent["api_key_env"]:
            raise ConfigurationError(
                f"the plan asks {name} at {agent['model']}, with an address, headers or a key variable of its own: "
                "your key and the judgments would go there. Name the models yourself: --agent for each member of the "
                "panel, and --effort-agent"
            )
    return checked_setup(plain, "--agent")
