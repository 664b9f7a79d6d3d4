"""A look: the guaranteed threshold of a calibration file sought under its ledger, and written back in one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from metajudge.calibration.advice import SIZES, Advice, advise
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import load_calibration, locked, save_calibration
from metajudge.calibration.guarantee import Abstention, Guarantee, guaranteed_threshold
from metajudge.calibration.looks import ByText, Look, Looks, Schedule
from metajudge.calibration.predictions import in_domain
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION, TEXT
from metajudge.stats.arrays import Bools, Floats
from metajudge.vetting.labelled import ThresholdRows

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
        target: precision to guarantee, in (0, 1); where it is not reached, the highest lower one that is.
        delta: probability that the promise fails, over all looks, in (0, 1).
        judges: whose judgments, together; empty for all of the calibration's.
        anytime, most_per_question: see :func:`~metajudge.calibration.guarantee.guaranteed_threshold`.
        reference: scores without labels that fix the thresholds tried, and their questions.
        schedule: how delta is divided over looks; None for the ledger's.
        accept_changes: see :class:`~metajudge.calibration.looks.Looks`.
    """

    target: float
    delta: float
    judges: tuple[str, ...] = ()
    anytime: bool = False
    most_per_question: int | None = None
    reference: ReferenceScores
    schedule: Schedule | None = None
    accept_changes: bool = False
    time: str | None = None

    def test(self, scores: Floats, correct: Bools, questions: Sequence[str], **options: Any) -> Found:
        """The test on some judgments.

        Args:
            options: further arguments of :func:`~metajudge.calibration.guarantee.guaranteed_threshold`.
        """
        asked = {"target": self.target, "delta": self.delta} | options
        return guaranteed_threshold(
            scores,
            correct,
            questions,
            anytime=self.anytime,
            reference=self.reference.scores,
            reference_questions=self.reference.questions,
            most_per_question=self.most_per_question,
            judges=self.judges,
            **asked,
        )

    def find(self, rows: ThresholdRows, looks: Looks) -> Found:
        """The threshold, under a ledger."""
        return self.test(
            rows.probabilities,
            rows.table.correct,
            rows.table.questions,
            looks=looks,
            or_lower=True,
            approximate=rows.approximate,
            floor=rows.floor,
            stated_random=rows.stated_random,
        )

    def chances(
        self,
        level: float,
        floor: float | None,
        scores: Floats,
        correct: Bools | None,
        questions: Sequence[str],
        sizes: Sequence[float] = SIZES,
    ) -> Advice:
        """What labels could do at a level, see :func:`~metajudge.calibration.advice.advise`."""

        def passes(scores: Floats, correct: Bools, questions: Sequence[str]) -> bool:
            return isinstance(self.test(scores, correct, questions, delta=level, floor=floor), Guarantee)

        return advise(scores, correct, questions, passes=passes, level=level, sizes=sizes)


@dataclass(frozen=True, slots=True)
class LookResult:
    """What a look found.

    Attributes:
        found: the threshold, or why there is none.
        looks: all looks at these judges, this one included.
        repeated: whether it was the very same look as an earlier one: then nothing was spent.
        unrecorded: guarantees of the file that were found before looks were recorded.
        left: share of delta that the next look gets.
    """

    found: Found
    looks: tuple[Look, ...]
    repeated: bool
    unrecorded: int
    left: float

    @property
    def passed(self) -> bool:
        """Whether a threshold was found, for the target or a lower one."""
        return isinstance(self.found, Guarantee)

    @property
    def mine(self) -> Look:
        """The look as the ledger has it."""
        return next(one for one in self.looks if one.number == self.found.look)

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


def current_of(path: Path, fitted: Calibration) -> Calibration:
    """The calibration as its file has it now; to be called under the file's lock.

    Raises:
        InputError: it was fitted anew meanwhile.
    """
    current = load_calibration(path)
    if current.fit_digest != fitted.fit_digest:
        raise InputError(f"{path} was fitted anew while the judgments were read: run the same command again")
    return current


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
        current = current_of(path, fitted)
        table = rows.table
        looks = Looks(
            current.looks,
            schedule=request.schedule,
            time=request.time,
            accept_changes=request.accept_changes,
            by_text=ByText.of_rows(table.unit, table.correct, table.questions, table.texts),
        )
        before = len(looks.entries)
        found = request.find(rows, looks)
        looked = passed = current.model_copy(update={"looks": looks.ledger})
        if isinstance(found, Guarantee):
            by = None if table.unit in (QUESTION, TEXT) else table.unit
            found = found.model_copy(update={"counted_by": by})
            passed = passed.with_guarantee(found)
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


def advice_after(result: LookResult, rows: ThresholdRows, request: LookRequest) -> Advice | None:
    """What further labels could do for the target; None where it was reached, or the ledger has no look left."""
    level = result.left * request.delta
    if not level or (isinstance(result.found, Guarantee) and result.found.target == request.target):
        return None
    table = rows.table
    return request.chances(level, rows.floor, rows.probabilities, table.correct, table.questions)
