"""Policies at work: which version is in force, whether a panel fits it, and its decision on an assessment."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from metajudge.decision import Policy, decide_verdict, load_policy
from metajudge.errors import ConfigurationError
from metajudge.feedback.loop import FeedbackLoop
from metajudge.store.protocol import Store
from metajudge.strategies import Panel
from metajudge.types import Assessment
from metajudge.yaml_documents import looks_like_path


async def policy_in_force(given: str | Path | Policy, store: Store | None) -> Policy:
    """The policy to decide by; its content is kept in the store, so that decisions can be explained later.

    Args:
        given: a policy or its file, taken as it is; or a name, for the version that was last activated in the store,
            else the built-in one.

    Raises:
        PolicyError: no such policy, or a file that is not one.
    """
    named = isinstance(given, str) and not looks_like_path(given)
    if isinstance(given, Policy):
        policy = given
    elif named and store is not None:
        policy = await FeedbackLoop(store, clock=time.time).active(str(given))
    else:
        policy = load_policy(given)
    if store is not None:
        await FeedbackLoop(store, clock=time.time).register(policy)
    return policy


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


def decided(policy: Policy, assessment: Assessment, panel: Panel | None = None) -> Assessment:
    """An assessment with the policy's decision.

    Args:
        panel: the one that vetted it; its rubric's weights are what learned offsets are weighed by.
    """
    return assessment.model_copy(update={"decision": decide_verdict(policy, assessment, weights_of(panel))})


def weights_of(panel: Panel | None) -> Mapping[str, float]:
    """Criterion -> weight where all agents of a panel share one rubric; else nothing."""
    if panel is None or not panel.agents or panel.strategy.value == "rejudge":
        return {}
    rubric = panel.agents[0].rubric
    return rubric.score_weights if all(agent.rubric.digest == rubric.digest for agent in panel.agents) else {}
