"""The ledger of looks: how much of delta every test of a threshold has spent, for ever.

A guaranteed threshold fails with probability at most ``delta`` where its test looks at the labels once. Whoever adds
labels after an abstention and tests again has several chances to pass. The ledger therefore divides ``delta`` over all
looks that will ever be made: look j is tested at the level ``delta * share(j)``, and the shares sum to at most 1. By
the union bound the chance that any promise of the ledger is false is then at most ``delta``, whatever the number of
looks and however the tests depend on each other, where the number of labels of a look does not depend on their
outcomes. Where it does (one follows the advice after an abstention), an e-process is exact (schedule ``anytime``); for
the others the chance was measured by simulation (`docs/calibration.md`).

Every test that could have led to a promise spends: on grown data, with another target, another procedure, another fit
or corrected labels. Only the very same look (data, scores, target, delta and settings) spends nothing: its stored
outcome is returned. Promises about different judges are different promises, each with a ``delta`` of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from pydantic import Field, model_validator

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import text_digest
from metajudge.types.frozen import Frozen

Relation: TypeAlias = Literal["first", "same", "rescored", "grown", "other", "fewer", "changed"]
"""A look's labels against those of the looks before it: none before; the same; the same under other scores; further
questions; none of the earlier questions; some of them missing; the labels of a question differ."""

ScheduleName: TypeAlias = Literal["declining", "even", "anytime"]

FIRST_SHARE = 0.75
"""Share of delta that the first look gets under the schedule ``declining``."""

Outcome = TypeVar("Outcome")


class Schedule(Frozen):
    """How delta is divided over looks; declared at the first look of a ledger and not changed after.

    Attributes:
        name: ``declining`` gives look 1 the share ``first`` and look j of 2 or more ``(1 - first) / (j (j - 1))``:
            together 1 over all j. ``even`` gives each of ``looks`` looks the same share. ``anytime`` divides delta like
            ``declining``, but over tests and not over looks: one test is an e-process, which may be read after any
            label (Ramdas, Grunwald, Vovk, Shafer, "Game-Theoretic Statistics and Safe Anytime-Valid Inference", 2023).
        first: share of the first look, in (0, 1]; not used by ``even``.
        looks: of ``even``: how many looks there may be.
    """

    name: ScheduleName = "declining"
    first: float = Field(default=FIRST_SHARE, gt=0, le=1)
    looks: int | None = Field(default=None, ge=1, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _check(self) -> "Schedule":
        if (self.name == "even") != (self.looks is not None):
            raise InputError("the schedule `even` needs the number of looks, and only this schedule takes one")
        return self

    def share(self, number: int) -> float:
        """The share of delta that look ``number`` (from 1) spends; 0 where the schedule has no such look."""
        if number < 1:
            raise InputError(f"looks are counted from 1, not from {number}")
        if self.looks is not None:
            return 1 / self.looks if number <= self.looks else 0.0
        return self.first if number == 1 else (1 - self.first) / (number * (number - 1))


class Look(Frozen):
    """One test of a threshold.

    Attributes:
        number: of this look within its population, from 1.
        judges: the population: whose judgments, together; empty for all of the calibration's.
        data: digest of questions, labels and scores.
        settings: digest of everything else that the test depends on.
        relation: of its labels to those before.
        questions: labelled questions.
        target: precision tested for.
        delta: of the promise.
        level: what the look spent of delta.
        outcome: whether a threshold passed.
        result: the result in full, as plain data.
        time: when, as the caller says; None where it does not.
    """

    number: int = Field(ge=1)
    judges: tuple[str, ...] = ()
    data: str
    settings: str
    relation: Relation
    questions: int
    target: float
    delta: float
    level: float
    outcome: Literal["guarantee", "abstention"]
    result: dict[str, Any]
    time: str | None = None

    def line(self) -> str:
        """The look in one line."""
        return (
            f"look {self.number}{f' at {self.time}' if self.time else ''}: {self.questions} questions "
            f"({_MEANINGS[self.relation]}), target {self.target:g}, level {self.level:.4g} of delta {self.delta:g}: "
            f"{self._passed if self.outcome == 'guarantee' else 'abstained'}"
        )

    @property
    def _passed(self) -> str:
        """That it passed, and at which target where it was a lower one."""
        reached = self.result.get("target", self.target)
        return "passed" if reached == self.target else f"passed at {reached:g}"


_MEANINGS: Mapping[Relation, str] = {
    "first": "the first ones",
    "same": "the same labels",
    "rescored": "the same labels under other scores",
    "grown": "with further questions",
    "other": "none of the earlier ones",
    "fewer": "some earlier questions are missing",
    "changed": "labels of earlier questions changed",
}


class SeenQuestion(NamedTuple):
    """A question that was looked at.

    Attributes:
        first: the look that saw it first.
        labels: digest of its labels.
        together: number shared by questions that were looked at together; a later look has all of these or none.
    """

    first: int
    labels: str
    together: int


class Population(Frozen):
    """What was looked at for one set of judges.

    Attributes:
        judges: empty for all of the calibration's.
        seen: by the digest of the question.
    """

    judges: tuple[str, ...] = ()
    seen: dict[str, SeenQuestion]


class Ledger(Frozen):
    """All looks, as a calibration file keeps them."""

    schedule: Schedule = Schedule()
    entries: tuple[Look, ...] = ()
    populations: tuple[Population, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Ledger":
        """A file that was cut or edited must not hide a look."""
        for judges in {one.judges for one in self.entries}:
            numbers = [one.number for one in self.entries if one.judges == judges]
            if numbers != list(range(1, len(numbers) + 1)):
                raise ValueError("a look is missing in the ledger")
        return self


@dataclass(frozen=True, slots=True)
class Sample:
    """Labelled judgments as the ledger knows them.

    Attributes:
        data: digest of questions, labels and scores.
        contents: digest of a question -> digest of its labels.
        names: digest of a question -> the question.
    """

    data: str
    contents: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def of(
        cls, scores: Sequence[float] | Floats, correct: Sequence[bool] | Bools, questions: Sequence[str]
    ) -> "Sample":
        """The sample of some judgments; their order plays no part.

        Args:
            scores: [n].
            correct: [n].
            questions: [n] the question of each judgment.
        """
        values = np.round(np.asarray(scores, dtype=np.float64), 9)
        rows: dict[str, list[tuple[float, bool]]] = {}
        for question, score, right in zip(questions, values, correct, strict=True):
            rows.setdefault(str(question), []).append((float(score), bool(right)))
        names = {text_digest(question)[:16]: question for question in sorted(rows)}
        contents = {key: text_digest(str(sorted(right for _, right in rows[name])))[:8] for key, name in names.items()}
        whole = "\n".join(f"{key} {sorted(rows[names[key]])}" for key in sorted(names))
        return cls(text_digest(whole)[:32], contents, names)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the ledger grants to one look.

    Attributes:
        number: of the look, from 1.
        level: at which its test is made, in (0, 1).
        relation: of its labels to those before.
        anytime: whether the test must be an e-process, which takes the questions in the order of ``first_seen``.
        first_seen: question -> the look that saw it first.
    """

    number: int
    level: float
    relation: Relation
    anytime: bool
    first_seen: Mapping[str, int]


