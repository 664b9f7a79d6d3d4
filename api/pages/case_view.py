"""Parts of pages about one record: responses in an order of one's own, agents' scores, signals, history. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metajudge.reviewables.wording import SignalLine, signal_lines
from metajudge.reviews.review import HumanDecision, Outcome, ReviewState
from metajudge.store.protocol import AuditEntry
from metajudge.types import AgentResult, Assessment

from .rendering import Tone, verdict_words

APART = 1.0
"""Scores of one criterion that differ by more than this are marked as a disagreement."""


@dataclass(frozen=True, slots=True)
class Side:
    """One response, in this reviewer's order.

    Attributes:
        title: its name on the page: Left, Right, Response 1.
        seen_as: its label for the judge; None if it was not shown to the judge.
        picked: whether the judge's verdict ranks it alone in first place.
    """

    response: str
    title: str
    text: str
    seen_as: str | None
    picked: bool


@dataclass(frozen=True, slots=True)
class Opinion:
    """One agent's score of one criterion; if ``score`` is None, ``note`` gives the reason."""

    score: float | None
    explanation: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion over all agents, in the order of :attr:`Panel.agents`; ``spread`` is the largest difference."""

    name: str
    opinions: tuple[Opinion, ...]
    spread: float | None

    @property
    def apart(self) -> bool:
        """Whether agents disagree."""
        return self.spread is not None and self.spread > APART


@dataclass(frozen=True, slots=True)
class Panel:
    """The results of the meta-judges of one assessment."""

    assessment: Assessment
    agents: tuple[AgentResult, ...]
    rows: tuple[CriterionRow, ...]
    signals: tuple[SignalLine, ...]

    @property
    def split(self) -> bool:
        """Whether agents' scores lie on both sides of the threshold."""
        over = {agent.score > self.assessment.threshold for agent in self.agents if agent.score is not None}
        return len(over) > 1


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a review's history."""

    at: float | None
    what: str
    who: str = ""
    reason: str = ""
    tone: Tone = ""


def panel_of(assessment: Assessment) -> Panel:
    """The agents' scores, criterion by criterion."""
    agents = (*assessment.agents, *(() if assessment.summariser is None else (assessment.summariser,)))
    names = dict.fromkeys(name for agent in agents for name in agent.criteria or {})
    rows = []
    for name in names:
        opinions = tuple(_opinion(agent, name) for agent in agents)
        scores = [one.score for one in opinions if one.score is not None]
        rows.append(CriterionRow(name, opinions, max(scores) - min(scores) if len(scores) > 1 else None))
    return Panel(assessment, agents, tuple(rows), tuple(signal_lines(assessment.signals)))


def _opinion(agent: AgentResult, name: str) -> Opinion:
    result = (agent.criteria or {}).get(name)
    if result is not None:
        why = "" if result.not_applicable is None else f": {result.not_applicable}"
        note = "" if result.score is not None else f"does not apply{why}"
        return Opinion(result.score, result.explanation, note)
    if agent.failure is not None:
        return Opinion(None, note="failed")
    return Opinion(None, note="not asked" if agent.skipped else "not scored")


def may_see_decisions(state: ReviewState, reviewer: str | None) -> bool:
    """Whether others' decisions are shown: not to a person who still has to decide independently, or is not named."""
    return state.status == "decided" or any(one.reviewer == reviewer for one in state.decisions)


def history(
    state: ReviewState,
    assessments: Sequence[tuple[float, Assessment]],
    names: Mapping[str, str],
    *,
    changes: Sequence[AuditEntry] = (),
    reviewer: str | None = None,
    machine: bool,
    people: bool,
) -> list[Event]:
    """The events of a review, oldest first.

    Args:
        assessments: when, and the result of vetting.
        names: response -> its name on the page.
        changes: claims and releases over HTTP, from the change log.
        machine: whether to include machine results.
        people: whether to include the actions of others than ``reviewer``.
    """
    events = [Event(state.review.opened_at, "Added to the queue")]
    if machine:
        events += [_vetted(at, found) for at, found in assessments]
    events += [one for one in _claims(state, changes) if people or one.who == reviewer]
    for one in state.decisions:
        if people:
            events.append(_decided(one, names))
        else:
            events.append(Event(one.decided_at, "Decided; visible after your own decision"))
    return sorted(events, key=lambda event: event.at or 0.0)


def _vetted(at: float, found: Assessment) -> Event:
    action = "" if found.decision is None else f", {found.decision.action.value} by policy {found.decision.policy}"
    return Event(at, f"Vetted: {found.status.value}{action}")


def _claims(state: ReviewState, changes: Sequence[AuditEntry]) -> list[Event]:
    """Claims and releases; claims in force are read from the review, whatever their origin."""
    words = {"review.claim": "Claimed", "review.release": "Released"}
    events = [
        Event(one.recorded_at, words[one.payload["action"]], str(one.payload.get("reviewer", "")))
        for one in changes
        if one.payload.get("action") in words
    ]
    logged = [(one.who, one.at or 0.0) for one in events]
    return events + [
        Event(claim.claimed_at, "Claimed", claim.reviewer)
        for claim in state.claims
        if not any(who == claim.reviewer and abs(at - claim.claimed_at) < 1 for who, at in logged)
    ]


def _decided(one: HumanDecision, names: Mapping[str, str]) -> Event:
    corrected = "" if one.verdict is None else f": {verdict_words(one.verdict, names)}"
    scores = "".join(f", {name} {score:g}" for name, score in (one.scores or {}).items())
    way = ", blind" if one.blind else ""
    way += ", from a file" if one.origin == "import" else ""
    tone: Tone = "good" if one.outcome is Outcome.APPROVE else "warn"
    return Event(one.decided_at, f"{one.outcome.value}{corrected}{scores}{way}", one.reviewer, one.reason, tone)
