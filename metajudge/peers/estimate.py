"""What a peers run would take, without sending anything."""

from collections.abc import Sequence

from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import blind
from metajudge.judging.ranking import ranking_request
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.peers.domains import criteria_for
from metajudge.peers.questions import Question
from metajudge.providers.model import ModelRequest
from metajudge.providers.prices import FlatPrice, Price, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources
from metajudge.runs.estimate import CHARACTERS_PER_TOKEN, EXPLANATION_TOKENS, REASONING_TOKENS, Estimate
from metajudge.types import Usage


def estimate_peers(config: PanelConfig, questions: Sequence[Question]) -> Estimate:
    """Answers of an assumed length, and rankings of all of them by every model.

    Raises:
        ConfigurationError: models that make no sense together (no key is needed).
    """
    agents = build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False).default.agents
    prices = prices_of(config)
    estimate = Estimate(unpriced=sorted(name for name, price in prices.items() if price is None))
    text = "x" * int(REASONING_TOKENS * CHARACTERS_PER_TOKEN)
    answers = {agent.name: text for agent in agents}
    for question in questions:
        criteria = criteria_for(question.domain)[1]
        scored = EXPLANATION_TOKENS * len(criteria) * len(answers)
        for agent in agents:
            labels = blind(answers, seed=0, evaluation=question.id, judge=agent.name)
            ranking = ranking_request(question.question, answers, labels, criteria)
            price = prices[agent.name]
            add_request(estimate, answer_request(question.question, agent.parameters), REASONING_TOKENS, price)
            add_request(estimate, ranking, REASONING_TOKENS + scored, price)
    if estimate.unpriced:
        estimate.cost_usd = None
    return estimate


def add_request(estimate: Estimate, request: ModelRequest, output_tokens: int, price: Price | None) -> None:
    """Counts one request and an assumed reply."""
    size = len(request.system) + sum(len(message.text) for message in request.messages)
    usage = Usage(input_tokens=int(size / CHARACTERS_PER_TOKEN) + 1, output_tokens=output_tokens)
    estimate.calls += 1
    estimate.input_tokens += usage.input_tokens
    estimate.output_tokens += usage.output_tokens
    if price is not None:
        estimate.cost_usd = (estimate.cost_usd or 0.0) + price.cost(usage)


def prices_of(config: PanelConfig) -> dict[str, Price | None]:
    """Agent -> what its model costs; None where that is unknown."""
    found: dict[str, Price | None] = {}
    for agent in config.agents:
        spec = parse_agent_spec(agent.spec())
        found[spec.name] = (
            find_price(spec) if agent.price is None else FlatPrice.of(agent.price.input, agent.price.output)
        )
    return found
