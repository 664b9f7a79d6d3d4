"""How another verdict on the same item compares with a judgment's own."""

from dataclasses import dataclass
from typing import Literal

from metajudge.types import AnyVerdict, Grade, Judgment, Pairwise, Ranking, SignalValue

MAX_STRENGTH = 2
"""Signed strengths run from -2 (``B>>A``) to 2 (``A>>B``)."""


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """What evidence keeps of a judgment: no texts.

    Attributes:
        judge: who gave it.
        order: response ids in the order shown.
        verdict: None where the judge gave none.
    """

    judge: str
    order: tuple[str, ...]
    verdict: AnyVerdict | None


def stance(own: AnyVerdict, other: AnyVerdict) -> Literal[-1, 0, 1] | None:
    """Whether ``other`` names the same winner as ``own``.

    Returns:
        1 for the same winner, -1 for another one, 0 where ``other`` leaves the first place open (a tie, or a
        ranking that shares the first place with the winner of ``own``). None where they cannot be compared: ``own``
        has no winner, either is a grade, or ``other`` does not rank that winner.
    """
    winner = own.winner
    if winner is None or winner not in other.ids:
        return None
    if other.winner is not None:
        return 1 if other.winner == winner else -1
    above = any((other.support(winner, over=rival) or 0) < 0 for rival in other.ids)
    return -1 if above else 0


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


def decided_verdict(judgment: Judgment) -> Pairwise | Ranking | SignalValue:
    """The judgment's verdict where it names a winner that others can support or oppose, else why not."""
    verdict = judgment.verdict
    if verdict is None:
        return SignalValue(value=None, state="no_verdict", detail="the judge gave no verdict")
    if isinstance(verdict, Grade):
        return SignalValue(value=None, state="grade", detail="a grade compares no responses")
    if verdict.winner is None:
        return SignalValue(value=None, state="own_tied", detail=f"the verdict {verdict} names no single winner")
    return verdict
