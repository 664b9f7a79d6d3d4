"""What vetting judgments would take, without sending anything."""

from collections.abc import Iterable

from metajudge.agents import Agent
from metajudge.judging.pairwise import orders_of
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.providers.stack import Resources
from metajudge.runs.estimate import EXPLANATION_TOKENS, REASONING_TOKENS, Estimate, Prices, prices_of, size_of
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.rejudge import judge_of
from metajudge.types import Judgment


def estimate_vetting(config: PanelConfig, judgments: Iterable[Judgment]) -> Estimate:
    """Renders every prompt and adds up.

    Raises:
        ConfigurationError: agents, weights or threshold that make no sense together (no key is needed).
    """
    vetter = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    prices = prices_of(config.all_agents)
    estimate = Estimate.at(prices)
    for judgment in judgments:
        estimate.judgments += 1
        if judgment.verdict is None:
            estimate.without_verdict += 1
            continue
        panel = vetter.panel_for(judgment)
        if panel.strategy is StrategyName.REJUDGE:
            _add_rejudging(estimate, panel, judgment, prices)
        else:
            _add_panel(estimate, panel, judgment, prices)
    return estimate


def _add_panel(estimate: Estimate, panel: Panel, judgment: Judgment, prices: Prices) -> None:
    agents = len(panel.agents)
    written = sum(_output_tokens(agent) for agent in panel.agents)
    discussing = panel.strategy is StrategyName.PANEL_DISCUSSION
    for position, agent in enumerate(panel.agents):
        alone = size_of(agent.request(judgment))
        if not discussing:
            _add_draws(estimate, agent, alone, prices)
        elif panel.rounds == "sequential":
            _add_draws(estimate, agent, alone + written * position // agents, prices)
        else:
            _add_draws(estimate, agent, alone, prices)
            _add_draws(estimate, agent, alone + written, prices)
    if panel.summariser is not None:
        _add_draws(estimate, panel.summariser, size_of(panel.summariser.request(judgment)) + written, prices)


def _add_rejudging(estimate: Estimate, panel: Panel, judgment: Judgment, prices: Prices) -> None:
    verdict = judgment.verdict
    if verdict is None or len(verdict.ids) != 2:
        return
    first, second = verdict.ids
    for agent in panel.agents:
        for order in orders_of(judgment.item, pair=(first, second)):
            request = judge_of(agent).request(judgment.item, order)
            estimate.add(agent.name, prices, size_of(request), REASONING_TOKENS)


def _add_draws(estimate: Estimate, agent: Agent, input_tokens: int, prices: Prices) -> None:
    """One call a draw; token probabilities cost nothing."""
    for _ in range(agent.samples):
        estimate.add(agent.name, prices, input_tokens, _output_tokens(agent))


def _output_tokens(agent: Agent) -> int:
    return EXPLANATION_TOKENS * len(agent.rubric.scored_names)
