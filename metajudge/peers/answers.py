"""Models' answers to questions: a record each, failures included."""

from typing import Any, Literal

from pydantic import Field, model_validator

from metajudge.peers.ballots import Status
from metajudge.readers.questions import Name
from metajudge.types import Failure
from metajudge.types.frozen import Finite


class PeerAnswer(Finite):
    """One model's answer to one question, or why there is none.

    Attributes:
        text: may be empty (a model may answer nothing); None only where it failed.
        replied: False where the model could not be asked, so that asking again later may help.
        attempt, key, cost_usd, calls, meta: as for a :class:`~metajudge.peers.ballots.Ballot`.
    """

    version: Literal[1] = 1
    question_id: Name
    model: Name
    text: str | None = None
    status: Status = "ok"
    failure: Failure | None = None
    replied: bool = True
    attempt: int = Field(default=1, ge=1)
    key: str
    cost_usd: float | None = Field(default=None, ge=0)
    calls: int = Field(default=0, ge=0)
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> "PeerAnswer":
        if (self.text is None) != (self.status == "failed") or (self.failure is None) != (self.status == "ok"):
            raise ValueError("an answer has a text and status ok, or a failure and status failed")
        return self

    @property
    def place(self) -> tuple[str, str]:
        """What the answer is for: question and model."""
        return self.question_id, self.model
