"""Detection of repeated writes, which add no row, from any process.

History is append-only. An assessment is skipped if the newest one of the judgment and panel has the same content:
the same request sent twice, a judgment without a verdict posted again, a retry that failed in the same way. An
annotation is skipped if the newest one of the assessment has the same content. A different one is appended, even if
it equals an older one: a policy that is used again counts again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from metajudge.store.annotations import FIELDS, annotated
from metajudge.store.rows import AssessmentWrite
from metajudge.types import AgentResult, Assessment, Failure, TokenUsage


class Subject(NamedTuple):
    """The judgment and panel of an assessment."""

    judgment_digest: str
    panel_digest: str


def subject_of(assessment: Assessment) -> Subject:
    return Subject(assessment.judgment_digest, assessment.panel_digest)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest assessment of a subject, without and with its newest annotation."""

    assessment_id: int
    found: Assessment
    completed: Assessment

    @classmethod
    def read(cls, assessment_id: int, payload: str, annotation: str | None) -> "Newest":
        found = annotated(payload, None)
        return cls(assessment_id, found, found if annotation is None else annotated(payload, annotation))


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows that a group of writes adds, by their numbers; an annotation also names its assessment.

    Attributes:
        repeats: writes that added no assessment.
    """

    assessments: list[tuple[int, AssessmentWrite]] = field(default_factory=list)
    annotations: list[tuple[int, int, AssessmentWrite]] = field(default_factory=list)
    repeats: list[AssessmentWrite] = field(default_factory=list)


def new_rows(
    writes: Iterable[AssessmentWrite], known: Iterable[str], newest: Mapping[Subject, Newest], numbers: Iterator[int]
) -> NewRows:
    """The rows to append, in the order of the writes.

    Args:
        known: which of their keys have a row. The first assessment under a key is appended whatever its content, since
            look-ups are by key.
        newest: about the subjects of the writes under these keys.
        numbers: for new rows, ascending.
    """
    rows, latest, there = NewRows(), dict(newest), set(known)
    for write in writes:
        subject = subject_of(write.assessment)
        before = latest.get(subject)
        if before is None or write.key not in there or not same_result(write.assessment, before.found):
            before = Newest(next(numbers), write.assessment, write.assessment)
            rows.assessments.append((before.assessment_id, write))
            there.add(write.key)
        else:
            rows.repeats.append(write)
        if write.completed is not None and not same_annotation(write.completed, before.completed):
            rows.annotations.append((next(numbers), before.assessment_id, write))
            before = replace(before, completed=write.completed)
        latest[subject] = before
    return rows


def same_result(one: Assessment, other: Assessment) -> bool:
    """Whether two panels' assessments have the same content; costs are not compared."""
    return _content(one) == _content(other)


def same_annotation(one: Assessment, other: Assessment) -> bool:
    """Whether two assessments of the same content have equal annotations."""
    same = all(getattr(one, name) == getattr(other, name) for name in FIELDS if name != "failure")
    return same and _kind(one.failure) == _kind(other.failure)


_FREE: Final[dict[str, Any]] = {"calls": 0, "cached_calls": 0, "cost_usd": 0.0, "usage": TokenUsage()}


def _content(assessment: Assessment) -> Assessment:
    """An assessment without costs; failures by kind only, as messages quote times and ids of requests."""
    changes = {
        "agents": tuple(_result(agent) for agent in assessment.agents),
        "summariser": None if assessment.summariser is None else _result(assessment.summariser),
        "failure": _kind(assessment.failure),
    }
    return assessment.model_copy(update=_FREE | changes)


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
