"""What vetting judgments would take, without sending anything."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from metajudge.agents import Agent
from metajudge.judging.pairwise import orders_of
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.prompts.versions import FIRST
from metajudge.providers.stack import Resources
from metajudge.runs.estimate import EXPLANATION_TOKENS, REASONING_TOKENS, Estimate, Prices, prices_of, size_of
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.rejudge import judge_of
from metajudge.types import Judgment, Status

KEYS_AT_ONCE = 1_000
"""Assessments looked up in one query."""


@dataclass(slots=True)
class VettingEstimate(Estimate):
    """An estimate of vetting, for what is not stored yet.

    Attributes:
        prompt_version: of the panel's prompt set.
        stored: judgments that need no call, because the store has their assessment under this very panel.
    """

    prompt_version: int = FIRST
    stored: int = 0


async def stored_keys(config: PanelConfig, judgments: Iterable[Judgment], store: Store) -> set[str]:
    """The keys of those judgments that the store has an assessment of under this very panel, prompt set included.

    Args:
        config: with ``early_exit`` set as the run will set it.

    Raises:
        ConfigurationError: as for :func:`estimate_vetting`.
    """
    vetter = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    keys, stored = map(vetter.key, judgments), set[str]()
    while block := list(islice(keys, KEYS_AT_ONCE)):
        done = await store.find_assessments(block)
        stored |= {key for key, one in done.items() if one.status is Status.ASSESSED}
    return stored


def estimate_vetting(
    config: PanelConfig, judgments: Iterable[Judgment], stored: Collection[str] = ()
) -> VettingEstimate:
    """Renders every prompt and adds up.

    Args:
        stored: keys of assessments that need not be made again, see :func:`stored_keys`.

    Raises:
        ConfigurationError: agents, weights or threshold that make no sense together (no key is needed).
    """
    vetter = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    prices = prices_of(config.all_agents)
    estimate = VettingEstimate.at(prices)
    estimate.prompt_version = config.prompt_version
    for judgment in judgments:
        estimate.judgments += 1
        if stored and vetter.key(judgment) in stored:
            estimate.stored += 1
            continue
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
