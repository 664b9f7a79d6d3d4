"""cascade: cheap agents first; the next stage is asked while the calibrated probability is in the band of doubt.

A stage's score is the weighted mean of its agents' scores, given a strict majority of valid answers; its plan's curve
turns that into P(the judgment is right). Above the band the judgment is accepted, below it rejected, within it the
next stage is asked; the last stage decides by the cut. A stage without a score is escalated, as one that does not
know; where the last one has none, the judgment is unscored. An agent named in several stages is asked once. The final
score is the probability on the panel's scale, so that it lies above the threshold exactly where the judgment is
accepted.
"""

from collections.abc import Callable, Sequence

from metajudge.agents import Agent
from metajudge.calibration.cascade import CascadeStage
from metajudge.concurrency import all_of
from metajudge.strategies.outcome import Outcome, undecided
from metajudge.strategies.panel import Panel
from metajudge.types import AgentResult, CascadeStep, CascadeTrace, Judgment, Status

_WORDS = {"accept": "accepted", "reject": "rejected", "escalate": "escalated"}


async def cascade(
    panel: Panel,
    judgment: Judgment,
    *,
    retry: bool = False,
    on_result: Callable[[AgentResult], None] = lambda _result: None,
) -> Outcome:
    """Asks stage after stage until one is sure."""
    plan = panel.cascade
    assert plan is not None
    by_name = {agent.name: agent for agent in panel.agents}
    results: dict[str, AgentResult] = {}
    steps: list[CascadeStep] = []

    async def ask(agent: Agent) -> None:
        results[agent.name] = await agent.assess(judgment, retry=retry)
        on_result(results[agent.name])

    for number, stage in enumerate(plan.stages):
        await all_of(ask(by_name[name]) for name in stage.agents if name not in results)
        score = _score(stage, panel, results)
        if score is None:
            steps.append(CascadeStep(agents=stage.agents, outcome="no_score"))
            continue
        probability = stage.probability(score)
        step = plan.step(number, probability)
        outcome = _WORDS[step]
        steps.append(CascadeStep(agents=stage.agents, score=score, probability=probability, outcome=outcome))
        if step != "escalate":
            return Outcome(
                status=Status.ASSESSED,
                agents=_all_results(panel, results),
                final_score=plan.on_scale(probability),
                accepted=step == "accept",
                cascade=CascadeTrace(
                    steps=tuple(steps),
                    decided_by=number,
                    reason=_reason(number, probability, plan.band, plan.cut, last=number == len(plan.stages) - 1),
                    plan=plan.digest,
                ),
            )
    failed = undecided(panel, _all_results(panel, results))
    trace = CascadeTrace(steps=tuple(steps), decided_by=None, reason="the last stage has no score", plan=plan.digest)
    return Outcome(status=failed.status, agents=failed.agents, failure=failed.failure, cascade=trace)


def _score(stage: CascadeStage, panel: Panel, results: dict[str, AgentResult]) -> float | None:
    """The weighted mean over the stage's valid answers; None without a strict majority of them."""
    weights = {agent.name: agent.weight for agent in panel.agents}
    valid = [(weights[name], results[name].score) for name in stage.agents if results[name].score is not None]
    if 2 * len(valid) <= len(stage.agents):
        return None
    total = sum(weight for weight, _ in valid)
    return round(sum(weight * (score or 0.0) for weight, score in valid) / total, 9)


def _all_results(panel: Panel, results: dict[str, AgentResult]) -> tuple[AgentResult, ...]:
    return tuple(results.get(agent.name) or _spared(agent) for agent in panel.agents)


def _spared(agent: Agent) -> AgentResult:
    return AgentResult(
        agent=agent.name, model=agent.model.name, role=agent.role, weight=agent.weight, skipped="cascade"
    )


def _reason(stage: int, probability: float, band: Sequence[float], cut: float, *, last: bool) -> str:
    if last:
        side = "above" if probability > round(cut, 9) else "not above"
        return f"stage {stage + 1}, the last: probability {probability:.4f} is {side} the cut {cut:.4f}"
    side = "above" if probability > band[1] else "below"
    return f"stage {stage + 1}: probability {probability:.4f} is {side} the band of doubt {band[0]:.4f}..{band[1]:.4f}"
