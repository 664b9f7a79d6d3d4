"""A look: the guaranteed threshold of a calibration file sought under its ledger, and written back in one step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from metajudge.calibration.advice import Advice, advise
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import load_calibration, locked, save_calibration
from metajudge.calibration.guarantee import LOWEST, Abstention, Guarantee, guaranteed_by_group, guaranteed_threshold
from metajudge.calibration.looks import ByText, Look, Looks, Sample, Schedule, Turn
from metajudge.calibration.predictions import in_domain
from metajudge.calibration.procedures import ProcedureName
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION, TEXT
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import text_digest
from metajudge.vetting.labelled import ThresholdRows

GroupedBy: TypeAlias = Literal["judge", "category"]
Found: TypeAlias = Guarantee | Abstention


@dataclass(frozen=True, slots=True)
class ReferenceScores:
    """Scores without labels.

    Attributes:
        scores: [n].
        questions: [n]; None where every score counts as a question of its own.
    """

    scores: tuple[float, ...]
    questions: tuple[str, ...] | None

    @classmethod
    def of_fit(cls, fitted: Calibration, judges: Sequence[str]) -> "ReferenceScores":
        """The out-of-fold probabilities of the questions fitted on.

        A calibration does not record by whom each of them is; for some of its judges they are therefore taken one by
        one.
        """
        known = [(name, value) for name, found in fitted.provenance.questions.items() for value in found.values()]
        return cls(tuple(value for _, value in known), None if judges else tuple(name for name, _ in known))

    @classmethod
    def of_file(
        cls, fitted: Calibration, judges: Sequence[str], table: SignalTable, rows: ThresholdRows, allow_other: bool
    ) -> "ReferenceScores":
        """The probabilities of the file's questions without a label, where they are more than those fitted on.

        Else the out-of-fold probabilities of the fit; both are scores of other questions than the labelled ones.

        Args:
            judges: whose judgments, together; empty for all of the calibration's.
        """
        table = table.by(fitted.unit)
        labelled = {one for one, known in zip(table.questions, table.labelled, strict=True) if known}
        rest = table.select(~table.labelled)
        if not rest.questions:
            return cls.of_fit(fitted, judges)
        predicted = fitted.probabilities(rest, allow_other)
        apart = np.array([one not in labelled for one in rest.questions], dtype=bool)
        inside = in_domain(predicted, rows.approximate) & apart
        questions = tuple(rest.select(inside).questions)
        if len(set(questions)) <= len(fitted.provenance.questions):
            return cls.of_fit(fitted, judges)
        return cls(tuple(np.ma.getdata(predicted.probabilities)[inside].tolist()), questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRequest:
    """One test of a threshold.

    Attributes:
        target: precision to guarantee, in (0, 1).
        delta: probability that the promise fails, over all looks, in (0, 1).
        judges: whose judgments, together; empty for all of the calibration's.
        by: a promise for each judge or each category, all of them together at delta (Holm); None for one promise.
        or_lower, procedure, most_per_question: see :func:`~metajudge.calibration.guarantee.guaranteed_threshold`.
        reference: scores without labels that fix the thresholds tried, and their questions.
        schedule: how delta is divided over looks; None for the ledger's.
        accept_changes: see :class:`~metajudge.calibration.looks.Looks`.
    """

    target: float
    delta: float
    judges: tuple[str, ...] = ()
    by: GroupedBy | None = None
    or_lower: bool = False
    procedure: ProcedureName | None = None
    most_per_question: int | None = None
    reference: ReferenceScores | None = None
    schedule: Schedule | None = None
    accept_changes: bool = False
    time: str | None = None

    def test(
        self, scores: Floats, correct: Bools, questions: Sequence[str], approximate: bool, looks: Looks | None
    ) -> Guarantee | Abstention:
        """The test on some judgments; without a ledger at the full delta."""
        return guaranteed_threshold(
            scores,
            correct,
            questions,
            target=self.target,
            delta=self.delta,
            or_lower=self.or_lower,
            procedure=self.procedure,
            reference=None if self.reference is None else self.reference.scores,
            reference_questions=None if self.reference is None else self.reference.questions,
            most_per_question=self.most_per_question,
            approximate=approximate,
            judges=self.judges,
            looks=looks,
        )

    def find(self, rows: ThresholdRows, looks: Looks) -> dict[str, Found]:
        """The thresholds by group, under a ledger; all judgments together are the group ""."""
        judged = rows.probabilities, rows.table.correct, rows.table.questions
        if self.by is None:
            return {"": self.test(*judged, rows.approximate, looks)}
        if looks.schedule.name == "anytime":
            raise InputError("promises by judge or category are not tested at any time: declare another schedule")
        if self.or_lower:
            raise InputError("lower targets are sought for all judgments together: leave out --by or --or-lower")
        about = [self.by, self.procedure, self.reference, self.most_per_question, rows.approximate]
        return looks.look(
            Sample.of(*judged),
            target=self.target,
            delta=self.delta,
            settings=text_digest(str(about)),
            test=lambda turn: self._by_group(rows, turn),
            store=_stored,
            restore=_restored,
            judges=self.judges,
        )

    def _by_group(self, rows: ThresholdRows, turn: Turn) -> dict[str, Found]:
        table = rows.table
        groups = table.judges if self.by == "judge" else table.categories
        found = guaranteed_by_group(
            rows.probabilities,
            table.correct,
            table.questions,
            groups,
            by="judge" if self.by == "judge" else "category",
            target=self.target,
            delta=turn.level,
            procedure=self.procedure,
            reference=None if self.reference is None else dict.fromkeys(groups, self.reference.scores),
            most_per_question=self.most_per_question,
            approximate=rows.approximate,
            judges=self.judges,
        )
        spent = {"delta": self.delta, "look": turn.number, "level": turn.level}
        return {name: one.model_copy(update=spent) for name, one in found.items()}

    def passes(self, level: float, scores: Floats, correct: Bools, questions: Sequence[str]) -> bool:
        """Whether a threshold passes at a level; with lower targets, at the lowest one."""
        at_level = replace(self, delta=level, target=LOWEST if self.or_lower else self.target, or_lower=False)
        return isinstance(at_level.test(scores, correct, questions, approximate=False, looks=None), Guarantee)


@dataclass(frozen=True, slots=True)
class LookResult:
    """What a look found.

    Attributes:
        found: by group the threshold, or why there is none; all judgments together are the group "".
        looks: all looks at these judges, this one included.
        repeated: whether it was the very same look as an earlier one: then nothing was spent.
        unrecorded: guarantees of the file that were found before looks were recorded.
        left: share of delta that the next look gets.
    """

    found: Mapping[str, Found]
    looks: tuple[Look, ...]
    repeated: bool
    unrecorded: int
    left: float

    @property
    def passed(self) -> tuple[Guarantee, ...]:
        """The thresholds found."""
        return tuple(one for one in self.found.values() if isinstance(one, Guarantee))

    @property
    def mine(self) -> Look:
        """The look as the ledger has it."""
        number = next(iter(self.found.values())).look
        return next(one for one in self.looks if one.number == number)

    def lines(self) -> list[str]:
        """The look and its cost in words."""
        mine = self.mine
        first = f"The same look again: {mine.line()}. Nothing is spent." if self.repeated else f"This is {mine.line()}."
        lines = [first[0].upper() + first[1:]]
        if self.unrecorded:
            lines.append(
                f"{self.unrecorded} threshold(s) of this file were found before looks were recorded: the ledger does "
                "not cover these."
            )
        return lines


def look(
    path: Path, fitted: Calibration, rows: ThresholdRows, request: LookRequest, *, out: Path | None = None
) -> LookResult:
    """Makes a look and stores it: the look in the calibration file, a threshold that passed there or in ``out``.

    Reading the ledger, testing and writing happen under one lock, so that two looks at the same time spend twice.

    Args:
        path: the calibration file; it is read again under the lock.
        out: where to write the calibration with the threshold, in place of ``path``.

    Raises:
        InputError: the file was fitted anew meanwhile, cannot be written, or the ledger refuses the look.
    """
    with locked(path):
        current = load_calibration(path)
        if current.fit_digest != fitted.fit_digest:
            raise InputError(f"{path} was fitted anew while the judgments were read: run the same command again")
        table = rows.table
        looks = Looks(
            current.looks,
            schedule=request.schedule,
            time=request.time,
            accept_changes=request.accept_changes,
            by_text=ByText.of_rows(table.unit, table.correct, table.questions, table.texts),
        )
        before = len(looks.entries)
        by = None if table.unit in (QUESTION, TEXT) else table.unit
        found = {
            name: one.model_copy(update={"counted_by": by}) if isinstance(one, Guarantee) else one
            for name, one in request.find(rows, looks).items()
        }
        looked = passed = current.model_copy(update={"looks": looks.ledger})
        for one in found.values():
            if isinstance(one, Guarantee):
                passed = passed.with_guarantee(one)
        save_calibration(looked if out is not None else passed, path)
        if out is not None and passed is not looked:
            save_calibration(passed, out)
    return LookResult(
        found,
        looks.of(request.judges),
        len(looks.entries) == before,
        sum(one.look is None for one in current.guarantees),
        looks.next_share(request.judges),
    )


def _stored(found: Mapping[str, Found]) -> dict[str, Any]:
    passed = any(isinstance(one, Guarantee) for one in found.values())
    groups = {name: one.model_dump(mode="json") for name, one in found.items()}
    return {"kind": "guarantee" if passed else "abstention", "groups": groups}


def _restored(data: Mapping[str, Any]) -> dict[str, Found]:
    kinds: Mapping[str, type[Guarantee] | type[Abstention]] = {"guarantee": Guarantee, "abstention": Abstention}
    return {name: kinds[one["kind"]].model_validate(one) for name, one in data["groups"].items()}


def advice_after(result: LookResult, rows: ThresholdRows, request: LookRequest) -> Advice | None:
    """What further labels could do after one promise's abstention; None where the ledger has no look left."""
    level = result.left * request.delta
    if not level:
        return None
    return advise(
        rows.probabilities, rows.table.correct, rows.table.questions, passes=partial(request.passes, level), level=level
    )
