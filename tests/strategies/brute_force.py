"""The method of panels by brute force: fractions, and every completion of the missing answers written out.

Written from the rules in docs/how-it-decides.md alone; nothing of the product is imported.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

LOW, HIGH = Fraction(1), Fraction(5)
POINTS = tuple(map(Fraction, range(1, 6)))
STRENGTH = {"A>>B": 2, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -2}


@dataclass(frozen=True)
class Rule:
    """How scores become a decision: ``votes`` or an average with weights and a quorum."""

    votes: bool
    threshold: Fraction
    weights: tuple[Fraction, ...]
    quorum: int | None = None


@dataclass(frozen=True)
class Expected:
    """What a panel must come to; ``accepted`` None is no decision, ``asked`` the requests sent."""

    accepted: bool | None
    final: Fraction | None = None
    bounds: tuple[Fraction, Fraction] | None = None
    renormalised: bool = False
    asked: int = 0


def above(score, threshold):
    return round(score, 9) > round(threshold, 9)


def agent_score(scores, weights):
    """The weighted mean over the criteria that apply."""
    present = [(score, weight) for score, weight in zip(scores, weights, strict=True) if score is not None]
    return sum(score * weight for score, weight in present) / sum(weight for _, weight in present)


def final_score(rule, scores):
    """Of a full panel."""
    if rule.votes:
        voters = [score for score in scores if above(score, rule.threshold)]
        return HIGH if 2 * len(voters) > len(scores) else LOW
    return agent_score(scores, rule.weights)


def completions(rule, scores):
    """The final scores of all ways to fill in what is missing."""
    return {final_score(rule, whole) for whole in product(*[POINTS if one is None else (one,) for one in scores])}


def is_certain(rule, scores):
    if all(score is None for score in scores):
        return False
    return len({above(final, rule.threshold) for final in completions(rule, scores)}) == 1


def decided(rule, scores, *, stopped=False):
    """The decision from a panel's scores; None is missing. ``stopped``: some were not asked."""
    valid = [(score, weight) for score, weight in zip(scores, rule.weights, strict=True) if score is not None]
    finals = completions(rule, scores)
    if is_certain(rule, scores):
        accepted = above(min(finals), rule.threshold)
        if len(finals) == 1:
            return Expected(accepted, final=min(finals))
        if stopped or rule.votes or len(valid) < needed(rule):
            return Expected(accepted, bounds=(min(finals), max(finals)))
    elif rule.votes or len(valid) < needed(rule):
        return Expected(None)
    mean = agent_score(*zip(*valid, strict=True))
    return Expected(above(mean, rule.threshold), final=mean, renormalised=len(valid) < len(scores))


def needed(rule):
    return len(rule.weights) // 2 + 1 if rule.quorum is None else rule.quorum


def asked_in_turn(rule, answers, costs, *, early_exit):
    """Agents one after the other, as long as somebody could still change the decision.

    Args:
        answers: a score or None for each agent, if it is asked.
        costs: requests that asking each agent takes.
    """
    heard, spent = [], 0
    for answer, cost in zip(answers, costs, strict=True):
        known = [*heard, *[None] * (len(answers) - len(heard))]
        if early_exit and heard and is_certain(rule, known):
            break
        heard.append(answer)
        spent += cost
    scores = [*heard, *[None] * (len(answers) - len(heard))]
    return scores, spent, len(heard) < len(answers)


def support(recorded, given):
    """On the scale: the mean signed strength of two verdicts relative to the recorded one."""
    if STRENGTH[recorded] == 0:
        values = [Fraction(1 - abs(STRENGTH[one])) for one in given]
    else:
        sign = 1 if STRENGTH[recorded] > 0 else -1
        values = [Fraction(sign * STRENGTH[one], 2) for one in given]
    return LOW + (HIGH - LOW) * (sum(values) / len(values) + 1) / 2
