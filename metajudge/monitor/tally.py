"""Decisions under a promise, one by one: what its report needs of them, without keeping any. Pure."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.monitor.drift import Identities, Seen, SeenColumns, Streams, question_code
from metajudge.monitor.sampling import precision_estimate
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.corrected_rates import Predicted


@dataclass(frozen=True, slots=True)
class Audit:
    """A review by people of a judgment that was drawn with a known probability.

    Attributes:
        opened_at, decided_at: seconds since the epoch; ``decided_at`` is None while people have not decided.
        inclusion: probability with which the judgment was drawn, in (0, 1].
        right: what people say of the verdict; None where they are undecided or cannot tell.
    """

    opened_at: float
    inclusion: float = 1.0
    decided_at: float | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One judgment decided under a promise.

    Attributes:
        seen: judge, category, question, time, signals and identity.
        probability: calibrated; None without a calibration.
        audit: None where it was not drawn.
        sampled: whether everything kept had a chance to be drawn when it was decided; where it had none, reviews are of
            doubtful judgments alone, and neither the test nor an estimate may use them.
    """

    judgment_id: str
    content: str
    seen: Seen
    kept: bool = True
    probability: float | None = None
    audit: Audit | None = None
    sampled: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class DecisionColumns:
    """Many decisions under a promise, in the order in which they were made, as columns.

    Attributes:
        ids: (id, digest) of each judgment.
        kept, sampled: [n] see :class:`Decision`.
        probability: [n] NaN without a calibration.
        audits: place -> audit of those that were drawn, ascending.
    """

    ids: Sequence[tuple[str, str]]
    seen: SeenColumns
    kept: Bools
    sampled: Bools
    probability: Floats
    audits: Mapping[int, Audit]

    def each(self) -> Iterator[Decision]:
        """The same, one by one."""
        flags = zip(self.kept.tolist(), self.sampled.tolist(), self.probability.tolist(), strict=True)
        rows = zip(self.ids, self.seen.each(), flags, strict=True)
        for place, ((name, content), seen, (kept, sampled, probability)) in enumerate(rows):
            known = None if math.isnan(probability) else probability
            yield Decision(name, content, seen, kept, known, self.audits.get(place), sampled)


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
        self.streams.add(one.seen)
        self.identities.add(one.seen)
        self._decisions += 1
        if not one.kept:
            return
        self._kept += 1
        if not one.sampled:
            self._unsampled += 1
            return
        if one.audit is not None:
            self._audits.setdefault(one.seen.question, []).append(one.audit)
        if one.probability is None:
            return
        question = question_code(one.seen.question)
        if one.audit is not None and one.audit.right is not None:
            self._told.append((one.audit.right, one.probability, one.audit.inclusion, question))
        else:
            self._probabilities.append(one.probability)
            self._questions.append(question)

    def extend(self, many: DecisionColumns) -> None:
        """Takes the next decisions."""
        self.streams.extend(many.seen)
        self.identities.extend(many.seen)
        self._decisions += len(many.kept)
        self._kept += int(many.kept.sum())
        self._unsampled += int((many.kept & ~many.sampled).sum())
        drawable = many.kept & many.sampled
        plain = drawable & ~np.isnan(many.probability)
        questions = many.seen.questions
        for place, audit in many.audits.items():
            if not drawable[place]:
                continue
            question = questions[int(many.seen.question[place])]
            self._audits.setdefault(question, []).append(audit)
            if audit.right is not None and plain[place]:
                plain[place] = False
                told = audit.right, float(many.probability[place]), audit.inclusion, question_code(question)
                self._told.append(told)
        codes = np.array([question_code(one) for one in questions], dtype=np.uint64)
        self._probabilities.frombytes(many.probability[plain].tobytes())
        self._questions.frombytes(codes[many.seen.question[plain]].tobytes())

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
