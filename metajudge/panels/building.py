"""From a panel as configured to a panel that can be asked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from metajudge.errors import ConfigurationError, PromptError
from metajudge.panels.config import AgentConfig, PanelConfig, Route, Weights
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST, check_version
from metajudge.providers.limits import LimitSettings
from metajudge.providers.model import Endpoint, Model, Parameters
from metajudge.providers.prices import FlatPrice, Price, find_price
from metajudge.providers.spec import PROVIDERS, AgentSpec, check_provider, parse_agent_spec
from metajudge.providers.stack import Resources, build_model, wrap_model
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric
from metajudge.scoring.formulas import exceeds
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.outcome import decide_scores
from metajudge.strategies.panel import default_threshold
from metajudge.types import Pairwise

if TYPE_CHECKING:
    from metajudge.agents import Agent
    from metajudge.rubric import Rubric

ANALYSIS_MAX_TOKENS = 4_096
"""Bound of a reply with an analysis, where ``max_tokens`` is not set: 300 words and a sentence for each criterion take
about a fifth of it."""


def build_vetter(
    config: PanelConfig, resources: Resources, *, early_exit: bool, models: Mapping[str, Model] | None = None
) -> Vetter:
    """Builds the default panel and one for each route.

    Args:
        early_exit: what to do where the configuration leaves it open.
        models: agent name -> a model to ask in place of the configured provider.

    Raises:
        ConfigurationError: agents, weights, threshold or keys that make no sense together.
        RubricError: an unknown or malformed rubric.
    """
    return _Assembly(config, resources, early_exit, models or {}).vetter()


def threshold_of(config: PanelConfig) -> float:
    """The threshold of the default panel: the one set, else the strategy's own on the first agent's scale.

    Raises:
        RubricError: an unknown or malformed rubric.
    """
    if config.threshold is not None:
        return config.threshold
    first = config.agents[0] if config.agents else None
    scale = load_rubric((first.rubric if first is not None else None) or config.rubric).scale
    return default_threshold(StrategyName(config.chosen_strategy), (scale.low, scale.high))


def endpoint_limits(config: PanelConfig, run: LimitSettings) -> dict[Endpoint, LimitSettings]:
    """The limits of a panel file by endpoint, else of its provider; its keys are providers' names or base URLs.

    Raises:
        ConfigurationError: a key that is neither.
    """
    found: dict[Endpoint, LimitSettings] = {}
    for agent in config.models:
        if agent.model.partition(":")[0] not in PROVIDERS:  # an object of the caller's
            continue
        spec = parse_agent_spec(agent.spec())
        provider = PROVIDERS[spec.provider]
        slots = run.per_endpoint if run.given else provider.slots or run.per_endpoint
        rate = run.requests_per_minute or provider.requests_per_minute
        if (own := replace(run, per_endpoint=slots, requests_per_minute=rate)) != run:
            found[spec.endpoint] = own
    for where, limits in config.limits.items():
        rates = limits.requests_per_minute or config.requests_per_minute, limits.tokens_per_minute
        settings = LimitSettings(run.concurrency, limits.concurrency, *rates, given=run.given)
        if where.startswith(("http://", "https://")):
            for protocol in ("openai", "anthropic"):
                found[parse_agent_spec(f"{protocol}:any@{where}").endpoint] = settings
        else:
            check_provider(where, f"limits.{where}")
            found[parse_agent_spec(f"{where}:any").endpoint] = settings
    return found


def spec_of(agent: AgentConfig) -> AgentSpec:
    """Which model an agent asks, where, and with which key."""
    return replace(parse_agent_spec(agent.spec()), key_variable=agent.api_key_env)


def agent_name(agent: AgentConfig, objects: Mapping[str, Model]) -> str:
    """What an agent is called: its own name, else its model's."""
    if agent.name is not None and agent.name in objects:
        return agent.name
    return parse_agent_spec(agent.spec()).name


def named_agents(agents: Iterable[AgentConfig], objects: Mapping[str, Model]) -> dict[str, AgentConfig]:
    """Agents by name.

    Raises:
        ConfigurationError: two of one name.
    """
    found: dict[str, AgentConfig] = {}
    for agent in agents:
        name = agent_name(agent, objects)
        if name in found:
            raise ConfigurationError(
                f"agent {name} is given more than once: name the agents apart with NAME=PROVIDER:MODEL"
            )
        found[name] = agent
    return found


def own_price(agent: AgentConfig) -> FlatPrice | None:
    """The price that an agent is configured with."""
    return None if agent.price is None else FlatPrice.of(agent.price.input, agent.price.output)


