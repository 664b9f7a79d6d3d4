"""panel_discussion: agents that see each other's scores before they score."""

from collections.abc import Callable, Sequence

from metajudge.agents import Agent, Statement
from metajudge.concurrency import all_of
from metajudge.scoring.formulas import exceeds
from metajudge.strategies.outcome import Outcome, concluded, settled, skipped, undecided
from metajudge.strategies.panel import Panel
from metajudge.types import AgentResult, Judgment, Status
from metajudge.types.spent import TimedSpent, as_kept, total


async def discuss(
    panel: Panel,
    judgment: Judgment,
    *,
    retry: bool = False,
    on_result: Callable[[AgentResult], None] = lambda _result: None,
) -> Outcome:
    """Runs a discussion: agents that see each other's scores before they score.

    "Leveraging LLMs as Meta-Judges" (arXiv 2504.17087), section 3.2.3 and appendix B. Two ways to run it:

    - ``independent_first``: every agent first scores alone; then they speak in order, each seeing the others'
      first assessments and the revisions made so far, and revise. 2M calls.
    - ``sequential``: agents speak once, in order, each seeing those before. M calls.

    Without a summariser the last scores are aggregated by majority (default) or by weighted average, and early exit
    applies to the last round; with one, its own scores are final (one call more). A member sees no other member's
    analysis unless the panel shows them. A revision that fails is a missing answer: the agent's first answer, given
    alone, is kept as its ``opening`` but does not replace it.

    Args:
        on_result: called with each agent's result of the last round as it arrives.
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
        result = await agent.assess(judgment, earlier=_statements(panel, results, openings, agent.name), retry=retry)
        results.append(_with_opening(result, opening))
        on_result(results[-1])
    if panel.summariser is None:
        return concluded(panel, results)
    return await _summarised(panel, panel.summariser, judgment, results, retry)


async def _summarised(
    panel: Panel, summariser: Agent, judgment: Judgment, results: list[AgentResult], retry: bool
) -> Outcome:
    statements = _statements(panel, results)
    if not statements:
        return undecided(panel, results)
    summary = await summariser.assess(judgment, earlier=statements, summarise=True, retry=retry)
    if summary.score is None:
        return undecided(panel, results, summary)
    return Outcome(
        status=Status.ASSESSED,
        agents=tuple(results),
        summariser=summary,
        final_score=round(summary.score, 9),
        accepted=bool(exceeds(summary.score, panel.threshold)),
    )


def _statements(
    panel: Panel, results: Sequence[AgentResult], openings: Sequence[AgentResult] = (), reader: str = ""
) -> list[Statement]:
    """Each member's latest scores so far, in speaking order; the reader's own are marked.

    Members are numbered by their place in the panel, so that a number means the same one in every round. Criteria that
    do not apply by rule are no part of what a member said.
    """
    places = {agent.name: place for place, agent in enumerate(panel.agents, start=1)}
    latest = [*results, *openings[len(results) :]]
    return [
        Statement(
            one.agent,
            {name: given for name, given in one.criteria.items() if given.not_applicable is None},
            member=places[one.agent],
            own=one.agent == reader,
            analysis=(one.analysis or "") if panel.show_analysis else "",
        )
        for one in latest
        if one.criteria is not None
    ]


def _with_opening(result: AgentResult, opening: AgentResult | None) -> AgentResult:
    if opening is None:
        return result
    return result.model_copy(update={"opening": opening, **as_kept(total(TimedSpent, (result, opening)))})
