"""Decisions under a promise, one by one: what its report needs of them, without keeping any. Pure."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metajudge.monitor.drift import Audit, Decision, Identities, Streams, question_code
from metajudge.monitor.sampling import precision_estimate
from metajudge.stats.corrected_rates import Predicted


@dataclass(frozen=True, slots=True)
class Counts:
    """Judgments decided under the promise, and what became of the drawn ones.

    Attributes:
        waiting: questions that wait for a person's decision.
        undecided: kept judgments on which people cannot tell or disagree evenly; they are left out.
        unsampled: kept judgments decided without a review sample; nothing is known about them.
    """

    decisions: int
    kept: int
    drawn: int
    waiting: int
    undecided: int
    unsampled: int


@dataclass(frozen=True, slots=True)
class AuditedQuestion:
    """A question's audited judgments.

    Attributes:
        judgments: their number, those aside on which people cannot tell.
        kept, errors: each judgment counts with the least inclusion probability of the design over its own; one that
            waits for a person is no error.
        decided_at: when the last one was decided, in seconds since the epoch; None where none is.
        decided: whether all are.
    """

    judgments: int
    kept: float
    errors: float
    decided_at: float | None
    decided: bool


@dataclass(frozen=True, slots=True)
class Audited:
    """Audited questions in the order in which they were drawn, up to the last with a decision."""

    questions: tuple[AuditedQuestion, ...]
    counts: Counts


class Tally:
    """What a report needs of the decisions under a promise, which it takes in the order in which they were made.

    Memory: 16 bytes a kept judgment that may be drawn, and those of :class:`~metajudge.monitor.drift.Streams`.

    Attributes:
        streams: signals by judge and category.
    """

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self.streams = Streams()
        self.identities = Identities()
        self._audits: dict[str, list[Audit]] = {}
        self._decisions = self._kept = self._unsampled = 0
        self._told: list[tuple[bool, float, float, int]] = []
        self._probabilities, self._questions = array("d"), array("Q")
        for one in decisions:
            self.add(one)

    def add(self, one: Decision) -> None:
        """Takes the next decision."""
        self.streams.add(one)
        self.identities.add(one)
        self._decisions += 1
        if not one.kept:
            return
        self._kept += 1
        if not one.sampled:
            self._unsampled += 1
            return
        if one.audit is not None:
            self._audits.setdefault(one.question, []).append(one.audit)
        if one.probability is None:
            return
        question = question_code(one.question)
        if one.audit is not None and one.audit.right is not None:
            self._told.append((one.audit.right, one.probability, one.audit.inclusion, question))
        else:
            self._probabilities.append(one.probability)
            self._questions.append(question)

    def audited(self) -> Audited:
        """One observation a question: its kept judgments that were drawn.

        A judgment drawn with probability q counts with c / q, where c is the least of the design: the weighted mean is
        that of all kept judgments, and no weight is above 1.
        """
        least = min((one.inclusion for audits in self._audits.values() for one in audits), default=1.0)
        ordered = sorted(self._audits.values(), key=lambda audits: min(one.opened_at for one in audits))
        found = [_audited(audits, least) for audits in ordered]
        last = max((place for place, one in enumerate(found, 1) if one.decided_at is not None), default=0)
        drawn = [one for audits in ordered for one in audits]
        counts = Counts(
            decisions=self._decisions,
            kept=self._kept,
            drawn=len(drawn),
            waiting=sum(not one.decided for one in found),
            undecided=sum(one.decided_at is not None and one.right is None for one in drawn),
            unsampled=self._unsampled,
        )
        return Audited(tuple(one for one in found[:last] if one.judgments), counts)

    def predicted(self, confidence: float) -> Predicted | None:
        """The precision by labels and probabilities together; None with fewer than two labels."""
        if len(self._told) < 2:
            return None
        right, probabilities, inclusion, questions = zip(*self._told, strict=True)
        codes = array("Q", questions)
        codes.extend(self._questions)
        return precision_estimate(right, probabilities, inclusion, self._probabilities, codes, confidence=confidence)


def _audited(audits: Sequence[Audit], least: float) -> AuditedQuestion:
    counted = [one for one in audits if one.decided_at is None or one.right is not None]
    times = [one.decided_at for one in audits if one.decided_at is not None]
    return AuditedQuestion(
        judgments=len(counted),
        kept=sum(least / one.inclusion for one in counted),
        errors=sum(least / one.inclusion for one in counted if one.right is False),
        decided_at=max(times, default=None),
        decided=len(times) == len(audits),
    )
