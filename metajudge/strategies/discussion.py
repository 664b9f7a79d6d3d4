"""panel_discussion: agents who hear each other before they score.

"Leveraging LLMs as Meta-Judges" (arXiv 2504.17087), section 3.2.3 and appendix B. Two ways to run it:

- ``independent_first``: every agent first scores alone; then they speak in order, each seeing the others'
  first assessments and the revisions made so far, and revise. 2M calls.
- ``sequential``: agents speak once, in order, each seeing those before. M calls.

Without a summariser the last scores are aggregated by majority (default) or by weighted average; with one, its
own scores are final (one call more). A revision that fails is a missing answer: what the agent said before it
heard the others is kept as its ``opening`` but does not stand in for it.
"""

from collections.abc import Callable, Sequence

from metajudge.agents import Agent, Statement
from metajudge.concurrency import all_of
from metajudge.scoring import exceeds
from metajudge.strategies.outcome import Outcome, concluded, settled, skipped, undecided
from metajudge.strategies.panel import Panel
from metajudge.types import AgentResult, Judgment, Status, TokenUsage


async def discuss(
    panel: Panel,
    judgment: Judgment,
    *,
    retry: bool = False,
    heard: Callable[[AgentResult], None] = lambda _result: None,
) -> Outcome:
    """Runs the discussion; early exit applies to the last round of a panel without a summariser.

    Args:
        heard: told what each agent said in the last round, as it comes.
    """
    openings: list[AgentResult] = []
    if panel.rounds == "independent_first":
        openings = await all_of(agent.assess(judgment, retry=retry) for agent in panel.agents)
    may_stop = panel.early_exit and panel.summariser is None
    results: list[AgentResult] = []
    for position, agent in enumerate(panel.agents):
        opening = openings[position] if openings else None
        if may_stop and results and settled(panel, results):
            results.append(_with_opening(skipped(panel, position), opening))
            continue
        said = await agent.assess(judgment, earlier=_heard(results, openings, agent.name), retry=retry)
        results.append(_with_opening(said, opening))
        heard(results[-1])
    if panel.summariser is None:
        return concluded(panel, results)
    return await _summarised(panel, panel.summariser, judgment, results, retry)


async def _summarised(
    panel: Panel, summariser: Agent, judgment: Judgment, results: list[AgentResult], retry: bool
) -> Outcome:
    heard = _heard(results)
    if not heard:
        return undecided(panel, results)
    summary = await summariser.assess(judgment, earlier=heard, summarise=True, retry=retry)
    if summary.score is None:
        return undecided(panel, results, summary)
    return Outcome(
        status=Status.ASSESSED,
        agents=tuple(results),
        summariser=summary,
        final_score=round(summary.score, 9),
        accepted=bool(exceeds(summary.score, panel.threshold)),
    )


def _heard(results: Sequence[AgentResult], openings: Sequence[AgentResult] = (), hearer: str = "") -> list[Statement]:
    """What has been said so far: each agent's latest scores, in speaking order; the hearer's own are marked."""
    latest = [*results, *openings[len(results) :]]
    return [
        Statement(f"{said.agent} (yours)" if said.agent == hearer else said.agent, said.criteria)
        for said in latest
        if said.criteria is not None
    ]


def _with_opening(said: AgentResult, opening: AgentResult | None) -> AgentResult:
    if opening is None:
        return said
    known = said.cost_usd is not None and opening.cost_usd is not None
    usage = {name: getattr(said.usage, name) + getattr(opening.usage, name) for name in TokenUsage.model_fields}
    return said.model_copy(
        update={
            "opening": opening,
            "calls": said.calls + opening.calls,
            "cached_calls": said.cached_calls + opening.cached_calls,
            "cost_usd": (said.cost_usd or 0.0) + (opening.cost_usd or 0.0) if known else None,
            "usage": TokenUsage(**usage),
            "latency_s": round(said.latency_s + opening.latency_s, 6),
        }
    )
