"""From a policy's action, a panel's triage, or people's decisions to an outcome."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from metajudge.outcomes.model import OutcomeName
from metajudge.reviews.review import HumanDecision, Outcome
from metajudge.types.decision import Action

_OF_ACTION = {
    Action.APPROVE: OutcomeName.APPROVED,
    Action.REVIEW: OutcomeName.ESCALATED,
    Action.REVIEW_PRIORITY: OutcomeName.ESCALATED,
    Action.REJECT: OutcomeName.REJECTED,
}


def outcome_of_action(action: str) -> OutcomeName:
    """The outcome of a policy's action."""
    return _OF_ACTION[Action(action)]


def outcome_of_people(decisions: Sequence[HumanDecision]) -> tuple[OutcomeName, str | None]:
    """The outcome of a review that as many people decided as were asked, with the reason if it is not final.

    ``cannot_tell`` abstains. More than half of the others reject: rejected. More than half approve it as it is:
    approved. More than half approve it, with or without corrections: approved with changes. Else escalated.

    Args:
        decisions: one a person.
    """
    votes = Counter(one.outcome for one in decisions if one.outcome is not Outcome.CANNOT_TELL)
    said = votes.total()
    if not said:
        return OutcomeName.ESCALATED, "nobody could tell"
    if 2 * votes[Outcome.REJECT] > said:
        return OutcomeName.REJECTED, None
    if 2 * votes[Outcome.APPROVE] > said:
        return OutcomeName.APPROVED, None
    if 2 * (votes[Outcome.APPROVE] + votes[Outcome.MODIFY]) > said:
        return OutcomeName.APPROVED_WITH_CHANGES, None
    return OutcomeName.ESCALATED, "people are divided"


def people_data(decisions: Sequence[HumanDecision]) -> list[dict[str, Any]]:
    """People's decisions for an event: without their free text."""
    return [one.data("reviewer", "outcome", "verdict", "scores", "blind", "decided_at") for one in decisions]
