"""What stands between a judgment and another decision."""

from metajudge.strategies.rule import rule_of
from metajudge.types import AgentResult, Assessment

DECIMALS = 9
"""Scores are compared after rounding, as decisions are made."""


def what_tips(one: Assessment) -> str | None:
    """The smallest change that would decide a judgment differently, in a sentence; None where it cannot be told.

    A policy decides by its bands; a probability by its cut; a majority by its votes; everything else by the score.
    """
    if one.decision is not None:
        margin = one.decision.margin
        where = f"from another decision of policy {one.decision.policy}"
        return None if margin is None else f"The deciding value is {margin:.3g} {where}."
    rule = rule_of(one)
    if rule is None or one.accepted is None:
        return None
    if rule.by == "probability" and rule.cut is not None and one.probability is not None:
        side = "below" if one.accepted else "from"
        return f"A probability {side} {rule.cut:.3f}: {abs(one.probability - rule.cut):.3f} away."
    if rule.by == "agreement" and rule.cut is not None and one.final_score is not None:
        side = "below" if one.accepted else "of at least"
        distance = abs((one.final_score - 1) / 4 - rule.cut)
        return f"A share of agreeing peers {side} {rule.cut:g}: {distance:.3g} away."
    return _votes(one, one.accepted) if by_vote(one) else _score(one, one.accepted)


def by_vote(one: Assessment) -> bool:
    """Whether the agents' majority decided: a discussion without a summary votes unless its score is the average."""
    if one.strategy != "panel_discussion" or one.summariser is not None:
        return one.strategy == "majority_vote"
    scored = [(agent.weight, agent.score) for agent in one.agents if agent.score is not None]
    total = sum(weight for weight, _ in scored)
    if one.final_score is None or not total:
        return one.score_bounds is None
    return round(sum(weight * score for weight, score in scored) / total - one.final_score, 6) != 0


def _score(one: Assessment, kept: bool) -> str | None:
    side = f"of at most {one.threshold:g}" if kept else f"above {one.threshold:g}"
    if one.final_score is not None:
        return f"A score {side}: {abs(one.final_score - one.threshold):.3g} away."
    if one.score_bounds is None:
        return None
    nearest = one.score_bounds[0] if kept else one.score_bounds[1]
    return f"A score {side}: at least {abs(nearest - one.threshold):.3g} away, whatever the missing answers say."


def _votes(one: Assessment, kept: bool) -> str:
    """The smallest set of votes that turns the majority of the configured panel, nearest to the threshold first."""
    known = [agent for agent in one.agents if agent.score is not None]
    above = [agent for agent in known if round((agent.score or 0.0) - one.threshold, DECIMALS) > 0]
    half = len(one.agents) // 2
    needed = len(above) - half if kept else half + 1 - len(above)
    pool = sorted(above if kept else [agent for agent in known if agent not in above], key=lambda a: _gap(a, one))
    sure, tied = pool[:needed], []
    if needed < len(pool) and _gap(pool[needed - 1], one) == _gap(pool[needed], one):
        sure = [agent for agent in pool if _gap(agent, one) < _gap(pool[needed], one)]
        tied = [agent for agent in pool if _gap(agent, one) == _gap(pool[needed], one)]
    groups = [f"the vote{'s' if len(sure) > 1 else ''} of {_named(sure)}"] if sure else []
    groups += [f"{needed - len(sure)} of the votes of {_named(tied)}"] if tied else []
    missing = needed - min(needed, len(pool))
    groups += [f"{missing} of the answers that are missing"] if missing else []
    side = f"at most {one.threshold:g}" if kept else f"above {one.threshold:g}"
    far = ""
    if pool and one.rubric != "binary":  # votes of a binary rubric lie at the scale's ends, and are no distance
        up_to = "up to " if len(sure) + len(tied) > 1 and needed > 1 else ""
        far = f", {up_to}{_gap(pool[min(needed, len(pool)) - 1], one):.3g} away"
    told = " and ".join(groups)
    return f"{told[:1].upper()}{told[1:]} {'tips' if needed == 1 else 'tip'} it: {side}{far}."


def _gap(agent: AgentResult, one: Assessment) -> float:
    return abs(round((agent.score or 0.0) - one.threshold, DECIMALS))


def _named(agents: list[AgentResult]) -> str:
    return ", ".join(f"{agent.agent} ({agent.score:.4g})" for agent in agents)
