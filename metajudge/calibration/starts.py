"""The grid and the start of a procedure in ranks of scores that carry no label.

The reference is a set of scores of **other** questions than those the threshold is sought on: unlabelled judgments,
or the out-of-fold scores of the questions a calibration was fitted on. Its ranks fix the grid, so any increasing
change of all scores (a timid, a bold or a shifted fit) changes nothing. Ranks of the very scores that are tested
would not do: given them, the share of errors above a rank is no draw from the share in the population unless
precision rises with the score.

The start keeps a share of the judgments, :data:`START`. It lies lower where so few would rarely prove anything, and
higher where many labels let a smaller share prove enough (:meth:`_Ranked.start`). Chosen on made populations and two
recorded sets, where several starts, starts that allow one error and wider steps kept less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtr

from metajudge.calibration.procedures import Procedure, ProcedureName
from metajudge.calibration.question_test import STAKE, StepTable, step_table, steps_limit
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices

START = 0.35
"""Share of the questions kept at the start."""

MARGIN = 1.3
"""Standard deviations of the number kept by which a start lies beyond the rank that passes without an error."""

STEP = 1.01
"""Ratio of the numbers kept at neighbouring thresholds of the grid."""

BETS = 0.3
"""Share of the level at which the start of bets is sought, since they need more than the exact test."""

LEEWAY = 0.5
"""Standard deviations by which more judgments than foreseen may be wrong where a lower target is sought."""

TYPICAL = 0.6
"""Share of the judgments kept for which the credit is chosen."""


def rounded(scores: Sequence[float] | Floats) -> Floats:
    """Scores as they are compared everywhere, rounded to 1e-9 as :meth:`GuaranteedThreshold.keeps` rounds them."""
    return np.array([round(float(score), 9) for score in scores], dtype=np.float64)


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


def procedure_in_ranks(name: ProcedureName, reference: Reference, setting: Setting) -> Procedure:
    """The procedure of a name, fixed by scores without labels: one start, then one threshold after the other."""
    ranked = _Ranked.of(reference, setting)
    start = float(ranked.values[ranked.start(BETS if name == "e_process" else 1.0)])
    return ranked.procedure(name, _grid(ranked.values, start), f"ranks of {len(ranked.values)} scores")


def procedure_foreseen(reference: Reference, setting: Setting) -> Procedure:
    """The one least selective threshold that should pass by what the scores say as probabilities, or the likeliest."""
    ranked = _Ranked.of(reference, setting)
    return ranked.procedure("ranks", [float(ranked.values[ranked.foreseen()])], "probabilities")


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

    def procedure(self, name: ProcedureName, grid: Sequence[float], source: str) -> Procedure:
        """One with a grid, which ``source`` made."""
        credited, most = self.setting.credited, self.setting.most
        return Procedure(
            name=name,
            grid=tuple(grid),
            stake=STAKE if most > 1 else None,
            credited=credited if 1 < most > credited else None,
            origin=f"{source} without labels of {int(self.kept[-1])} other questions",
        )

    def start(self, share: float) -> int:
        """Where :data:`START` is kept; with many labels, where precision halfway above the target passes.

        Never before a sample passes of which fewer questions than expected are kept, and none is wrong.
        """
        expected = self.kept / self.kept[-1]
        number = expected * self.setting.questions
        fewer = np.maximum(number - MARGIN * np.sqrt(number * (1 - expected)), 0)
        enough = self._passing(number, (1 - self.setting.target) / 2 * number, share)
        return max(self._passing(fewer, 0 * fewer, share), min(enough, math.ceil(START * len(number)) - 1))

    def foreseen(self) -> int:
        """The last place that passes with as many wrong questions as the scores foresee, and :data:`LEEWAY` more.

        Where none does, the one with the smallest p-value.
        """
        number = self.kept / self.kept[-1] * self.setting.questions
        wrong = np.clip(1 - np.cumsum(self.values) / np.arange(1, len(self.values) + 1), 0, 1)
        errors = number * wrong + LEEWAY * np.sqrt(number * wrong * (1 - wrong))
        p_values = self._p_values(number, errors)
        passing = np.flatnonzero(p_values <= self.setting.level)
        return int(passing[-1]) if len(passing) else int(np.argmin(p_values))

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