def price_of(agent: AgentConfig) -> Price | None:
    """What an agent's model costs: as configured, else by the price list; None where that is unknown."""
    return own_price(agent) or find_price(parse_agent_spec(agent.spec()))


def build_agent_model(
    agent: AgentConfig, resources: Resources, objects: Mapping[str, Model], *, streaming: bool = False
) -> Model:
    """The model that an agent asks: the object of its name, else its provider's.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    price = own_price(agent)
    name = agent_name(agent, objects)
    if name in objects:
        return wrap_model(objects[name], resources=resources, price=price)
    spec = spec_of(agent)
    if streaming:
        from metajudge.providers.stack import build_streaming_model

        return build_streaming_model(spec, resources=resources, price=price)
    return build_model(spec, resources=resources, price=price)


def parameters_of(agent: AgentConfig, seed: int | None) -> Parameters:
    """The request settings of an agent; ``seed`` where it has none of its own."""
    alike = ("temperature", "top_p", "max_tokens", "effort", "thinking_budget", "timeout_s")
    return Parameters(
        **{name: getattr(agent, name) for name in alike},
        seed=seed if agent.seed is None else agent.seed,
        headers=tuple(sorted(agent.headers.items())),
        extra_body=json.dumps(agent.extra_body, sort_keys=True, ensure_ascii=False) if agent.extra_body else "",
    )


@dataclass(frozen=True, slots=True)
class _Assembly:
    config: PanelConfig
    resources: Resources
    early_exit: bool
    models: Mapping[str, Model]

    def vetter(self) -> Vetter:
        config = self.config
        check_version(config.prompt_set)
        if config.rubric not in BUILTIN_RUBRICS or config.weights is not None:  # a wrong one is an error even if unused
            load_rubric(config.rubric, config.weights, prompt_set=config.prompt_set)
        agents = named_agents(config.all_agents, self.models)
        built = {name: build_agent_model(agent, self.resources, self.models) for name, agent in agents.items()}
        default = self._panel(None, Route(), built)
        routes = {category: self._panel(category, route, built) for category, route in config.routes.items()}
        for panel in (default, *routes.values()):
            if (notice := foregone(panel)) is not None:
                self._say(notice)
        return Vetter(default, routes, config.seed, self._say)

    def _panel(self, category: str | None, route: Route, built: Mapping[str, Model]) -> Panel:
        config = self.config
        chosen = self._chosen(category, route)
        strategy = self._strategy(route, chosen)
        if strategy is StrategyName.SIGNALS:
            chosen = []
        agents = tuple(self._agent(agent, route, built, strategy) for agent in chosen)
        discussing = strategy is StrategyName.PANEL_DISCUSSION
        others = config.all_agents[len(config.agents) :] if discussing else ()
        summarisers = [self._agent(agent, route, built, strategy) for agent in others]
        scale = (agents[0].rubric.scale.low, agents[0].rubric.scale.high) if agents else (1.0, 5.0)
        given = config.threshold if route.threshold is None else route.threshold
        threshold = default_threshold(strategy, scale) if given is None else given
        typed = config.cut if route.cut is None and route.threshold is None else route.cut
        return Panel(
            agents=agents,
            strategy=strategy,
            threshold=threshold,
            threshold_typed=given is not None and typed is None,
            cut=typed,
            rubric=(route.rubric or config.rubric) if agents and strategy is not StrategyName.REJUDGE else None,
            scale=scale,
            quorum=route.quorum or config.quorum,
            early_exit=self.early_exit if config.early_exit is None else config.early_exit,
            rounds=config.discussion.rounds,
            aggregate=config.discussion.aggregate,
            show_analysis=config.discussion.show_analysis,
            summariser=summarisers[0] if summarisers else None,
            average_votes=config.average_votes,
            families=config.families,
            route=category,
        )

    def _strategy(self, route: Route, agents: Sequence[AgentConfig]) -> StrategyName:
        """The route's or the panel's choice; else by the agents."""
        given = route.strategy or self.config.strategy
        if given == "majority_vote" and route.strategy is None and route.agents is not None and len(agents) == 1:
            return StrategyName.SINGLE  # a route may leave one agent of a voting panel
        return StrategyName(given or self.config.default_strategy(agents, route.rubric or self.config.rubric))

    def _chosen(self, category: str | None, route: Route) -> list[AgentConfig]:
        by_name = named_agents(self.config.agents, self.models)
        unknown = [name for name in (*(route.agents or ()), *(route.agent_weights or ())) if name not in by_name]
        if unknown:
            there = ", ".join(by_name) or "none"
            raise ConfigurationError(f"routes.{category}: no agent is named {', '.join(unknown)}; available: {there}")
        return list(self.config.agents) if route.agents is None else [by_name[name] for name in route.agents]

    def _agent(self, agent: AgentConfig, route: Route, built: Mapping[str, Model], strategy: StrategyName) -> "Agent":
        from metajudge.agents import Agent  # a panel without agents does without it

        name = agent_name(agent, self.models)
        weights = (route.agent_weights or {}).get(name, agent.weight)
        if agent.samples > 1 and agent.temperature == 0:
            self._say(
                f"agent {name}: samples = {agent.samples} at temperature 0 asks for one answer {agent.samples} times; "
                "remove temperature, or raise it"
            )
        rubric = self._rubric(agent, route)
        form = self._form(agent, name, rubric, strategy)
        parameters = parameters_of(agent, self.config.seed)
        if form.analysis and parameters.max_tokens is None:
            parameters = replace(parameters, max_tokens=ANALYSIS_MAX_TOKENS + (agent.thinking_budget or 0))
        return Agent(
            name=name,
            model=built[name],
            rubric=rubric,
            role=agent.role,
            weight=weights,
            parameters=parameters,
            form=form,
            samples=agent.samples,
            prompt_version=self.config.prompt_set,
        )

    def _form(self, agent: AgentConfig, name: str, rubric: "Rubric", strategy: StrategyName) -> ReplyForm:
        """What the agent's replies consist of beside scores.

        Raises:
            ConfigurationError: a form that the prompt set cannot ask for.
        """
        from metajudge.agents.schema import ANALYSIS

        version = self.config.prompt_set
        if strategy is StrategyName.REJUDGE:
            if agent.analysis:
                self._say(f"agent {name}: analysis dropped: blind judges reason before every verdict anyway")
            return ReplyForm(explanations=agent.explanations)
        analysis = agent.analysis
        if analysis is None:
            analysis = version != FIRST and agent.effort in (None, "none") and agent.thinking_budget is None
            if analysis and ANALYSIS in rubric.scored_names:
                analysis = False
                self._say(f"agent {name}: no analysis is asked for, because a criterion of {rubric.name} has that name")
        form = ReplyForm(analysis, agent.explanations, self.config.analysis_words)
        try:
            form.check(version)
        except PromptError as error:
            raise ConfigurationError(f"agent {name}: {error}") from None
        return form

    def _say(self, notice: str) -> None:
        self.resources.notices.say(notice)

    def _rubric(self, agent: AgentConfig, route: Route) -> "Rubric":
        """The agent's own rubric, else the route's, else the panel's; weights likewise."""
        name = agent.rubric or route.rubric or self.config.rubric
        weights: Weights | None = agent.weights or route.weights or self.config.weights
        return load_rubric(name, weights, prompt_set=self.config.prompt_set)


