"""What people decided about a judgment in the end, once as many have decided as were asked to."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from metajudge.reviews.agreement import verdict_is_right
from metajudge.reviews.review import HumanDecision, Outcome
from metajudge.types import AnyVerdict
from metajudge.types.verdict import Category, Pairwise


class Ruling(StrEnum):
    """The outcome of a review that is decided."""

    RIGHT = "right"
    """More people judge the verdict right than wrong."""
    CORRECTED = "corrected"
    """It is wrong, and most of those who judged it give the same verdict in its place."""
    WRONG = "wrong"
    """It is wrong, and there is no such verdict."""
    DIVIDED = "divided"
    """As many people judge it right as wrong."""
    CANNOT_TELL = "cannot_tell"
    """No decision says whether it is right: all of them are ``cannot_tell`` or correct scores alone."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A ruling and, where people gave one, the verdict that replaces the judge's.

    Attributes:
        verdict: set for CORRECTED; for RIGHT where people kept the winner and changed the strength; else None.
    """

    ruling: Ruling
    verdict: AnyVerdict | None = None


def settlement_of(decisions: Sequence[HumanDecision], verdict: AnyVerdict | None, reviewers: int) -> Settlement | None:
    """The settled outcome of one review; None while fewer people have decided than were asked to.

    Args:
        decisions: all decisions of the review, one a person.
        verdict: the judge's; None where it gave none.
        reviewers: how many people are to decide.
    """
    if len(decisions) < reviewers:
        return None
    right = [one for one in decisions if _says_right(one, verdict) is True]
    wrong = [one for one in decisions if _says_right(one, verdict) is False]
    if not right and not wrong:
        return Settlement(Ruling.CANNOT_TELL)
    if len(right) == len(wrong):
        return Settlement(Ruling.DIVIDED)
    if len(right) > len(wrong):
        given = _shared_verdict(right, len(right))
        return Settlement(Ruling.RIGHT, None if given == verdict else given)
    given = _shared_verdict(wrong, len(right) + len(wrong))
    return Settlement(Ruling.WRONG) if given is None else Settlement(Ruling.CORRECTED, given)


def _says_right(decision: HumanDecision, verdict: AnyVerdict | None) -> bool | None:
    if verdict is None and decision.outcome is Outcome.MODIFY and decision.verdict is not None:
        return False  # the judge gave no verdict, and the person did
    return verdict_is_right(decision, verdict)


def _shared_verdict(decisions: Sequence[HumanDecision], votes: int) -> AnyVerdict | None:
    """The verdict that more than half of the votes wrote; strengths may differ, and the weakest is taken."""
    groups: dict[str, list[AnyVerdict]] = {}
    for one in decisions:
        if one.verdict is not None:
            groups.setdefault(_side(one.verdict), []).append(one.verdict)
    for same in groups.values():
        if 2 * len(same) > votes:
            return min(same, key=lambda given: given.strength if isinstance(given, Pairwise) else 0)
    return None


def _side(verdict: AnyVerdict) -> str:
    """Equal for verdicts that prefer the same, however strongly."""
    if isinstance(verdict, Pairwise):
        return f"{verdict.winner} of {sorted(verdict.ids)}"
    return str(verdict).casefold() if isinstance(verdict, Category) else str(verdict)
