"""What a run would take, without sending anything: calls, tokens, dollars."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from metajudge.panels.building import price_of
from metajudge.panels.config import AgentConfig
from metajudge.providers.model import ModelRequest
from metajudge.providers.prices import Price
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

THOUGHT_TOKENS = 8_000
"""Assumed output at most for what a reasoning model thinks before one answer: gpt-5-mini was measured at 7,233."""

_REASONS = re.compile(
    r"(^|/)(gpt-5|o[134](-|$)|gpt-oss|grok-(3-mini|4)|gemini-(2\.5|3)|magistral|qwq|kimi-k2-thinking|glm-4\.[56]|minimax-m)"
    r"|reason|think|(^|[-/])r1\b|qwen3",
    re.IGNORECASE,
)


class Prices(dict[str, Price | None]):
    """Agent -> what its model costs, None where that is unknown; ``reasoning`` names those whose models think first."""

    reasoning: frozenset[str] = frozenset()


@dataclass(slots=True)
class Estimate:
    """An upper estimate: every agent is asked, every first reply is usable, nothing is stored or cached.

    Attributes:
        cost_usd: None where a price is unknown; ``unpriced`` names the agents.
        reasoning: the agents whose models think before they answer, by their names or their effort.
        most_calls: with one more call for each reply, to repair it or to give it more room; retries after errors of
            the server come on top of that.
        most_cost_usd: what those take, with :data:`THOUGHT_TOKENS` for each answer of a reasoning model.
    """

    judgments: int = 0
    without_verdict: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    unpriced: list[str] = field(default_factory=list)
    by_agent: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasoning: list[str] = field(default_factory=list)
    most_calls: int = 0
    most_cost_usd: float | None = 0.0

    @classmethod
    def at(cls, prices: Prices) -> Self:
        """An empty estimate that names the agents without a known price."""
        unpriced = sorted(name for name, price in prices.items() if price is None)
        return cls(unpriced=unpriced, reasoning=sorted(prices.reasoning))

    def add(self, agent: str, prices: Prices, input_tokens: int, output_tokens: int) -> None:
        """Adds one call of an agent."""
        price = prices[agent]
        mine = self.by_agent.setdefault(agent, {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0})
        for name, more in (("calls", 1), ("input_tokens", input_tokens), ("output_tokens", output_tokens)):
            setattr(self, name, getattr(self, name) + more)
            mine[name] += more
        self.most_calls += 2
        if price is None:
            self.cost_usd = mine["cost_usd"] = self.most_cost_usd = None
            return
        thoughts = THOUGHT_TOKENS if agent in prices.reasoning else 0
        if self.most_cost_usd is not None:
            most = Usage(input_tokens=input_tokens + output_tokens, output_tokens=output_tokens + thoughts)
            self.most_cost_usd += 2 * price.cost(most)
        cost = price.cost(Usage(input_tokens=input_tokens, output_tokens=output_tokens))
        mine["cost_usd"] += cost
        if self.cost_usd is not None:
            self.cost_usd += cost

    def __add__(self, other: "Estimate") -> "Estimate":
        """What two runs of the same agents take."""
        found = replace(other, by_agent=dict(self.by_agent))
        for name in ("cost_usd", "most_cost_usd"):
            setattr(found, name, sum_if_known((getattr(self, name), getattr(other, name))))
        for name in ("judgments", "calls", "input_tokens", "output_tokens", "most_calls"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        for name, more in other.by_agent.items():
            mine = self.by_agent.get(name, dict.fromkeys(more, 0))
            found.by_agent[name] = {key: sum_if_known((mine[key], value)) for key, value in more.items()}
        return found

    def to_json(self) -> dict[str, Any]:
        return {"dry_run": True, **asdict(self)}


def prices_of(agents: Iterable[AgentConfig]) -> Prices:
    """What the agents' models cost: as configured, else by the price list."""
    listed = list(agents)
    found = Prices({parse_agent_spec(agent.spec()).name: price_of(agent) for agent in listed})
    found.reasoning = frozenset(parse_agent_spec(agent.spec()).name for agent in listed if _reasons(agent))
    return found


def _reasons(agent: AgentConfig) -> bool:
    """Whether a model is known, or asked, to think before it answers."""
    if agent.thinking_budget is not None or agent.effort is not None:
        return agent.thinking_budget is not None or agent.effort not in ("none", "minimal")
    return _REASONS.search(parse_agent_spec(agent.spec()).model) is not None


def size_of(request: ModelRequest) -> int:
    """Input tokens of a request, by its characters."""
    size = len(request.system) + sum(len(message.text) for message in request.messages)
    return int(size / CHARACTERS_PER_TOKEN) + 1
