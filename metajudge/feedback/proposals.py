"""Proposals: a change of a policy, the pattern that suggests it, and the evidence for it."""

from typing import Literal

from pydantic import Field

from metajudge.decision.policy import Policy
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.candidates import ChangeKind
from metajudge.feedback.cases import Direction
from metajudge.feedback.comparison import Comparison
from metajudge.feedback.patterns import Pattern
from metajudge.types.frozen import Frozen


class Proposal(Frozen):
    """A new version of a policy, unused until it is activated.

    Attributes:
        base_digest: the version it would replace; ``policy`` is the new one, whole.
        change: in words.
        patterns: what in people's decisions suggested it.
        cases: ids of the decided cases it was fitted on.
        created_at: seconds since the epoch.
    """

    proposal_id: str
    name: str
    base_digest: str
    kind: ChangeKind
    direction: Direction
    change: str
    policy: Policy
    patterns: tuple[Pattern, ...]
    backtest: Backtest
    cases: tuple[str, ...]
    created_at: float
    status: Literal["proposed", "refused"]


class Activation(Frozen):
    """The audit record of a policy version put in force.

    Attributes:
        by: who did it; at: seconds since the epoch.
        proposal_id: of the proposal, or of the draft.
        backtest: the evidence at that time; None for a draft, whose evidence is ``comparison``.
        reason: in that person's words.
    """

    name: str
    proposal_id: str
    base_digest: str
    digest: str
    by: str = Field(min_length=1, max_length=200)
    at: float
    reason: str = ""
    backtest: Backtest | None = None
    comparison: Comparison | None = Field(default=None, exclude_if=lambda given: given is None)
    policy: Policy

    @property
    def evidence(self) -> str:
        """The evidence in words."""
        found = self.comparison if self.backtest is None else self.backtest
        return "no evidence recorded" if found is None else found.reason
