"""What a strategy returns, and the step from agents' scores to a decision."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from metajudge.agents import Agent
from metajudge.concurrency import all_of
from metajudge.errors import FailureKind
from metajudge.scoring.formulas import KEPT, Decisions, decide_average, decide_majority
from metajudge.strategies.panel import Panel
from metajudge.strategies.rule import Rule
from metajudge.types import AgentResult, Failure, SignalValue, Status
from metajudge.types.figure import Ends


@dataclass(frozen=True, slots=True)
class Outcome:
    """One judgment's result, before identity and provenance are added.

    Attributes:
        final_score: None where the decision is known but the score is not (then ``score_bounds`` is set), and
            where there is no decision.
        rule: what decided, where it is not the panel's threshold on the score.
    """

    status: Status
    agents: tuple[AgentResult, ...] = ()
    summariser: AgentResult | None = None
    final_score: float | None = None
    score_bounds: tuple[float, float] | None = None
    accepted: bool | None = None
    renormalised: bool = False
    failure: Failure | None = None
    signals: dict[str, SignalValue] | None = None
    rule: Rule | None = None


NEVER_ASKED = frozenset(
    {
        *(FailureKind.AUTH, FailureKind.NOT_FOUND, FailureKind.BAD_REQUEST, FailureKind.CONTEXT_TOO_LONG),
        *(FailureKind.RATE_LIMITED, FailureKind.TIMEOUT, FailureKind.OVERLOADED, FailureKind.SERVER_ERROR),
        FailureKind.CONNECTION,
    }
)
"""Failures that left the question unanswered, as opposed to unusable answers."""


def decide(panel: Panel, results: Sequence[AgentResult]) -> Decisions:
    """The panel's decision from what is known so far; agents without a result count as missing."""
    return decide_scores(panel, _scores(panel, results))


def _scores(panel: Panel, results: Sequence[AgentResult]) -> list[float | None]:
    scores = [result.score for result in results]
    return [*scores, *[None] * (len(panel.agents) - len(scores))]


def decide_scores(panel: Panel, scores: Sequence[float | None]) -> Decisions:
    """The panel's decision from a score for each agent; None is a missing answer."""
    return _decisions(*_question(panel, scores))


_Question: TypeAlias = (
    "tuple[tuple[float | None, ...], float, tuple[float, ...] | None, int | None, tuple[float, float]]"
)
"""Scores, threshold, weights, quorum and scale: what a decision depends on."""


def _question(panel: Panel, scores: Sequence[float | None]) -> _Question:
    weights = tuple(panel.weights) if panel.averages else None
    return tuple(scores), panel.threshold, weights, panel.quorum, panel.scale


class _Decided(NamedTuple):
    """One decision as plain values, scores rounded to 1e-9; ``final`` is None where there is no score."""

    status: str
    final: float | None
    bounds: Ends
    accepted: bool


@lru_cache(maxsize=KEPT)
def _decided(*question: Any) -> _Decided:
    found = _decisions(*question)
    final = None if np.ma.getmaskarray(found.final)[0] else round(float(found.final[0]), 9)
    low, high = (round(float(one[0]), 9) for one in found.bounds)
    return _Decided(str(found.status[0]), final, (low, high), bool(found.accepted[0]))


@lru_cache(maxsize=KEPT)
def _decisions(
    scores: tuple[float | None, ...],
    threshold: float,
    weights: tuple[float, ...] | None,
    quorum: int | None,
    scale: tuple[float, float],
) -> Decisions:
    """The decision on one judgment, by average where there are weights, else by vote."""
    values = [[0.0 if score is None else score for score in scores]]
    valid = [[score is not None for score in scores]]
    if weights is None:
        return decide_majority(values, threshold, valid, scale=scale)
    return decide_average(values, threshold, weights, valid, quorum=quorum, scale=scale)


def settled(panel: Panel, results: Sequence[AgentResult]) -> bool:
    """Whether no answer of the agents still to be asked could change the decision."""
    return bool(decide(panel, results).settled[0])


def concluded(panel: Panel, results: Sequence[AgentResult]) -> Outcome:
    """The outcome once no other agent is asked; ``results`` has every agent, skipped ones included."""
    status, final, bounds, accepted = _decided(*_question(panel, _scores(panel, results)))
    if status == "unscored":
        return undecided(panel, results)
    # An agent who was skipped has no say in an average: only bounds are known, unless they coincide.
    stopped = bounds[0] != bounds[1] and any(result.skipped for result in results)
    scored = final is not None and not stopped
    return Outcome(
        status=Status.ASSESSED,
        agents=tuple(results),
        final_score=final if scored else None,
        score_bounds=None if scored else bounds,
        accepted=accepted,
        renormalised=scored and status == "renormalised",
    )


async def asked_each(
    panel: Panel, ask: Callable[[Agent], Awaitable[AgentResult]], on_result: Callable[[AgentResult], None]
) -> Outcome:
    """Asks every agent alone: all at once, or one after the other until the decision is settled.

    Args:
        on_result: called with each result as it arrives.
    """

    async def asked(agent: Agent) -> AgentResult:
        result = await ask(agent)
        on_result(result)
        return result

    if not panel.early_exit and len(panel.agents) > 1:
        return concluded(panel, await all_of(asked(agent) for agent in panel.agents))
    results: list[AgentResult] = []
    for position, agent in enumerate(panel.agents):
        certain = bool(results) and settled(panel, results)
        results.append(skipped(panel, position) if certain else await asked(agent))
    return concluded(panel, results)


def undecided(panel: Panel, results: Sequence[AgentResult], summariser: AgentResult | None = None) -> Outcome:
    """The outcome where too few answers were valid: unscored, or failed where no agent could be asked."""
    failures = [(r.agent, r.failure) for r in (*results, *([summariser] if summariser else ())) if r.failure]
    answered = sum(result.score is not None for result in results)
    never_asked = answered == 0 and all(failure.kind in NEVER_ASKED for _, failure in failures)
    reasons = "; ".join(f"{name}: {failure.kind}: {failure.message}" for name, failure in failures)
    summary = f"{answered} of {len(panel.agents)} agents gave a valid answer, too few for a decision ({reasons})"
    kind = (failures[-1] if summariser is not None and summariser.failure else failures[0])[1].kind
    return Outcome(
        status=Status.FAILED if never_asked else Status.UNSCORED,
        agents=tuple(results),
        summariser=summariser,
        failure=Failure(kind=kind, message=summary),
    )


def not_vetted(reason: str, kind: FailureKind = FailureKind.NO_EVIDENCE) -> Outcome:
    """The outcome of a judgment that no agent is asked about."""
    return Outcome(Status.FAILED, failure=Failure(kind=kind, message=reason))


def skipped(panel: Panel, position: int) -> AgentResult:
    """The result of an agent not asked because the decision was already certain."""
    agent = panel.agents[position]
    return AgentResult(
        agent=agent.name, model=agent.model.name, role=agent.role, weight=agent.weight, skipped="early_exit"
    )
