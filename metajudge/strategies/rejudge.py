"""rejudge: the panel's models judge the item themselves, blind, in both orders; their verdicts support the judgment.

No agent sees the judgment. Each agent's support for it is the mean signed strength of its two verdicts relative to
the judgment's (:func:`metajudge.judging.records`), in [-1, 1], mapped on the panel's scale: -1 is its lower end, 0 its
middle, 1 its upper end. On 1..5 a model that answers ``A>B`` in both orders gives a judgment for A a 4, one that
answers ``A>>B`` a 5. Its threshold, where none is set, is therefore the middle of the scale: above it lies any support,
while above 4.5 lies only strong agreement in both orders. The final score is the weighted average over the agents,
with its rules for missing answers and early exit, and is not calibrated.

Cost: 2M calls. Requests depend on the item alone: judgments of one item share their calls, whatever judge, order
or verdict they are about. An agent that gave a verdict in one order only is a missing answer, because half of the
pair measures position as much as quality. Rankings of more than two responses, grades and
categories cannot be rejudged so.
"""

from collections.abc import Callable, Sequence
from typing import Any

from metajudge.agents import Agent
from metajudge.concurrency import all_of
from metajudge.judging.judges import Game, PairwiseJudge, orders_of
from metajudge.judging.records import support
from metajudge.prompts.versions import hides_always
from metajudge.strategies.outcome import Outcome, asked_each, not_vetted
from metajudge.strategies.panel import Panel
from metajudge.types import AgentResult, AnyVerdict, CriterionScore, Failure, Judgment, Pairwise
from metajudge.types.spent import TimedSpent, as_kept, total

CRITERIA = ("order_given", "order_swapped")
"""The criteria that record an agent's two verdicts: each one's support, on the panel's scale."""


async def rejudge(
    panel: Panel,
    judgment: Judgment,
    *,
    retry: bool = False,
    on_result: Callable[[AgentResult], None] = lambda _result: None,
) -> Outcome:
    """Has every agent judge the pair again: all at once, or one by one until the decision is certain."""
    verdict = judgment.verdict
    if verdict is None or len(verdict.ids) != 2:
        return not_vetted(f"rejudge compares two responses; it cannot judge {verdict}: choose another strategy for it")
    return await asked_each(panel, lambda agent: _ask(panel, agent, judgment, verdict, retry), on_result)


def judge_of(agent: Agent) -> PairwiseJudge:
    """The blind judge an agent is here: its model and parameters; it sees a reference as meta-judges do."""
    return PairwiseJudge(
        agent.name,
        agent.model,
        agent.parameters,
        with_reference=True,
        hide_identities=hides_always(agent.prompt_version),
        prompt_version=agent.prompt_version,
    )


async def _ask(panel: Panel, agent: Agent, judgment: Judgment, verdict: AnyVerdict, retry: bool) -> AgentResult:
    first, second = verdict.ids
    orders = orders_of(judgment.item, pair=(first, second))
    judge = judge_of(agent)
    games = await all_of(judge.compare(judgment.item, order, retry=retry) for order in orders)
    for name, game in zip(CRITERIA, games, strict=True):
        if game.failure is not None:
            failure = Failure(kind=game.failure.kind, message=f"{name}: {game.failure.message}")
            return _result(agent, games, failure=failure)
    given = [game.verdict for game in games if game.verdict is not None]
    criteria = {
        name: CriterionScore(score=on_scale(panel, verdict, [one]), explanation=f"{one}: {game.text}")
        for name, game, one in zip(CRITERIA, games, given, strict=True)
    }
    return _result(agent, games, score=on_scale(panel, verdict, given), criteria=criteria)


def on_scale(panel: Panel, verdict: AnyVerdict, given: Sequence[Pairwise]) -> float:
    """Support of verdicts for another one, from -1..1 to the panel's scale."""
    low, high = panel.scale
    return low + (high - low) * (support(verdict, given) + 1) / 2


def _result(agent: Agent, games: Sequence[Game], **found: Any) -> AgentResult:
    return AgentResult(
        agent=agent.name,
        model=agent.model.name,
        weight=agent.weight,
        **found,
        **as_kept(total(TimedSpent, [game.spent for game in games])),
        prompt_digest=games[0].request_digest,
        reported_model=games[0].reported_model,
    )
