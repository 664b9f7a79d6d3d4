"""What vetting judgments would take, without sending anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from metajudge.agents import Agent
from metajudge.judging.judges import orders_of
from metajudge.panels.config import PanelConfig
from metajudge.prompts.versions import FIRST
from metajudge.runs.estimate import (
    ANALYSIS_TOKENS,
    EXPLANATION_TOKENS,
    REASONING_TOKENS,
    SCORE_TOKENS,
    SENTENCE_TOKENS,
    Estimate,
    Prices,
    prices_of,
    size_of,
)
from metajudge.store import Store
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.rejudge import judge_of
from metajudge.types import Judgment, Status
from metajudge.vetting.prompt_set import priced_vetter, stored_panels, under_every_set, with_prompt_set

KEYS_AT_ONCE = 1_000
"""Assessments looked up in one query."""


@dataclass(slots=True)
class VettingEstimate(Estimate):
    """An estimate of vetting, for what is not stored yet.

    Attributes:
        stored: judgments that need no call, because the store has their assessment under this very panel.
        stored_by_prompt_version: the same under every prompt set, by its version.
    """

    prompt_version: int = FIRST
    stored: int = 0
    stored_by_prompt_version: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredResults:
    """What a store has of a panel's assessments of an input.

    Attributes:
        keys: of the judgments assessed under the panel with the prompt set that a run would use.
        by_prompt_version: how many judgments are assessed under each prompt set.
        notice: for the user, where a run would not use the newest prompt set because of what is stored.
    """

    keys: frozenset[str] = frozenset()
    by_prompt_version: Mapping[int, int] = field(default_factory=dict)
    notice: str | None = None


async def stored_results(
    config: PanelConfig, judgments: Iterable[Judgment], store: Store
) -> tuple[PanelConfig, StoredResults]:
    """The panel with the prompt set that a run on this store would use, and what the store has under each set.

    Args:
        config: with ``early_exit`` set as the run will set it.

    Raises:
        ConfigurationError: as for :func:`estimate_vetting`.
    """
    config, notice = with_prompt_set(config, await stored_panels(store))
    vetters = under_every_set(config)
    found: dict[int, set[str]] = {version: set() for version in vetters}
    records = iter(judgments)
    while block := list(islice(records, KEYS_AT_ONCE)):
        for version, vetter in vetters.items():
            done = await store.find_assessments([vetter.key(one) for one in block])
            found[version] |= {key for key, one in done.items() if one.status is Status.ASSESSED}
    counts = {version: len(keys) for version, keys in found.items()}
    return config, StoredResults(frozenset(found.get(config.prompt_set, ())), counts, notice)


def estimate_vetting(
    config: PanelConfig, judgments: Iterable[Judgment], stored: StoredResults | None = None
) -> VettingEstimate:
    """Renders every prompt and adds up.

    Args:
        stored: assessments that need not be made again, see :func:`stored_results`.

    Raises:
        ConfigurationError: agents, weights or threshold that make no sense together (no key is needed).
    """
    stored = stored or StoredResults()
    vetter = priced_vetter(config)
    prices = prices_of(config.all_agents)
    estimate = VettingEstimate.at(prices)
    estimate.prompt_version = config.prompt_set
    estimate.stored_by_prompt_version = {str(version): count for version, count in stored.by_prompt_version.items()}
    for judgment in judgments:
        estimate.judgments += 1
        if stored.keys and vetter.key(judgment) in stored.keys:
            estimate.stored += 1
            continue
        if judgment.verdict is None:
            estimate.without_verdict += 1
            continue
        if not judgment.item.has_texts:
            continue  # no agent is asked
        panel = vetter.panel_for(judgment)
        if panel.strategy is StrategyName.REJUDGE:
            _add_rejudging(estimate, panel, judgment, prices)
        else:
            _add_panel(estimate, panel, judgment, prices)
    return estimate


def _add_panel(estimate: Estimate, panel: Panel, judgment: Judgment, prices: Prices) -> None:
    agents = len(panel.agents)
    heard = sum(heard_tokens(panel, agent, judgment) for agent in panel.agents)
    discussing = panel.strategy is StrategyName.PANEL_DISCUSSION
    for position, agent in enumerate(panel.agents):
        alone = size_of(agent.request(judgment))
        if not discussing:
            _add_draws(estimate, agent, judgment, alone, prices)
        elif panel.rounds == "sequential":
            _add_draws(estimate, agent, judgment, alone + heard * position // agents, prices)
        else:
            _add_draws(estimate, agent, judgment, alone, prices)
            _add_draws(estimate, agent, judgment, alone + heard, prices)
    if panel.summariser is not None:
        alone = size_of(panel.summariser.request(judgment))
        _add_draws(estimate, panel.summariser, judgment, alone + heard, prices)


def _add_rejudging(estimate: Estimate, panel: Panel, judgment: Judgment, prices: Prices) -> None:
    verdict = judgment.verdict
    if verdict is None or len(verdict.ids) != 2:
        return
    first, second = verdict.ids
    for agent in panel.agents:
        for order in orders_of(judgment.item, pair=(first, second)):
            request = judge_of(agent).request(judgment.item, order)
            estimate.add(agent.name, prices, size_of(request), REASONING_TOKENS)


def _add_draws(estimate: Estimate, agent: Agent, judgment: Judgment, input_tokens: int, prices: Prices) -> None:
    """One call a draw."""
    written = output_tokens(agent, judgment)
    for _ in range(agent.samples):
        estimate.add(agent.name, prices, input_tokens, written)


def output_tokens(agent: Agent, judgment: Judgment) -> int:
    """Assumed output of one reply."""
    written = _scores_tokens(agent, judgment) + (ANALYSIS_TOKENS if agent.form.analysis else 0)
    return min(written, agent.parameters.max_tokens or written)


def heard_tokens(panel: Panel, agent: Agent, judgment: Judgment) -> int:
    """What the others read of an agent's reply."""
    shown = ANALYSIS_TOKENS if panel.show_analysis and agent.form.analysis else 0
    return _scores_tokens(agent, judgment) + shown


def _scores_tokens(agent: Agent, judgment: Judgment) -> int:
    """Scores with their explanations, for the criteria that apply to the judgment."""
    if agent.form.explanations == "none":
        each = SCORE_TOKENS
    else:
        each = SENTENCE_TOKENS if agent.form.analysis else EXPLANATION_TOKENS
    return each * len(agent.instructions(judgment).rubric.scored_names)
