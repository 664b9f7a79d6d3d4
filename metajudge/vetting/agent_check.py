"""One small call to each agent of a panel: do key, URL, model, output mode and price work?"""

from dataclasses import dataclass
from typing import Any

from metajudge.errors import ConfigurationError
from metajudge.panels.building import price_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.model import Endpoint
from metajudge.providers.spec import PROVIDERS, parse_agent_spec
from metajudge.types import AgentResult, Judgment
from metajudge.vetting.engine import Engine

PROBE = Judgment.model_validate(
    {
        "id": "check",
        "item": {"id": "check", "question": "What is 2 + 2?", "responses": {"A": "4", "B": "5"}},
        "judge": "check",
        "verdict": "A>B",
        "rationale": "2 + 2 is 4, as response A says; response B is wrong.",
    }
)


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """How one agent answered."""

    answer: AgentResult
    endpoint: Endpoint
    output: str | None
    price_known: bool
    notices: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.answer.failure is None

    def to_json(self) -> dict[str, Any]:
        """Plain data; what an agent did not report is null."""
        answer = self.answer
        return {
            "agent": answer.agent,
            "endpoint": str(self.endpoint),
            "address_from": self.endpoint.source,
            "ok": self.ok,
            "failure": None if answer.failure is None else answer.failure.model_dump(mode="json"),
            "reported_model": answer.reported_model,
            "output": self.output,
            "price_known": self.price_known,
            "cost_usd": answer.cost_usd,
            "calls": answer.calls,
            "latency_s": answer.latency_s,
            "notices": list(self.notices),
        }


async def check_agents(panel: PanelConfig) -> list[AgentCheck]:
    """Asks each agent of a panel about a tiny judgment, one after the other.

    Raises:
        ConfigurationError: the panel has no agents.
    """
    if not panel.agents:
        raise ConfigurationError("nothing to check: give --agent PROVIDER:MODEL or a --config with agents")
    results = []
    for agent in panel.agents:
        update = {"agents": (agent,), "strategy": "single", "routes": {}, "discussion": type(panel.discussion)()}
        async with Engine(panel=panel.model_copy(update=update)) as engine:
            answer = (await engine.vet(PROBE)).agents[0]
            spec = parse_agent_spec(agent.spec())
            priced = price_of(agent) is not None
            notices = list(engine.notices)
            if spec.base_url is None and not PROVIDERS[spec.provider].tested:
                notices.append(
                    f"{spec.provider}: this profile is untested: its protocol is tested, this provider is not"
                )
            mode = engine.output_mode(spec)
            results.append(AgentCheck(answer, spec.endpoint, mode, priced, tuple(notices)))
    return results
