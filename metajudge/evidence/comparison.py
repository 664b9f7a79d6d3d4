"""How another verdict on the same item compares with a judgment's own."""

from typing import Literal

from metajudge.types import AnyVerdict, Category, Grade, Pairwise, Ranking, Right, SignalValue, is_right

MAX_STRENGTH = 2
"""Signed strengths run from -2 (``B>>A``) to 2 (``A>>B``)."""


def stance(own: AnyVerdict, other: AnyVerdict) -> Literal[-1, 0, 1] | None:
    """Whether ``other`` names the same winner as ``own``.

    Returns:
        1 for the same winner, -1 for another one, 0 where ``other`` leaves the first place open (a tie, or a
        ranking that shares the first place with the winner of ``own``). None where they cannot be compared: ``own``
        has no winner, either is a grade or a category, or ``other`` does not rank that winner.
    """
    winner = own.winner
    if winner is None or winner not in other.ids:
        return None
    if other.winner is not None:
        return 1 if other.winner == winner else -1
    above = any((other.support(winner, over=rival) or 0) < 0 for rival in other.ids)
    return -1 if above else 0


def agreement(own: AnyVerdict, other: AnyVerdict, rule: Right) -> Literal[-1, 0, 1] | None:
    """Whether ``own`` would be right if ``other`` were the truth.

    Args:
        rule: what counts as right for the kind of ``own``.

    Returns:
        1 where it would be right and -1 where it would be wrong. By ``top1`` the rule is that of :func:`stance`, so a
        tie for the first place is 0. None where the rule cannot compare the two.
    """
    if rule.name == "top1":
        return stance(own, other)
    right = is_right(own, other, rule)
    return None if right is None else 1 if right else -1


def signed_support(own: AnyVerdict, other: AnyVerdict) -> float | None:
    """How strongly ``other`` prefers the winner of ``own``, in [-2, 2].

    For a pair it is the signed strength of ``other``. For a ranking it is the mean over the rivals, the ids that
    ``own`` compares its winner with and ``other`` ranks too; a place above counts like a plain ``>``, so rankings
    stay within [-1, 1]. None where they cannot be compared, as for :func:`stance`.
    """
    winner = own.winner
    if winner is None:
        return None
    if isinstance(own, Pairwise):  # by far the most frequent case, and compared with every peer
        return other.support(own.first, over=own.second)
    strengths = [other.support(winner, over=rival) for rival in own.ids if rival != winner]
    known = [strength for strength in strengths if strength is not None]
    return sum(known) / len(known) if known else None


def decided_verdict(verdict: AnyVerdict | None) -> Pairwise | Ranking | SignalValue:
    """A verdict where it names a winner that others can support or oppose, else why not."""
    if verdict is None:
        return SignalValue(value=None, state="no_verdict", detail="the judge gave no verdict")
    if isinstance(verdict, Grade):
        return SignalValue(value=None, state="grade", detail="a grade compares no responses")
    if isinstance(verdict, Category):
        return SignalValue(value=None, state="category", detail="a category compares no responses")
    if verdict.winner is None:
        return SignalValue(value=None, state="own_tied", detail=f"the verdict {verdict} names no single winner")
    return verdict


def comparable_verdict(verdict: AnyVerdict | None, rule: Right | None) -> AnyVerdict | SignalValue:
    """A verdict where other verdicts can agree with it by the rule, else why not.

    Args:
        rule: what counts as right for the verdict's kind; None where there is no verdict.
    """
    if verdict is None or rule is None or rule.name == "top1":
        return decided_verdict(verdict)
    return verdict
