"""Thresholds tested one after the other, in ranks of scores that carry no label.

For each threshold of a grid that was **fixed beforehand**, the hypothesis "precision is below the target" is tested
(:mod:`metajudge.calibration.question_test`), from the most selective threshold to the least, each at the whole of
``delta``, until one does not pass: a fixed sequence. The chance of any false pass is then at most ``delta`` whatever
the precisions are and however the tests depend on each other.

The grid lies in ranks of a reference: scores of **other** questions than those the threshold is sought on, unlabelled
ones or the out-of-fold scores of the questions a calibration was fitted on. So any increasing change of all scores
changes nothing. Ranks of the very scores that are tested would not do: given them, the share of errors above a rank is
no draw from the share in the population unless precision rises with the score.

The start keeps a share of the judgments, :data:`START`. It lies lower where so few would rarely prove anything, and
higher where many labels let a smaller share prove enough (:meth:`_Ranked.start`). Chosen on made populations and two
recorded sets, where several starts, starts that allow one error and wider steps kept less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field
from scipy.special import bdtr

from metajudge.calibration.question_test import STAKE, StepTable, step_table, steps_limit
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

TOLERANCE = 1e-9
"""Shares and numbers kept are compared with this tolerance."""

ProcedureName: TypeAlias = Literal["ranks", "e_process"]

StoredName: TypeAlias = Literal[
    ProcedureName, "fallback", "graphical", "one_error", "learn_then_test", "bonferroni", "log_odds", "this_file"
]
"""Names in stored calibrations; all but those of :data:`ProcedureName` are of earlier versions."""

START = 0.35
"""Share of the questions kept at the start."""

MARGIN = 1.3
"""Standard deviations of the number kept by which a start lies beyond the rank that passes without an error."""

STEP = 1.01
"""Ratio of the numbers kept at neighbouring thresholds of the grid."""

BETS = 0.3
"""Share of the level at which the start of bets is sought, since they need more than the exact test."""

TYPICAL = 0.6
"""Share of the judgments kept for which the credit is chosen."""

BELOW_TARGET = 0.02
"""A floor lies where the mean probability above it is by this much below the target."""


class Procedure(Frozen):
    """A test procedure, fixed before any label of the threshold's questions is seen, as a guarantee records it.

    Attributes:
        name: how it was made; ``fallback`` in records of earlier versions that name none.
        grid: thresholds from the most selective to the least; a judgment is kept where its score is at least this.
        starts: indices into the grid where a share of delta enters, ascending; the first one alone but in records of
            earlier versions.
        shares: the shares of delta, positive, together at most 1.
        origin: how the grid was made, in words.
        stake: of the test by question (:func:`~metajudge.calibration.question_test.question_p_values`); None for one
            judgment a question.
        credited: right judgments of a question that the test gives credit for at most; None for all.
        passes_on: whether a rejected threshold hands its level on to the next.
    """

    name: StoredName = "fallback"
    grid: tuple[float, ...]
    starts: tuple[int, ...] = (0,)
    shares: tuple[float, ...] = (1.0,)
    origin: str = "given"
    stake: float | None = Field(default=None, gt=0, lt=1, exclude_if=lambda given: given is None)
    credited: int | None = Field(default=None, ge=1, exclude_if=lambda given: given is None)
    passes_on: bool = Field(default=True, exclude_if=lambda given: given)

    def model_post_init(self, _context: object) -> None:
        """Checks what makes the procedure valid."""
        if not self.grid or any(a <= b for a, b in zip(self.grid, self.grid[1:], strict=False)):
            raise InputError("a procedure's grid must fall from the most selective threshold to the least")


def last_rejected(p_values: Floats, delta: float) -> Indices:
    """The last threshold of p-values [..., grid] before the first that does not pass at delta; -1 for none."""
    return np.asarray(np.logical_and.accumulate(p_values <= delta, axis=-1).sum(axis=-1) - 1)


def fewest_kept(target: float, share: float) -> int:
    """The smallest number kept with which a threshold can pass, without any error: ``ceil(ln share / ln target)``."""
    return math.ceil(math.log(share) / math.log(target) - TOLERANCE)


def check_promise(target: float, delta: float) -> None:
    """Raises :class:`InputError` unless target and delta lie strictly between 0 and 1."""
    if not 0 < target < 1:
        why = (
            "no finite number of labels proves that nothing is wrong" if target == 1 else "it is a share of right ones"
        )
        hint = f"; did you mean {target / 100:g}?" if 1 < target < 100 else ""
        raise InputError(f"target must lie strictly between 0 and 1, not {target:g}: {why}{hint}")
    if not 0 < delta < 1:
        why = "certainty takes infinitely many labels" if delta == 0 else "it is the probability that the promise fails"
        raise InputError(f"delta must lie strictly between 0 and 1, not {delta:g}: {why}")


def rounded(scores: Sequence[float] | Floats) -> Floats:
    """Scores as they are compared everywhere, rounded to 1e-9 as :meth:`GuaranteedThreshold.keeps` rounds them."""
    return np.array([round(float(score), 9) for score in scores], dtype=np.float64)


def above_floor(scores: Floats, place: Indices, floor: float | None) -> Bools:
    """[n] whether a judgment's question has one with a score at or above a floor.

    Args:
        place: [n] number of each judgment's question, from 0.
    """
    if floor is None or not len(scores):
        return np.ones(len(scores), dtype=bool)
    return np.asarray(np.isin(place, place[scores >= round(floor, 9)]))


def floor_for(probabilities: Sequence[float] | Floats, target: float) -> float | None:
    """The score below which labels are not worth their cost; None where that leaves nothing out.

    It is the last one above which the mean probability is no more than :data:`BELOW_TARGET` below the target: a
    threshold that reaches the target hardly lies below. At least :data:`START` of the judgments lie above it. Fixed
    without labels, so a threshold that is sought above it alone, on questions drawn evenly above it, keeps its promise.

    Args:
        probabilities: [n] P(right) without labels of the questions to draw.
        target: precision, in (0, 1).
    """
    values = np.sort(rounded(probabilities))[::-1]
    mean = np.cumsum(values) / np.arange(1, len(values) + 1)
    enough = np.flatnonzero(mean >= target - BELOW_TARGET)
    last = max(int(enough[-1]) if len(enough) else 0, math.ceil(START * len(values)) - 1)
    return None if values[last] <= values[-1] else float(values[last])


@dataclass(frozen=True, slots=True)
class Reference:
    """Scores without labels.

    Attributes:
        scores: [n] of judgments, rounded to 1e-9.
        place: [n] number of each judgment's question, from 0.
    """

    scores: Floats
    place: Indices

    @classmethod
    def of(cls, scores: Sequence[float] | Floats, questions: Sequence[str] | None) -> "Reference":
        """A reference; without questions every judgment counts as a question of its own.

        Raises:
            InputError: no score, one that is no number, or another number of questions than of scores.
        """
        values = rounded(scores)
        if not len(values) or not np.isfinite(values).all():
            raise InputError("reference scores must be finite numbers, at least one")
        if questions is None:
            return cls(values, np.arange(len(values)))
        if len(questions) != len(values):
            raise InputError(
                f"{len(values)} reference scores and {len(questions)} questions: they must match one to one"
            )
        return cls(values, np.unique(np.array(questions, dtype=str), return_inverse=True)[1].ravel())

    @property
    def most(self) -> int:
        """Judgments that a question has at most."""
        return int(np.bincount(self.place).max())

    def above(self, floor: float | None) -> "Reference":
        """The questions with a judgment at or above a floor, with all their judgments."""
        inside = above_floor(self.scores, self.place, floor)
        place = np.unique(self.place[inside], return_inverse=True)[1].ravel()
        return self if inside.all() else Reference(self.scores[inside], place)

    def sizes(self, threshold: float) -> Indices:
        """How many judgments are kept of each question that keeps any."""
        sizes = np.bincount(self.place[self.scores >= threshold])
        return np.asarray(sizes[sizes > 0])


@dataclass(frozen=True, slots=True)
class Setting:
    """What a procedure is made for.

    Attributes:
        most: judgments of one question that may be kept at most.
        credited: of the test by question.
    """

    target: float
    level: float
    questions: int
    most: int
    credited: int = 1

    @property
    def table(self) -> StepTable:
        """Of the test by question."""
        credited = min(self.credited, self.most)
        return step_table(self.most, round(self.target, 12), steps_limit(self.questions), STAKE, credited)


def procedure_in_ranks(
    name: ProcedureName, reference: Reference, setting: Setting, floor: float | None = None
) -> Procedure:
    """The procedure of a name, fixed by scores without labels: one start, then one threshold after the other.

    Args:
        floor: the lowest threshold; None for that of the reference.
    """
    ranked = _Ranked.of(reference.above(floor), setting)
    start = float(ranked.values[ranked.start(BETS if name == "e_process" else 1.0)])
    grid = [one for one in _grid(ranked.values, start) if floor is None or one >= round(floor, 9)]
    credited, most = ranked.setting.credited, setting.most
    return Procedure(
        name=name,
        grid=tuple(grid or [round(floor or start, 9)]),
        stake=STAKE if most > 1 else None,
        credited=credited if 1 < most > credited else None,
        origin=f"ranks of {len(ranked.values)} scores without labels of {int(ranked.kept[-1])} other questions",
    )


def _grid(values: Floats, start: float) -> list[float]:
    """Thresholds from the start down, at falling ranks a factor of :data:`STEP` apart."""
    found = {start}
    kept = float((values >= start).sum())
    while kept < len(values):
        kept = min(max(kept * STEP, kept + 1), len(values))
        found.add(float(values[round(kept) - 1]))
    return sorted(found, reverse=True)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The reference's judgments from the highest score to the lowest, and what a test of those so far would see.

    Attributes:
        values: [n] scores, falling.
        size: [n] how many judgments of the same question there are down to each; at most as many as declared.
        kept: [n] questions with a judgment down to each.
    """

    values: Floats
    size: Indices
    kept: Indices
    setting: Setting

    @classmethod
    def of(cls, reference: Reference, setting: Setting) -> "_Ranked":
        order = np.argsort(-reference.scores, kind="stable")
        place = reference.place[order]
        by_question = np.argsort(place, kind="stable")
        first = np.searchsorted(place[by_question], place[by_question])
        size = np.empty(len(order), dtype=np.intp)
        size[by_question] = np.arange(len(order)) - first + 1
        found = cls(reference.scores[order], np.minimum(size, setting.most), np.cumsum(size == 1), setting)
        if setting.most == 1 or reference.most == 1:  # nothing is known of how many judgments questions keep
            return replace(found, setting=replace(setting, credited=setting.most))
        sizes = np.minimum(reference.sizes(found.values[int(TYPICAL * (len(order) - 1))]), setting.most)
        credited = int(np.quantile(sizes, 0.9, method="inverted_cdf"))
        return replace(found, setting=replace(setting, credited=credited))

    def start(self, share: float) -> int:
        """Where :data:`START` is kept; with many labels, where precision halfway above the target passes.

        Never before a sample passes of which fewer questions than expected are kept, and none is wrong.
        """
        expected = self.kept / self.kept[-1]
        number = expected * self.setting.questions
        fewer = np.maximum(number - MARGIN * np.sqrt(number * (1 - expected)), 0)
        enough = self._passing(number, (1 - self.setting.target) / 2 * number, share)
        return max(self._passing(fewer, 0 * fewer, share), min(enough, math.ceil(START * len(number)) - 1))

    def _passing(self, number: Floats, errors: Floats, share: float) -> int:
        """The first place that passes at a share of the level (:meth:`_p_values`); the last if none."""
        passing = self._p_values(number, errors) <= share * self.setting.level
        return int(np.argmax(passing)) if passing.any() else len(passing) - 1

    def _p_values(self, number: Floats, errors: Floats) -> Floats:
        """[n] of each place with so many questions and wrong ones, which are wrong in all judgments kept."""
        setting, kept = self.setting, np.rint(number).astype(np.intp)
        if setting.most == 1:
            wrong = np.ceil(errors).astype(np.intp)
            p_values = bdtr(wrong.astype(np.float64), np.maximum(kept, wrong), 1 - setting.target)
        else:
            credit = setting.table.credit
            right, lost = (
                np.cumsum(one[self.size] - one[self.size - 1]) / self.kept for one in (credit[0], np.diagonal(credit))
            )
            totals = np.maximum(kept - errors, 0) * right + errors * lost
            p_values = setting.table.p_values(kept, np.floor(totals).astype(np.intp))
        return np.where(kept > errors, p_values, 1.0)
