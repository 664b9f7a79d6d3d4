"""Models' answers to questions: a record each, failures included."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from metajudge.errors import InputError
from metajudge.peers.ballots import Name, Status
from metajudge.readers.lines import Reject, Source, read_lines
from metajudge.readers.reasons import reason_of
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


def read_answers(path: Path) -> tuple[PeerAnswer, ...]:
    """Every attempt in a file that ``metajudge peers`` wrote.

    Raises:
        InputError: the file cannot be read, or a line is not what was written.
    """
    source = Source(path, str(path))
    found = []
    for line in read_lines(source):
        if isinstance(line, Reject):
            raise InputError(f"{line}: the file of answers is damaged; take the line out, or choose another --out")
        try:
            found.append(PeerAnswer.model_validate(line.data))
        except ValidationError as error:
            raise InputError(f"{path}:{line.number} is no answer of `metajudge peers`: {reason_of(error)}") from None
    return tuple(found)


def latest_by_key(attempts: Iterable[PeerAnswer]) -> dict[str, PeerAnswer]:
    """The last attempt under each key, one that succeeded before one that failed."""
    found: dict[str, PeerAnswer] = {}
    for one in attempts:
        if one.key not in found or found[one.key].status == "failed":
            found[one.key] = one
    return found
