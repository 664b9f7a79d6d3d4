"""What became of a promise: whether it holds, how sure that is, what drifted and what to do. Pure."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from metajudge.calibration.domain import outside_words
from metajudge.monitor.change import Held, expected_delay, hold
from metajudge.monitor.drift import Audit, Decision, Drifts, Identities, NewIdentity, Streams, question_code
from metajudge.monitor.sampling import precision_estimate
from metajudge.stats.corrected_rates import Predicted
from metajudge.types import GuaranteedThreshold, digest

DROPS: Final = (0.05, 0.1)
"""Expected delays are stated for the precision falling by these below the target."""

ALARM: Final = (
    "An alarm says that the precision was below the target over some stretch, not that it is below it on average: the "
    "bound on false alarms holds where every stretch is at or above the target, and a precision that swings about it "
    "raises the alarm almost surely."
)
"""What an alarm means; docs/monitoring.md has a measured example."""


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

    @classmethod
    def of(cls, audits: Sequence[Audit], least: float) -> "AuditedQuestion":
        counted = [one for one in audits if one.decided_at is None or one.right is not None]
        times = [one.decided_at for one in audits if one.decided_at is not None]
        errors = sum(least / one.inclusion for one in counted if one.right is False)
        kept = sum(least / one.inclusion for one in counted)
        return cls(len(counted), kept, errors, max(times, default=None), len(times) == len(audits))


class Tally:
    """What a report needs of the decisions under a promise, which it takes in the order in which they were made.

    Memory: 16 bytes a kept judgment that may be drawn, and those of :class:`~metajudge.monitor.drift.Streams`.

    Args:
        keep: whether to keep the decisions themselves, from which judgments are drawn to label.

    Attributes:
        streams: signals by judge and category.
        decisions: in the order in which they were made; empty unless they are kept.
    """

    def __init__(self, decisions: Iterable[Decision] = (), *, keep: bool = False) -> None:
        self.streams = Streams()
        self.identities = Identities()
        self.decisions: list[Decision] = []
        self._keep = keep
        self._audits: dict[str, list[Audit]] = {}
        self._decided = self._kept = self._unsampled = 0
        self._told: list[tuple[bool, float, float, int]] = []
        self._probabilities, self._questions = array("d"), array("Q")
        for one in decisions:
            self.add(one)

    def add(self, one: Decision) -> None:
        """Takes the next decision."""
        self.streams.add(one)
        self.identities.add(one)
        if self._keep:
            self.decisions.append(one)
        self._decided += 1
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

    def audited(self) -> tuple[list[AuditedQuestion], Counts]:
        """One observation a question, in the order of the draw and up to the last with a decision; and counts.

        A judgment drawn with probability q counts with c / q, where c is the least of the design: the weighted mean is
        that of all kept judgments, and no weight is above 1.
        """
        drawn = [one for audits in self._audits.values() for one in audits]
        least = min((one.inclusion for one in drawn), default=1.0)
        ordered = sorted(self._audits.values(), key=lambda audits: min(one.opened_at for one in audits))
        found = [AuditedQuestion.of(audits, least) for audits in ordered]
        last = max((place for place, one in enumerate(found, 1) if one.decided_at is not None), default=0)
        waiting = sum(not one.decided for one in found)
        undecided = sum(one.decided_at is not None and one.right is None for one in drawn)
        counts = Counts(self._decided, self._kept, len(drawn), waiting, undecided, self._unsampled)
        return [one for one in found[:last] if one.judgments], counts

    def predicted(self, confidence: float) -> Predicted | None:
        """The precision by labels and probabilities together; None with fewer than two labels."""
        if len(self._told) < 2:
            return None
        right, probabilities, inclusion, questions = zip(*self._told, strict=True)
        codes = array("Q", questions)
        codes.extend(self._questions)
        return precision_estimate(right, probabilities, inclusion, self._probabilities, codes, confidence=confidence)

    def candidates(self) -> list[Decision]:
        """The decisions with a probability that were not drawn for people yet, each content once (``keep``)."""
        drawn = {one.content for one in self.decisions if one.audit is not None}
        found = (one for one in self.decisions if one.probability is not None and one.content not in drawn)
        return list({one.content: one for one in found}.values())

    def labelled(self) -> list[tuple[str, str | None]]:
        """Judge and category of every decision that people decided clearly (``keep``)."""
        clear = (one for one in self.decisions if one.audit is not None and one.audit.right is not None)
        return [(one.judge, one.category) for one in clear]


class State(StrEnum):
    """What is known about a promise."""

    HOLDS = "holds so far"
    """No alarm, after as many audits as a drop by .10 is expected to take."""
    BROKEN = "broken"
    """The alarm was raised: the precision is below the target, except with probability delta."""
    TOO_LITTLE = "too little data"
    """No alarm, and fewer audits than a drop by .10 is expected to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A promise.

    Attributes:
        promise_id: see :func:`promise_id`.
        calibration: its digest; None for a file of labelled decisions.
        category: of the items it speaks of; None for all.
        policies: digests of the policies that decided.
        sentence: the promise in words, with its scope; None for a file of labelled decisions.
        outside: reason -> judgments vetted with the calibration that no guarantee of it covers.
    """

    promise_id: str
    target: float
    delta: float
    threshold: float | None = None
    judges: tuple[str, ...] = ()
    category: str | None = None
    calibration: str | None = None
    policies: tuple[str, ...] = ()
    sentence: str | None = None
    outside: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(Promised):
    """A promise with what was decided under it.

    Attributes:
        tally: of the decisions.
        known: field -> values of the fit's identity; see :meth:`~metajudge.monitor.drift.Identities.new`.
        most: judgments of one question that it covers at most; None where the record does not say.
        broken_since: time of a recorded alarm, in seconds since the epoch; None without one.
    """

    tally: Tally
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    most: int | None = None
    broken_since: float | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """How soon a drop is expected to be found.

    Attributes:
        to: precision after the drop from the target.
        audits: mean number of audited questions until the alarm; None where it is above 20,000.
    """

    to: float
    audits: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseReport(Promised):
    """A promise and what later audits say of it.

    Attributes:
        held: the test and the precision with its confidence sequence.
        most: judgments that a question may keep, as the test takes it.
        alarm_at: when the alarm was recorded or, before that, the last decision that it rests on; in seconds since the
            epoch, None without an alarm.
        predicted: precision by labels and probabilities together; None with fewer than two labels.
    """

    state: State
    counts: Counts
    held: Held
    most: float
    alarm_at: float | None
    predicted: Predicted | None
    delays: tuple[Delay, ...]
    drift: Drifts
    identities: tuple[NewIdentity, ...]

    @property
    def outside_line(self) -> str | None:
        """How many judgments the guarantee does not cover, and why; None where all are covered."""
        if not self.outside:
            return None
        why = ", ".join(f"{count} {outside_words(reason)}" for reason, count in sorted(self.outside.items()))
        number, covered = sum(self.outside.values()), self.counts.decisions
        return f"{number} judgments vetted with this calibration, beside the {covered} decided under the promise: {why}"

    @property
    def is_broken(self) -> bool:
        return self.state is State.BROKEN

    def advice(self) -> tuple[str, ...]:
        """What to do, a sentence each."""
        found = []
        if self.is_broken:
            found.append(ALARM)
            found.append(
                "The promise is broken: judgments decided from now on carry no guarantee. Fit and set a threshold "
                "again on recent labels (`metajudge calibrate fit --reviews`, `metajudge calibrate threshold`); what "
                "was kept since the drop needs another look."
            )
        if self.state is State.TOO_LITTLE:
            wanted = self.delays[-1] if self.delays else None
            number = "more audits" if wanted is None or wanted.audits is None else f"about {wanted.audits:.0f} audits"
            found.append(
                f"A drop to {100 * wanted.to if wanted else 0:g} % is expected to show after {number}; there are "
                f"{self.held.audits}."
            )
        if self.counts.unsampled and self.counts.drawn:
            found.append(
                f"{self.counts.unsampled} of {self.counts.kept} kept judgments were decided without --review-sample: "
                "nothing here speaks of them."
            )
        if self.counts.drawn == 0:
            found.append("No kept judgment was drawn for people: vet with --policy NAME --review-sample FRACTION.")
        if self.counts.waiting:
            found.append(
                f"{self.counts.waiting} drawn questions wait for people (`metajudge review next`): the test counts "
                "them as right until then, and the precision is that of the others."
            )
        if self.drift.found and not self.is_broken:
            found.append("Signals drifted: label some of the judgments they concern (`metajudge monitor --next 50`).")
        if self.identities:
            found.append(
                "Something new vets or judges: the promise does not speak of it until it is calibrated with it."
            )
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain data, the advice included."""
        return {**asdict(self), "state": self.state.value, "advice": list(self.advice())}


