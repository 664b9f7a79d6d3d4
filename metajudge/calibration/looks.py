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
from metajudge.evidence.units import TEXT
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
        settings: digest of everything else that the test depends on.
        relation: of its labels to those before.
        target: precision tested for.
        delta: of the promise.
        level: what the look spent of delta.
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
        together: number shared by questions that were looked at together; a later look has all of these or none.
    """

    first: int
    labels: str
    together: int


class Population(Frozen):
    """What was looked at for one set of judges, by one unit of dependence.

    Attributes:
        judges: empty for all of the calibration's.
        unit: of the looks (:mod:`metajudge.evidence.units`); those of version 0.2 were by the question's text.
        seen: by the digest of the cluster.
        texts: by the digest of the question's text, by which looks under another unit know them; empty where the
            clusters are the texts.
    """

    judges: tuple[str, ...] = ()
    unit: str = Field(default=TEXT, exclude_if=lambda given: given == TEXT)
    seen: dict[str, SeenQuestion]
    texts: dict[str, SeenQuestion] = Field(default_factory=dict, exclude_if=lambda given: not given)

    def known(self, sample: "Sample", by_text: "ByText") -> "Known":
        """What a sample shares with it: by its clusters under the same unit, else by the texts."""
        if self.unit == by_text.unit:
            return Known(self.seen, sample.contents)
        return Known(self.texts or self.seen, by_text.contents)

    def touched_by(self, sample: "Sample", by_text: "ByText", number: int) -> "Population":
        """The same after a look under another unit: what it shares with the sample was seen together."""
        known = self.known(sample, by_text)
        seen = {key: one for key, one in known.after(number).items() if key in known.seen}
        return self.model_copy(update={"texts" if self.texts else "seen": seen})


@dataclass(frozen=True, slots=True)
class Known:
    """What was seen beside what a sample has, both by the same names.

    Attributes:
        contents: name -> digest of its labels.
    """

    seen: Mapping[str, SeenQuestion]
    contents: Mapping[str, str]

    @property
    def touched(self) -> dict[str, SeenQuestion]:
        """The questions looked at together with any of the sample's, theirs included."""
        sets = {one.together for key, one in self.seen.items() if key in self.contents}
        return {key: one for key, one in self.seen.items() if one.together in sets}

    @property
    def missing(self) -> int:
        """How many of the touched ones the sample lacks."""
        return len(self.touched.keys() - self.contents.keys())

    @property
    def changed(self) -> int:
        """How many of the touched ones have other labels in the sample."""
        return sum(self.contents.get(key, one.labels) != one.labels for key, one in self.touched.items())

    def after(self, number: int) -> dict[str, SeenQuestion]:
        """What was seen once a look has seen the sample too."""
        # Questions that are missing now were looked at all the same, and stay with those that were not.
        found = dict(self.seen) | {key: one._replace(together=number) for key, one in self.touched.items()}
        for key, labels in self.contents.items():
            found[key] = SeenQuestion(found[key].first if key in found else number, labels, number)
        return dict(sorted(found.items()))


class Plan(Frozen):
    """A draw of questions to label, fixed on scores without labels.

    Attributes:
        fit, judges: digest of the fit whose probabilities these scores are; whose judgments, empty for all of its.
        floor: probability of the best judgment that a question needed to be drawn; None where all could be drawn.
        seed: of the order of the draw: a larger draw of the same seed begins with a smaller one.
        questions, among: how many were drawn, and could be.
    """

    fit: str
    judges: tuple[str, ...] = ()
    target: float
    floor: float | None
    seed: int
    questions: int
    among: int
    time: str | None = None


