"""What a run would take, without sending anything: calls, tokens, dollars."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from metajudge.panels.config import AgentConfig
from metajudge.providers.model import ModelRequest
from metajudge.providers.prices import FlatPrice, Price, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.types import Usage
from metajudge.types.spent import sum_if_known

CHARACTERS_PER_TOKEN = 4.0
"""English text; code and most other languages take more tokens."""

SCORE_TOKENS = 12
"""Assumed output for one score without an explanation."""

SENTENCE_TOKENS = 40
"""Assumed output for one score with an explanation of one sentence, as replies with an analysis have it."""

EXPLANATION_TOKENS = 60
"""Assumed output for one score with an explanation of one to four sentences."""

ANALYSIS_TOKENS = 400
"""Assumed output for an analysis, of at most 300 words."""

CRITERION_TOKENS = 120
"""Assumed output for one criterion of a case: comment, quotes, weaknesses, score, confidence."""

REASONING_TOKENS = 500
"""Assumed output for one comparison of two responses: an answer of the judge's own, and its reasons."""

Prices = Mapping[str, Price | None]
"""Agent -> what its model costs; None where that is unknown."""


@dataclass(slots=True)
class Estimate:
    """An upper estimate: every agent is asked, every first reply is usable, nothing is stored or cached.

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

    @classmethod
    def at(cls, prices: Prices) -> Self:
        """An empty estimate that names the agents without a known price."""
        return cls(unpriced=sorted(name for name, price in prices.items() if price is None))

    def add(self, agent: str, prices: Prices, input_tokens: int, output_tokens: int) -> None:
        """Adds one call of an agent."""
        price = prices[agent]
        mine = self.by_agent.setdefault(agent, {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0})
        self.calls += 1
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        mine["calls"] += 1
        mine["input_tokens"] += input_tokens
        mine["output_tokens"] += output_tokens
        if price is None:
            self.cost_usd = mine["cost_usd"] = None
            return
        cost = price.cost(Usage(input_tokens=input_tokens, output_tokens=output_tokens))
        mine["cost_usd"] += cost
        if self.cost_usd is not None:
            self.cost_usd += cost

    def __add__(self, other: "Estimate") -> "Estimate":
        """What two runs of the same agents take."""
        found = replace(other, cost_usd=sum_if_known((self.cost_usd, other.cost_usd)), by_agent=dict(self.by_agent))
        for name in ("judgments", "calls", "input_tokens", "output_tokens"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        for name, more in other.by_agent.items():
            mine = self.by_agent.get(name, dict.fromkeys(more, 0))
            found.by_agent[name] = {key: sum_if_known((mine[key], value)) for key, value in more.items()}
        return found

    def to_json(self) -> dict[str, Any]:
        return {"dry_run": True, **asdict(self)}


def prices_of(agents: Iterable[AgentConfig]) -> dict[str, Price | None]:
    """Agent -> what its model costs: as configured, else by the price list; None where that is unknown."""
    return {parse_agent_spec(agent.spec()).name: _price(agent) for agent in agents}


def size_of(request: ModelRequest) -> int:
    """Input tokens of a request, by its characters."""
    size = len(request.system) + sum(len(message.text) for message in request.messages)
    return int(size / CHARACTERS_PER_TOKEN) + 1


def _price(agent: AgentConfig) -> Price | None:
    if agent.price is not None:
        return FlatPrice.of(agent.price.input, agent.price.output)
    return find_price(parse_agent_spec(agent.spec()))
