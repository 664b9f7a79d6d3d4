"""single, weighted_average and majority_vote: agents that do not see each other's answers.

"Leveraging LLMs as Meta-Judges" (arXiv 2504.17087), sections 3.2.1 and 3.2.2. The three differ only in how
:mod:`metajudge.scoring` makes one score of the agents' scores; cost M calls.
"""

from collections.abc import Callable

from metajudge.agents import Agent
from metajudge.concurrency import all_of
from metajudge.strategies.outcome import Outcome, concluded, settled, skipped
from metajudge.strategies.panel import Panel
from metajudge.types import AgentResult, Judgment


async def ask_independently(
    panel: Panel,
    judgment: Judgment,
    *,
    retry: bool = False,
    on_result: Callable[[AgentResult], None] = lambda _result: None,
) -> Outcome:
    """Asks every agent alone: all at once, or one after the other until the decision is settled.

    Args:
        on_result: called with each agent's result as it arrives.
    """

    async def asked_alone(agent: Agent) -> AgentResult:
        result = await agent.assess(judgment, retry=retry)
        on_result(result)
        return result

    if not panel.early_exit and len(panel.agents) > 1:
        asked = await all_of(asked_alone(agent) for agent in panel.agents)
        return concluded(panel, asked)
    results: list[AgentResult] = []
    for position, agent in enumerate(panel.agents):
        if results and settled(panel, results):
            results.append(skipped(panel, position))
        else:
            results.append(await asked_alone(agent))
    return concluded(panel, results)
