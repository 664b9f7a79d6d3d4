"""One reviewable, whatever it is about: a judgment, a clash or a case."""

from dataclasses import dataclass
from typing import Protocol

from metajudge.reviewables.sheet import Kind, Sheet
from metajudge.reviews.review import HumanDecision, ReviewState
from metajudge.types import AnyVerdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says of a reviewable.

    Attributes:
        outcome: None with a verdict of one's own, which is compared with the machine's.
        verdict: by labels (``R1>R2=R3``), by the responses' own names, or a verdict.
        scores: corrected scores, ``CRITERION=NUMBER`` each.
        blind: whether the machine's result was hidden until the answer was chosen.
        bulk: whether it was given for several reviews at once.
    """

    outcome: str | None = None
    verdict: str | AnyVerdict | None = None
    scores: tuple[str, ...] = ()
    reason: str = ""
    blind: bool = False
    bulk: bool = False


class Reviewable(Protocol):
    """What every kind has."""

    @property
    def kind(self) -> Kind: ...

    @property
    def state(self) -> ReviewState: ...

    def blind_view(self, reviewer: str | None) -> Sheet:
        """Texts under labels, and how to answer."""

    def full_view(self, reviewer: str | None) -> Sheet:
        """The same with names, the machine's result and what people said."""

    def named(self, verdict: str) -> str:
        """A verdict written with labels, with the responses' names in their place; another one as it is."""

    def decide(self, reviewer: str, answer: Answer, *, decided_at: float) -> HumanDecision:
        """The decision record of an answer, for the store's queue.

        Raises:
            InputError: an answer that cannot be recorded; with what to write.
        """
