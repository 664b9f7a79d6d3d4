"""What a system must be able to do, and what passes between it and us."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from metajudge.errors import MetajudgeError
from metajudge.readers.own_notes import KEY, NAME
from metajudge.types import Assessment, digest

__all__ = ["NAME", "Found", "Note", "System", "SystemCallError", "Wrote", "answers_of", "note_of", "utc"]


class SystemCallError(MetajudgeError):
    """A system did not answer as it should.

    Attributes:
        status: of its answer; None where there was none. 404 says that what a note is about is not there.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Wrote(StrEnum):
    """What became of a note."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    """It was there with the same content."""


@dataclass(frozen=True, slots=True)
class Note:
    """What we say of one verdict, for a person who looks at it where it lives.

    Attributes:
        key: the same for every assessment of the same judgment by any panel: a later one replaces an earlier one.
        target: the trace, span or record that the verdict is about. It is the id of the judgment's item, up to the
            first slash: readers put the name of an assessment behind it where a target has several.
        about: the verdict: the judgment's id.
        name: under which it is shown.
        label: ``keep``, ``ask`` or ``discard``.
        score: P(right) in [0, 1] where it is calibrated, else the score from 1 to 5; None without either.
        explanation: the reason in a sentence, with the address of the assessment where one is given.
        by_models: whether models were asked; without, it is the result of code.
        details: what else is known, plain data.
    """

    key: str
    target: str
    about: str
    name: str
    label: str
    score: float | None
    explanation: str
    by_models: bool
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """The details with the key."""
        return {KEY: self.key, "judgment_id": self.about, **self.details}

    @property
    def text_metadata(self) -> dict[str, str]:
        """The metadata for a system that keeps texts."""
        return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in self.metadata.items()}

    @property
    def digest(self) -> str:
        """Of everything that it says."""
        return digest([self.target, self.name, self.label, self.score, self.explanation, self.metadata])


def note_of(assessment: Assessment, *, name: str = NAME, link: str | None = None) -> Note:
    """An assessment as a note.

    Args:
        link: the address of an assessment, with ``{judgment_id}`` in it.
    """
    said = assessment.do
    score = assessment.probability if assessment.probability is not None else assessment.final_score
    where = "" if link is None else f" {link.replace('{judgment_id}', assessment.judgment_id)}"
    details = {
        "judge": assessment.judge,
        "action": said.action,
        "decided_by": said.source,
        "status": assessment.status.value,
        "score": assessment.final_score,
        "probability": assessment.probability,
        "calibrated": assessment.calibrated,
        "threshold": assessment.threshold,
        "strategy": assessment.strategy,
        "agents": ", ".join(one.model for one in assessment.agents) or None,
        "panel_digest": assessment.panel_digest,
        "metajudge_version": assessment.metajudge_version,
    }
    return Note(
        key=digest([NAME, assessment.item_id, assessment.judgment_id, name]),
        target=assessment.item_id.partition("/")[0],
        about=assessment.judgment_id,
        name=name,
        label=said.action,
        score=None if score is None else round(score, 4),
        explanation=f"verdict of {assessment.judge}: {said.action}: {said.reason}.{where}",
        by_models=bool(assessment.agents),
        details={detail: value for detail, value in details.items() if value is not None},
    )


@contextmanager
def answers_of(address: str) -> Iterator[None]:
    """Makes a failure of the system out of an answer of another shape than its API documents.

    Raises:
        SystemCallError: as its cause says.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        what = f"without {error}" if isinstance(error, KeyError) else f"of another shape ({error})"
        raise SystemCallError(
            f"{address} gave an answer {what}: is it the system, in a version that is known?"
        ) from error


@dataclass(frozen=True, slots=True)
class Found:
    """One record of a system, as its own export has it.

    Attributes:
        part: which file of the pulled folder it belongs to, such as ``spans``.
        at: when it began or changed, as far as the system says; a later pull starts from the newest. None for notes of
            ours, which come after what they are about.
        record: plain data that the reader of the system's export takes.
    """

    part: str
    at: datetime | None
    record: Mapping[str, Any]


def utc(given: str | None) -> datetime | None:
    """A system's time in UTC, which one without a zone is taken to be; None where it gives none.

    Raises:
        ValueError: no time.
    """
    if given is None:
        return None
    found = datetime.fromisoformat(given)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


class System(Protocol):
    """One system at one address."""

    @property
    def address(self) -> str:
        """Where it is, without keys."""
        ...

    @property
    def source(self) -> str:
        """The address with the project that is pulled."""
        ...

    def push(self, note: Note) -> Wrote:
        """Puts a note beside its verdict; a note of the same key is replaced.

        Raises:
            SystemCallError: it was not taken.
        """
        ...

    def pull(self, since: datetime | None) -> Iterator[Found]:
        """Everything that began or changed since then; None for everything.

        Raises:
            SystemCallError: it could not be read to the end.
        """
        ...

    def identity(self, part: str, record: Mapping[str, Any]) -> str:
        """What a record of a part is known by: a later record of the same identity replaces the earlier one."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...