class Ledger(Frozen):
    """All looks and draws, as a calibration file keeps them."""

    schedule: Schedule = Schedule()
    entries: tuple[Look, ...] = ()
    populations: tuple[Population, ...] = ()
    plans: tuple[Plan, ...] = Field(default=(), exclude_if=lambda given: not given)

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
class ByText:
    """What looks under one unit of dependence are known by to looks under another: the texts of their questions.

    Attributes:
        contents: digest of a text -> digest of its labels.
        of: question -> digests of its texts.
    """

    unit: str
    contents: Mapping[str, str]
    of: Mapping[str, Sequence[str]]

    @classmethod
    def of_rows(
        cls, unit: str, correct: Sequence[bool] | Bools, questions: Sequence[str], texts: Sequence[str]
    ) -> "ByText":
        """Of labelled judgments [n]: whether each is right, its question and the text of that."""
        sample = Sample.of([0.0] * len(texts), correct, texts)
        digests = {text: key for key, text in sample.names.items()}
        pairs = sorted({(question, digests[text]) for question, text in zip(questions, texts, strict=True)})
        of: dict[str, list[str]] = {}
        for question, key in pairs:
            of.setdefault(question, []).append(key)
        return cls(unit, sample.contents, of)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the ledger grants to one look.

    Attributes:
        number: of the look, from 1.
        level: at which its test is made, in (0, 1).
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
        by_text: the unit of the looks, and the texts of their questions; None where the texts are the questions.

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
        by_text: ByText | None = None,
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
        self._by_text = by_text

    @property
    def ledger(self) -> Ledger:
        """As it is stored."""
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
            settings: digest of procedure, unit and whatever else the test depends on.
            test: the test, given the level; its result has ``kind`` "guarantee" or "abstention".
            store: its result as plain data, with ``kind``.
            judges: the population; empty for all of the calibration's.

        Raises:
            InputError: nothing of delta is left, or questions looked at before are missing or have other labels.
        """
        key = tuple(sorted(judges))
        for one in self.of(key):
            if (one.data, one.settings, one.target, one.delta) == (sample.data, settings, target, delta):
                return restore(one.result)
        turn = self._turn(sample, key, target, delta, settings)
        outcome = test(turn)
        result = store(outcome)
        entry = Look(
            number=turn.number,
            judges=key,
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
        self._enter(entry, sample)
        return outcome

    def _turn(self, sample: Sample, judges: tuple[str, ...], target: float, delta: float, settings: str) -> Turn:
        by_text = self._texts_of(sample)
        before = [one.known(sample, by_text) for one in self._populations(judges)]
        relation = self._relation(sample, judges, before)
        if relation in ("fewer", "changed") and not self._accept_changes:
            raise InputError(
                f"{_difference(before)}: choosing or changing labels after a look at them can make any test "
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
        seen = {key: one.first for known in before for key, one in known.touched.items()}
        first = {
            name: min((seen[one] for one in (key, *by_text.of[name]) if one in seen), default=number)
            for key, name in sample.names.items()
        }
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

    def _texts_of(self, sample: Sample) -> ByText:
        return self._by_text or ByText(TEXT, sample.contents, {name: (key,) for key, name in sample.names.items()})

    def _populations(self, judges: tuple[str, ...]) -> list[Population]:
        return [one for one in self._ledger.populations if one.judges == judges]

    def _relation(self, sample: Sample, judges: tuple[str, ...], before: Sequence[Known]) -> Relation:
        touching = [one for one in before if one.touched]
        if not touching:
            return "other" if before else "first"
        if any(one.missing for one in touching):
            return "fewer"
        if any(one.changed for one in touching):
            return "changed"
        together = {seen.together for one in touching for seen in one.touched.values()}
        if len(together) > 1 or all(one.contents.keys() - one.touched.keys() for one in touching):
            return "grown"
        return "same" if any(one.data == sample.data for one in self.of(judges)) else "rescored"

    def _enter(self, entry: Look, sample: Sample) -> None:
        by_text, judges, number = self._texts_of(sample), entry.judges, entry.number
        populations = self._populations(judges)
        mine = next((one for one in populations if one.unit == by_text.unit), None)
        mine = mine or Population(judges=judges, unit=by_text.unit, seen={})
        seen = mine.known(sample, by_text).after(number)
        texts = mine.texts
        if texts or by_text.contents != sample.contents:
            texts = Known(texts or mine.seen, by_text.contents).after(number)
        mine = mine.model_copy(update={"seen": seen, "texts": texts})
        rest = [one.touched_by(sample, by_text, number) for one in populations if one.unit != by_text.unit]
        others = [one for one in self._ledger.populations if one.judges != judges]
        entered = {"entries": (*self.entries, entry), "populations": (*others, *rest, mine)}
        self._ledger = self._ledger.model_copy(update=entered)


def _difference(before: Sequence[Known]) -> str:
    worst = max(before, key=lambda one: one.missing + one.changed)
    missing, changed = worst.missing, worst.changed
    parts = [f"{missing} are missing"] * bool(missing) + [f"{changed} have other labels"] * bool(changed)
    return f"of the {len(worst.touched)} questions looked at before, {' and '.join(parts)}"