def foregone(panel: Panel) -> str | None:
    """A notice where no answers could make the panel accept a judgment; None where some could."""
    best = highest_score(panel)
    if exceeds(best, panel.threshold):
        return None
    route = "" if panel.route is None else f"route {panel.route}: "
    return (
        f"{route}nothing can be kept: the highest score that {panel.strategy} can give here is {best:g}, and only "
        f"scores above the threshold of {panel.threshold:g} are kept; set a threshold below {panel.scale[1]:g}"
    )


def highest_score(panel: Panel) -> float:
    """The highest final score that answers of all members could give.

    A final score never falls when a member's score rises, so it is that of members who all give their highest one.
    """
    if panel.strategy is StrategyName.SIGNALS:
        return panel.scale[1]  # free evidence fills the scale
    if panel.summariser is not None:
        return float(panel.summariser.rubric.scale.points[-1])
    if panel.strategy is StrategyName.REJUDGE:
        best = [_highest_support(panel)] * len(panel.agents)
    else:
        best = [float(agent.rubric.scale.points[-1]) for agent in panel.agents]
    return float(decide_scores(panel, best).final[0])


def _highest_support(panel: Panel) -> float:
    """The highest score of the pairs of verdicts that an agent can give of the two orders."""
    from metajudge.strategies.rejudge import on_scale

    games = [Pairwise("A", "B", 2), Pairwise("A", "B", 1), Pairwise("A", "B", 0)]
    games += [Pairwise("B", "A", 1), Pairwise("B", "A", 2)]
    return max(on_scale(panel, games[1], pair) for pair in product(games, repeat=2))
