"""Detection of repeated writes, which add no row, from any process.

History is append-only. An assessment is skipped if the newest one of the judgment and panel has the same content:
the same request sent twice, a judgment without a verdict posted again, a retry that failed in the same way. An
annotation is skipped if the newest one of the assessment has the same content. A different one is appended, even if
it equals an older one: a policy that is used again counts again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypeVar

import orjson

from metajudge.store.annotations import FIELDS, annotated
from metajudge.store.rows import Subject
from metajudge.types import AgentResult, Assessment, Failure, TokenUsage


class Write(Protocol):
    """An assessment that is to be kept.

    Attributes:
        payload: the panel's own assessment as JSON, without derived fields.
        annotation: what is said of it beside, as JSON; None if nothing.
    """

    @property
    def key(self) -> str: ...
    @property
    def subject(self) -> Subject: ...
    @property
    def payload(self) -> str: ...
    @property
    def annotation(self) -> str | None: ...
    @property
    def assessment(self) -> Assessment: ...
    @property
    def completed(self) -> Assessment | None: ...


W = TypeVar("W", bound=Write)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest assessment of a subject, and its newest annotation.

    Attributes:
        payload: the assessment's, without its annotation.
        annotation: the newest annotation's payload; None without one.
    """

    assessment_id: int
    payload: str
    annotation: str | None

    def repeated_by(self, write: Write) -> bool:
        """Whether a write has the same result; costs, and who set the cut, are not compared."""
        if write.payload == self.payload or orjson.loads(write.payload) == orjson.loads(self.payload):
            return True
        return _content(write.assessment) == _content(annotated(self.payload, None))

    def says(self, write: Write) -> bool:
        """Whether a write of the same result adds no annotation."""
        if write.annotation is None:
            return True
        if self.annotation is None and not write.annotation.startswith('{"failure"'):
            return False  # it sets what was not set; a failure, which may differ in its message, comes first
        if write.annotation == self.annotation:
            return True
        return write.completed is None or same_annotation(write.completed, annotated(self.payload, self.annotation))


@dataclass(frozen=True, slots=True)
class NewRows(Generic[W]):
    """The rows that a group of writes adds, by their numbers; an annotation also names its assessment."""

    assessments: list[tuple[int, W]] = field(default_factory=list)
    annotations: list[tuple[int, int, W]] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """How many writes added a row."""
        noted = {of for _, of, _ in self.annotations}.difference(number for number, _ in self.assessments)
        return len(self.assessments) + len(noted)


def new_rows(
    writes: Iterable[W], known: Iterable[str], newest: Mapping[Subject, Newest], numbers: Iterator[int]
) -> NewRows[W]:
    """The rows to append, in the order of the writes.

    Args:
        known: which of their keys have a row. The first assessment under a key is appended whatever its content, since
            look-ups are by key.
        newest: about the subjects of the writes under these keys.
        numbers: for new rows, ascending.
    """
    rows: NewRows[W] = NewRows()
    latest, there = dict(newest), set(known)
    for write in writes:
        before = latest.get(write.subject)
        if before is None or write.key not in there or not before.repeated_by(write):
            number = next(numbers)
            before = Newest(number, write.payload, None)
            rows.assessments.append((number, write))
            there.add(write.key)
        if not before.says(write):
            rows.annotations.append((next(numbers), before.assessment_id, write))
            before = replace(before, annotation=write.annotation)
        latest[write.subject] = before
    return rows


def same_annotation(one: Assessment, other: Assessment) -> bool:
    """Whether two assessments of the same content have equal annotations; the other one may name no rule."""
    named = set(FIELDS) - {"failure", *(_RULE if other.decided_by is None else ())}
    same = all(getattr(one, name) == getattr(other, name) for name in named)
    return same and _kind(one.failure) == _kind(other.failure)


_RULE: Final[dict[str, Any]] = {"decided_by": None, "cut": None, "cut_from": None}
"""The name of the rule, which records of version 0.2 lack: the same rule gives the same decision on the same score."""
_FREE: Final[dict[str, Any]] = {"calls": 0, "cached_calls": 0, "cost_usd": 0.0, "usage": TokenUsage()}


def _content(assessment: Assessment) -> Assessment:
    """An assessment without costs and the rule; failures by kind only, as messages quote times and ids of requests."""
    changes = {
        "agents": tuple(_result(agent) for agent in assessment.agents),
        "summariser": None if assessment.summariser is None else _result(assessment.summariser),
        "failure": _kind(assessment.failure),
    }
    return assessment.model_copy(update=_FREE | _RULE | changes)


def _result(agent: AgentResult) -> AgentResult:
    changes = {
        "latency_s": 0.0,
        "failure": _kind(agent.failure),
        "opening": None if agent.opening is None else _result(agent.opening),
        "draws": tuple(_result(draw) for draw in agent.draws),
    }
    return agent.model_copy(update=_FREE | changes)


def _kind(failure: Failure | None) -> Failure | None:
    return None if failure is None else failure.model_copy(update={"message": ""})