def promise_id(calibration: str, stamp: GuaranteedThreshold) -> str:
    """16 hex digits: one promise a calibration, threshold, target, set of judges and category."""
    what = [stamp.threshold, stamp.target, sorted(stamp.judges), stamp.category]
    return digest(["promise", calibration, *what])[:16]


def report_on(
    watched: Watched, *, level: float = 0.05, confidence: float = 0.95, most: int | None = None
) -> PromiseReport:
    """Holds a promise against its audits and looks for drift.

    Args:
        level: false discovery rate of the drift findings, in (0, 1).
        confidence: of the intervals, in (0, 1).
        most: the largest number of judgments a question may keep; None for that of the promise, else the number of
            judges, and at least the largest there was.

    Raises:
        InputError: a question keeps more judgments than ``most``.
    """
    tally = watched.tally
    questions, counts = tally.audited()
    errors, kept, decided = ([getattr(one, name) for one in questions] for name in ("errors", "kept", "decided"))
    bound = float(most or max(watched.most or len(watched.judges), *(one.judgments for one in questions), 1))
    tested = {"target": watched.target, "delta": watched.delta}
    held = hold(errors, kept, decided, **tested, most=bound, confidence=confidence)
    alarm_at = watched.broken_since
    if alarm_at is None and held.alarm is not None:
        alarm_at = max(one.decided_at for one in questions[: held.alarm] if one.decided_at is not None)
    fallen = [round(watched.target - drop, 6) for drop in DROPS if watched.target - drop > 0]
    typical = _typical(kept)
    delays = tuple(
        Delay(to, expected_delay(watched.target, to, watched.delta, kept=typical, most=bound)) for to in fallen
    )
    return PromiseReport(
        **{name: getattr(watched, name) for name in Promised.__dataclass_fields__},
        state=_state(alarm_at, held, delays),
        counts=counts,
        held=held,
        most=bound,
        alarm_at=alarm_at,
        predicted=tally.predicted(confidence),
        delays=delays,
        drift=tally.streams.drifts(level),
        identities=tally.identities.new(watched.known),
    )


def reports_on(watched: Iterable[Watched], **asked: Any) -> list[PromiseReport]:
    """Each promise's report, broken ones first, then by most audits; arguments as for :func:`report_on`."""
    found = (report_on(one, **asked) for one in watched)
    return sorted(found, key=lambda one: (not one.is_broken, -one.held.audits, one.promise_id))


def _typical(kept: Sequence[float]) -> tuple[float, ...]:
    """A few numbers distributed as those given; a single 1 where there are none."""
    ordered = sorted(kept)
    size = min(5, len(ordered))
    return tuple(round(ordered[(2 * k + 1) * len(ordered) // (2 * size)], 2) for k in range(size)) or (1.0,)


def _state(alarm_at: float | None, held: Held, delays: Sequence[Delay]) -> State:
    if alarm_at is not None:
        return State.BROKEN
    enough = delays[-1].audits if delays else None
    return State.HOLDS if enough is not None and held.audits >= enough else State.TOO_LITTLE