class Looks:
    """A ledger to look with: it grows by every look.

    Args:
        ledger: earlier looks; None for none.
        schedule: how delta is divided; None for the ledger's, or ``declining``.
        time: of looks made with this object, as they are recorded.
        accept_changes: whether looks are allowed whose earlier questions are missing or have other labels.

    Raises:
        InputError: another schedule than the one the ledger declared at its first look.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        *,
        schedule: Schedule | None = None,
        time: str | None = None,
        accept_changes: bool = False,
    ) -> None:
        found = ledger or Ledger(schedule=schedule or Schedule())
        if schedule is not None and schedule != found.schedule and found.entries:
            raise InputError(
                f"the schedule of looks is declared at the first look and cannot be changed: it is {found.schedule}, "
                f"not {schedule}"
            )
        self._ledger = found if schedule is None else found.model_copy(update={"schedule": schedule})
        self._time = time
        self._accept_changes = accept_changes

    @property
    def ledger(self) -> Ledger:
        """The looks so far, as they are stored."""
        return self._ledger

    @property
    def schedule(self) -> Schedule:
        """How delta is divided."""
        return self._ledger.schedule

    @property
    def entries(self) -> tuple[Look, ...]:
        """The looks so far."""
        return self._ledger.entries

    def of(self, judges: Iterable[str] = ()) -> tuple[Look, ...]:
        """The looks at one population."""
        key = tuple(sorted(judges))
        return tuple(one for one in self.entries if one.judges == key)

    def spent(self, judges: Iterable[str] = ()) -> float:
        """The share of delta that the looks at one population have spent, in [0, 1]."""
        return sum(self._shares(judges).values())

    def next_share(self, judges: Iterable[str] = ()) -> float:
        """The share of delta that the next look on grown data with other labels gets; 0 where there is none left."""
        return self._next_share(tuple(sorted(judges)), None)

    def look(
        self,
        sample: Sample,
        *,
        target: float,
        delta: float,
        settings: str,
        test: Callable[[Turn], Outcome],
        store: Callable[[Outcome], dict[str, Any]],
        restore: Callable[[dict[str, Any]], Outcome],
        judges: Iterable[str] = (),
    ) -> Outcome:
        """Makes a look: tests at the level it gets, and enters it; or returns what the very same look gave.

        Args:
            sample: the labelled judgments.
            target: precision to guarantee.
            delta: probability of failure allowed, over all looks.
            settings: digest of procedure, unit and whatever else the test depends on.
            test: the test, given the level; its result has ``kind`` "guarantee" or "abstention".
            store: its result as plain data, with ``kind``.
            restore: the other way round.
            judges: the population; empty for all of the calibration's.

        Raises:
            InputError: nothing of delta is left, or questions looked at before are missing or have other labels.
        """
        key = tuple(sorted(judges))
        for one in self.of(key):
            if (one.data, one.settings, one.target, one.delta) == (sample.data, settings, target, delta):
                return restore(one.result)
        turn = self._turn(sample, key, target, delta, settings)
        result = test(turn)
        self._enter(turn, sample, key, target, delta, settings, store(result))
        return result

    def _turn(self, sample: Sample, judges: tuple[str, ...], target: float, delta: float, settings: str) -> Turn:
        before = _touched(self._seen(judges), sample)
        relation = self._relation(sample, judges, before)
        if relation in ("fewer", "changed") and not self._accept_changes:
            raise InputError(
                f"{_difference(sample, before)}: choosing or changing labels after a look at them can make any test "
                "pass. Give all labelled questions of the earlier looks; if labels were corrected for reasons that do "
                "not depend on the outcome, allow it explicitly (--accept-changed-labels); the ledger records it"
            )
        share = self._next_share(judges, (target, delta, settings))
        if share <= 0:
            raise InputError(
                f"the ledger has no look left ({len(self.of(judges))} were made, and the schedule was declared as "
                f"{self.schedule.name!r} for {self.schedule.looks}): nothing more can be promised about these judges"
            )
        number = len(self.of(judges)) + 1
        first = {name: before[key].first if key in before else number for key, name in sample.names.items()}
        return Turn(number, share * delta, relation, self.schedule.name == "anytime", first)

    def _shares(self, judges: Iterable[str]) -> dict[tuple[object, ...], float]:
        """Test -> its share of delta; every look is a test of its own unless tests are e-processes."""
        found: dict[tuple[object, ...], float] = {}
        for one in self.of(judges):
            mine = (one.target, one.delta, one.settings) if self.schedule.name == "anytime" else (one.number,)
            found.setdefault(mine, self.schedule.share(len(found) + 1))
        return found

    def _next_share(self, judges: tuple[str, ...], test: tuple[object, ...] | None) -> float:
        shares = self._shares(judges)
        return shares[test] if test in shares else self.schedule.share(len(shares) + 1)

    def _seen(self, judges: tuple[str, ...]) -> Mapping[str, SeenQuestion]:
        return next((one.seen for one in self._ledger.populations if one.judges == judges), {})

    def _relation(self, sample: Sample, judges: tuple[str, ...], before: Mapping[str, SeenQuestion]) -> Relation:
        if not before:
            return "other" if self._seen(judges) else "first"
        if before.keys() - sample.contents.keys():
            return "fewer"
        if any(sample.contents[key] != one.labels for key, one in before.items()):
            return "changed"
        if sample.contents.keys() - before.keys() or len({one.together for one in before.values()}) > 1:
            return "grown"
        return "same" if any(one.data == sample.data for one in self.of(judges)) else "rescored"

    def _enter(
        self,
        turn: Turn,
        sample: Sample,
        judges: tuple[str, ...],
        target: float,
        delta: float,
        settings: str,
        result: dict[str, Any],
    ) -> None:
        entry = Look(
            number=turn.number,
            judges=judges,
            data=sample.data,
            settings=settings,
            relation=turn.relation,
            questions=len(sample.contents),
            target=target,
            delta=delta,
            level=turn.level,
            outcome=result["kind"],
            result=result,
            time=self._time,
        )
        seen = dict(self._seen(judges))
        # Questions that are missing now were looked at all the same, and stay with those that were not.
        for key, one in _touched(seen, sample).items():
            seen[key] = one._replace(together=turn.number)
        for key, labels in sample.contents.items():
            seen[key] = SeenQuestion(seen[key].first if key in seen else turn.number, labels, turn.number)
        others = [one for one in self._ledger.populations if one.judges != judges]
        mine = Population(judges=judges, seen=dict(sorted(seen.items())))
        self._ledger = Ledger(schedule=self.schedule, entries=(*self.entries, entry), populations=(*others, mine))


def _touched(seen: Mapping[str, SeenQuestion], sample: Sample) -> dict[str, SeenQuestion]:
    """The questions looked at together with any of a sample's, theirs included."""
    sets = {one.together for key, one in seen.items() if key in sample.contents}
    return {key: one for key, one in seen.items() if one.together in sets}


def _difference(sample: Sample, before: Mapping[str, SeenQuestion]) -> str:
    missing = len(before.keys() - sample.contents.keys())
    changed = sum(key in sample.contents and sample.contents[key] != one.labels for key, one in before.items())
    parts = [f"{missing} are missing"] * bool(missing) + [f"{changed} have other labels"] * bool(changed)
    return f"of the {len(before)} questions looked at before, {' and '.join(parts)}"
