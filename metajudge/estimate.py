"""What a run would take, without sending anything: calls, tokens, dollars."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from metajudge.agents import Agent
from metajudge.assembly import build_vetter
from metajudge.decision import Policy
from metajudge.judging.case import Case
from metajudge.judging.case_judge import CaseJudge
from metajudge.judging.grading import GradingJudge
from metajudge.judging.pairwise import Order, Orders, PairwiseJudge, orders_of
from metajudge.panel_file import AgentConfig, PanelConfig
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import ModelRequest
from metajudge.providers.prices import FlatPrice, Price, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources
from metajudge.rubric import Rubric
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.rejudge import judge_of
from metajudge.types import Item, Judgment, Status, Usage

CHARACTERS_PER_TOKEN = 4.0
"""English text; code and most other languages take more tokens."""

EXPLANATION_TOKENS = 60
"""Assumed output for one score with its explanation."""

CRITERION_TOKENS = 120
"""Assumed output for one criterion of a case: comment, quotes, weaknesses, score, confidence."""

KEYS_AT_ONCE = 1_000
"""Assessments looked for in one query."""

REASONING_TOKENS = 500
"""Assumed output for one comparison of two responses: an answer of the judge's own, and what it finds."""


@dataclass(slots=True)
class Estimate:
    """An upper estimate: every agent is asked, every first reply is usable, and no reply is stored.

    Attributes:
        cost_usd: None where a price is unknown; ``unpriced`` names the agents.
    """

    judgments: int = 0
    without_verdict: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    unpriced: list[str] = field(default_factory=list)
    by_agent: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"dry_run": True, **asdict(self)}


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
        ConfigurationError: as for :func:`estimate_run`.
    """
    vetter = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    keys, found = map(vetter.key, judgments), set[str]()
    while some := list(islice(keys, KEYS_AT_ONCE)):
        done = await store.find_assessments(some)
        found |= {key for key, one in done.items() if one.status is Status.ASSESSED}
    return found


def estimate_run(config: PanelConfig, judgments: Iterable[Judgment], stored: Collection[str] = ()) -> VettingEstimate:
    """Renders every prompt and adds up.

    Args:
        stored: keys of assessments that need not be made again, see :func:`stored_keys`.

    Raises:
        ConfigurationError: agents, weights or threshold that make no sense together (no key is needed).
    """
    vetter = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False)
    prices = _prices(config)
    unpriced = sorted(name for name, price in prices.items() if price is None)
    estimate = VettingEstimate(prompt_version=config.prompt_version, unpriced=unpriced)
    for judgment in judgments:
        estimate.judgments += 1
        if stored and vetter.key(judgment) in stored:
            estimate.stored += 1
            continue
        if judgment.verdict is None:
            estimate.without_verdict += 1
            continue
        _add_panel(estimate, vetter.panel_for(judgment), judgment, prices)
    _priced(estimate)
    return estimate


def estimate_judging(
    config: PanelConfig,
    items: Iterable[Item],
    orders: Orders = "both",
    *,
    grade: bool = False,
    with_reference: bool = False,
) -> Estimate:
    """What it takes to have a panel's agents judge items as pairwise judges, or grade each response alone.

    Raises:
        ConfigurationError: as for :func:`estimate_run`; the panel's strategy must be ``rejudge``.
    """
    panel = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False).default
    prices = _prices(config)
    estimate = Estimate(unpriced=sorted(name for name, price in prices.items() if price is None))
    for item in items:
        for agent in panel.agents:
            if grade:
                grader = GradingJudge(agent.name, agent.model, agent.parameters, with_reference)
                for name in item.responses:
                    estimate.judgments += 1
                    _add_call(estimate, agent, _size(grader.request(item, name)), prices, REASONING_TOKENS)
                continue
            judge = PairwiseJudge(agent.name, agent.model, agent.parameters, with_reference)
            for order in orders_of(item, orders):
                estimate.judgments += 1
                _add_game(estimate, agent, judge, item, order, prices)
    return _priced(estimate)


def estimate_cases(config: PanelConfig, policy: Policy, rubric: Rubric, cases: Sequence[Case]) -> Estimate:
    """What it takes to have a panel's agents judge cases, should no gate end one.

    Raises:
        ConfigurationError: as for :func:`estimate_run`.
    """
    agents = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False).default.agents
    prices = _prices(config)
    estimate = Estimate(unpriced=sorted(name for name, price in prices.items() if price is None))
    plan = policy.cases
    assert plan is not None, "checked when the policy was chosen"
    for case in cases:
        estimate.judgments += 1
        for stage in plan.stages:
            given = case.stage(stage.name)
            if given is None:
                continue
            for agent in agents:
                judge = CaseJudge(agent.name, agent.model, agent.parameters)
                size = _size(judge.request(case, given, stage, rubric.only(stage.criteria)))
                _add_call(estimate, agent, size, prices, CRITERION_TOKENS * len(stage.criteria))
    return _priced(estimate)


def _priced(estimate: Estimate) -> Estimate:
    if estimate.unpriced and estimate.calls:
        estimate.cost_usd = None
    return estimate


def _add_panel(estimate: Estimate, panel: Panel, judgment: Judgment, prices: dict[str, Price | None]) -> None:
    if panel.strategy is StrategyName.REJUDGE:
        _add_rejudging(estimate, panel, judgment, prices)
        return
    agents = len(panel.agents)
    said = sum(_output_tokens(agent) for agent in panel.agents)
    discussing = panel.strategy is StrategyName.PANEL_DISCUSSION
    for position, agent in enumerate(panel.agents):
        alone = _input_tokens(agent, judgment)
        if not discussing:
            _add_draws(estimate, agent, alone, prices)
        elif panel.rounds == "sequential":
            _add_draws(estimate, agent, alone + said * position // agents, prices)
        else:
            _add_draws(estimate, agent, alone, prices)
            _add_draws(estimate, agent, alone + said, prices)
    if panel.summariser is not None:
        _add_draws(estimate, panel.summariser, _input_tokens(panel.summariser, judgment) + said, prices)


def _add_rejudging(estimate: Estimate, panel: Panel, judgment: Judgment, prices: dict[str, Price | None]) -> None:
    verdict = judgment.verdict
    if verdict is None or len(verdict.ids) != 2:
        return
    first, second = verdict.ids
    for agent in panel.agents:
        for order in orders_of(judgment.item, pair=(first, second)):
            _add_game(estimate, agent, judge_of(agent), judgment.item, order, prices)


def _add_game(
    estimate: Estimate, agent: Agent, judge: PairwiseJudge, item: Item, order: Order, prices: dict[str, Price | None]
) -> None:
    _add_call(estimate, agent, _size(judge.request(item, order)), prices, REASONING_TOKENS)


def _add_draws(estimate: Estimate, agent: Agent, input_tokens: int, prices: dict[str, Price | None]) -> None:
    """One call a draw; token probabilities cost nothing."""
    for _ in range(agent.samples):
        _add_call(estimate, agent, input_tokens, prices)


def _add_call(
    estimate: Estimate,
    agent: Agent,
    input_tokens: int,
    prices: dict[str, Price | None],
    output_tokens: int | None = None,
) -> None:
    output = _output_tokens(agent) if output_tokens is None else output_tokens
    usage = Usage(input_tokens=input_tokens, output_tokens=output)
    price = prices[agent.name]
    mine = estimate.by_agent.setdefault(
        agent.name, {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": None if price is None else 0.0}
    )
    estimate.calls += 1
    estimate.input_tokens += usage.input_tokens
    estimate.output_tokens += usage.output_tokens
    mine["calls"] += 1
    mine["input_tokens"] += usage.input_tokens
    mine["output_tokens"] += usage.output_tokens
    if price is not None:
        cost = price.cost(usage)
        mine["cost_usd"] += cost
        estimate.cost_usd = (estimate.cost_usd or 0.0) + cost


def _input_tokens(agent: Agent, judgment: Judgment) -> int:
    return _size(agent.request(judgment))


def _size(request: ModelRequest) -> int:
    size = len(request.system) + sum(len(message.text) for message in request.messages)
    return int(size / CHARACTERS_PER_TOKEN) + 1


def _output_tokens(agent: Agent) -> int:
    return EXPLANATION_TOKENS * len(agent.rubric.scored_names)


def _prices(config: PanelConfig) -> dict[str, Price | None]:
    summariser = config.discussion.summariser
    named = [*config.agents]
    if summariser is not None:
        named.append(summariser if summariser.name else summariser.model_copy(update={"name": "summariser"}))
    return {parse_agent_spec(agent.spec()).name: _price(agent) for agent in named}


def _price(agent: AgentConfig) -> Price | None:
    if agent.price is not None:
        return FlatPrice.of(agent.price.input, agent.price.output)
    return find_price(parse_agent_spec(agent.spec()))
