"""Which assessments tell nothing new and so leave no row, whichever process saves them.

History is append-only, and of the rows about a judgment by a panel the newest one counts
(:mod:`metajudge.store.newest`). So an assessment is appended whenever the newest row says something else, even where an
older row says the same: a policy that is used again counts again. It is left out where the newest row says it already:
the same request sent twice, a judgment without a verdict posted again, a retry that failed in the same way.

A result without a probability or a decision is also left out while the newest row was made from the same result:
vetting without a policy decides nothing, and takes no decision back. A new result, such as a retry that succeeded, is
appended, and stands without a decision until a policy makes one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from metajudge.store.rows import AssessmentWrite
from metajudge.types import AgentResult, Assessment, Failure, TokenUsage


class Subject(NamedTuple):
    """What a row of ``assessments`` is about."""

    judgment_digest: str
    panel_digest: str


def subject_of(assessment: Assessment) -> Subject:
    return Subject(assessment.judgment_digest, assessment.panel_digest)


@dataclass(frozen=True, slots=True)
class Sifted:
    """A group of assessments: those to be appended, in their order, and those that tell nothing new."""

    news: list[AssessmentWrite]
    repeats: list[AssessmentWrite]


def sifted(writes: Iterable[AssessmentWrite], known: Iterable[str], newest: Mapping[Subject, Assessment]) -> Sifted:
    """Tells the assessments of a group apart.

    Args:
        known: which of their keys have a row. The first assessment under a key is appended whatever it says, since
            look-ups are by key.
        newest: the newest rows about what the writes under these keys are about.
    """
    found, latest, there = Sifted([], []), dict(newest), set(known)
    for write in writes:
        subject = subject_of(write.assessment)
        before = latest.get(subject)
        if write.key in there and before is not None and adds_nothing(write.assessment, before):
            found.repeats.append(write)
        else:
            found.news.append(write)
            there.add(write.key)
            latest[subject] = write.assessment
    return found


def adds_nothing(assessment: Assessment, newest: Assessment) -> bool:
    """Whether the newest row of a judgment and panel says what an assessment says; what it cost is not compared."""
    if assessment.calibration is None and assessment.decision is None:
        newest = _result_behind(newest, assessment)
    return _content(assessment) == _content(newest)


def _result_behind(completed: Assessment, result: Assessment) -> Assessment:
    """What a policy and a calibration were applied to, judged by its scores and failures.

    A guarantee replaces outcome and reason, so these are taken from the other result.
    """
    changes: dict[str, Any] = {"decision": None}
    if completed.calibration is not None:
        changes |= {"probability": None, "probability_marks": (), "calibrated": False, "calibration": None}
    if completed.guarantee is not None:
        changes |= {"guarantee": None} | {name: getattr(result, name) for name in ("status", "accepted", "failure")}
    return completed.model_copy(update=changes)


_FREE: Final[dict[str, Any]] = {"calls": 0, "cached_calls": 0, "cost_usd": 0.0, "usage": TokenUsage()}


def _content(assessment: Assessment) -> Assessment:
    """An assessment without what it cost; of failures the kind, as messages quote times and ids of requests."""
    changes = {
        "agents": tuple(_said(agent) for agent in assessment.agents),
        "summariser": None if assessment.summariser is None else _said(assessment.summariser),
        "failure": _kind(assessment.failure),
    }
    return assessment.model_copy(update=_FREE | changes)


def _said(agent: AgentResult) -> AgentResult:
    changes = {
        "latency_s": 0.0,
        "failure": _kind(agent.failure),
        "opening": None if agent.opening is None else _said(agent.opening),
        "draws": tuple(_said(draw) for draw in agent.draws),
    }
    return agent.model_copy(update=_FREE | changes)


def _kind(failure: Failure | None) -> Failure | None:
    return None if failure is None else failure.model_copy(update={"message": ""})
