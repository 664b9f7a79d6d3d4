"""Policies in vetting: whether a panel fits one, and its decision on an assessment."""

from collections.abc import Iterable, Mapping

from metajudge.decision import Policy, decide_verdict
from metajudge.errors import ConfigurationError
from metajudge.strategies import Panel
from metajudge.strategies.rule import ruled
from metajudge.types import Assessment


def check_panels(policy: Policy, panels: Iterable[Panel]) -> None:
    """Checks that a policy can decide on what panels find.

    Raises:
        ConfigurationError: a policy for cases, or a panel with another scale than the policy's.
    """
    if policy.cases is not None:
        raise ConfigurationError(f"policy {policy.name!r} is for cases: use it with `metajudge case`")
    if policy.basis != "score":
        return
    for panel in panels:
        if (policy.scale.low, policy.scale.high) != panel.scale:
            low, high = panel.scale
            raise ConfigurationError(
                f"policy {policy.name!r} decides on scores from {policy.scale}, and the panel's go from {low:g} to "
                f"{high:g}: use a policy with the panel's scale"
            )


def mismatch(policy: Policy, panels: Iterable[Panel], *, calibrated: bool) -> str | None:
    """Why a policy's decisions on what panels find would mean little, and what to do; None if they mean something.

    Args:
        calibrated: whether there is a calibration, which gives the probability.
    """
    if policy.basis == "probability":
        if calibrated:
            return None
        return (
            f"policy {policy.name!r} decides on probabilities, and there is no calibration: every decision is "
            f"{policy.missing.value.action} (give --calibration, or a policy over scores such as verdict_score)"
        )
    voting = next((panel for panel in panels if panel.votes), None)
    if voting is None:
        return None
    return (
        f"policy {policy.name!r} decides on scores, and strategy {voting.strategy.value} gives votes: only the ends of "
        "the scale, never a score between them (give strategy weighted_average, or a policy over probabilities with a "
        "calibration)"
    )


def decided(policy: Policy, assessment: Assessment, panel: Panel | None = None) -> Assessment:
    """An assessment with the policy's decision.

    Args:
        panel: the one that vetted it; its rubric's weights are what learned offsets are weighed by.
    """
    return ruled(assessment, decide_verdict(policy, assessment, weights_of(panel)))


def weights_of(panel: Panel | None) -> Mapping[str, float]:
    """Criterion -> weight where all agents of a panel share one rubric; else nothing."""
    if panel is None or not panel.agents or panel.strategy.value == "rejudge":
        return {}
    rubric = panel.agents[0].rubric
    return rubric.score_weights if all(agent.rubric.digest == rubric.digest for agent in panel.agents) else {}
