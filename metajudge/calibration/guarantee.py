"""Thresholds with a finite-sample guarantee on precision.

The least selective threshold is sought such that, with probability at least ``1 - delta`` over the draw of the labelled
questions, the precision of what it keeps is at least the target (learn-then-test: Angelopoulos, Bates, Candes, Jordan,
Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control", 2022), under a procedure of
:mod:`metajudge.calibration.procedures` that was fixed beforehand. The unit of independence is the question.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from metajudge.calibration.procedures import (
    TOLERANCE,
    Counts,
    Procedure,
    check_promise,
    default_procedure,
    fewest_kept,
    least_selective,
)
from metajudge.calibration.promise import Promise
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import clopper_pearson_lower, wilson
from metajudge.types import GuaranteeUnit
from metajudge.types.frozen import Frozen

__all__ = [
    "Abstention",
    "Guarantee",
    "Procedure",
    "Unit",
    "default_procedure",
    "fewest_kept",
    "guaranteed_threshold",
    "one_per_question",
]

Unit: TypeAlias = GuaranteeUnit


class Guarantee(Frozen):
    """A threshold whose precision is guaranteed.

    Attributes:
        threshold: keep where the score is at least this.
        target: precision that is guaranteed.
        delta: probability, over the draw of the questions, that the guarantee fails.
        questions: questions with a judgment to keep or not.
        kept: questions kept.
        errors: wrong ones among them.
        precision: share of right ones among the kept.
        lower: exact lower bound of the precision at confidence 1 - delta, for this threshold looked at alone.
        coverage: kept / questions.
        unit: what represents a question in the test.
        seed: of the choice of one judgment a question.
        approximate: whether scores and threshold come from the same questions (cross-fitted): then nothing is proven.
        judges: whose judgments; empty for all.
        procedure: the test procedure.
    """

    kind: Literal["guarantee"] = "guarantee"
    threshold: float
    target: float
    delta: float
    questions: int
    kept: int
    errors: int
    precision: float
    lower: float
    coverage: float
    unit: Unit
    seed: int
    approximate: bool = False
    judges: tuple[str, ...] = ()
    procedure: Procedure

    def promise(self, fitted: Sequence[str] = ()) -> Promise:
        """What it promises, with its scope.

        Args:
            fitted: the judges of the calibration, which a guarantee for all of them does not name itself.
        """
        return Promise(
            threshold=self.threshold,
            target=self.target,
            delta=self.delta,
            approximate=self.approximate,
            judges=tuple(sorted(self.judges or fitted)),
            unit=self.unit,
            questions=self.questions,
        )

    def meaning(self, fitted: Sequence[str] = ()) -> str:
        """The promise in words, and what its threshold kept of the labelled questions; see :meth:`promise`."""
        return f"{self.promise(fitted).sentence()} {self.found()}"

    def found(self) -> str:
        """What the threshold kept of the questions it was set on."""
        return (
            f"There it kept {self.kept} of {self.questions} questions (coverage {100 * self.coverage:.0f} %), "
            f"{self.kept - self.errors} of them right."
        )

    def coverage_interval(self, confidence: float = 0.95) -> Estimate:
        """The share of questions kept, with its Wilson interval."""
        return wilson(self.kept, self.questions, confidence)


ONE_LOOK = (
    "Adding labels and looking again spends confidence: the guarantee is valid for one look. Choose the number of "
    "labels beforehand (`metajudge calibrate plan`), or divide delta over the looks you intend."
)
"""What to do after an abstention; a number of further labels read off the same labels would be far too small."""


class Abstention(Frozen):
    """Why no threshold can be guaranteed.

    Attributes:
        reason: in words.
        questions: questions there were.
    """

    kind: Literal["abstention"] = "abstention"
    reason: str
    target: float
    delta: float
    questions: int
    procedure: Procedure

    def meaning(self) -> str:
        """The abstention and what to do next, in words."""
        return f"No threshold can be guaranteed: {self.reason}. {ONE_LOOK}"


def guaranteed_threshold(
    scores: Sequence[float] | Floats,
    correct: Sequence[bool] | Bools,
    questions: Sequence[str],
    *,
    target: float,
    delta: float,
    procedure: Procedure | None = None,
    unit: Unit = "one_per_question",
    seed: int = 0,
    approximate: bool = False,
    judges: Sequence[str] = (),
) -> Guarantee | Abstention:
    """The least selective threshold whose precision is guaranteed, or the reason why no threshold passes.

    Args:
        scores: [n]; higher is more trustworthy.
        correct: [n].
        questions: [n] the question of each judgment.
        target: precision to guarantee, in (0, 1).
        delta: probability of failure allowed, in (0, 1).
        procedure: fixed beforehand; None for :func:`default_procedure`, which expects probabilities.
        unit: ``one_per_question`` takes one seeded judgment of each question: the guarantee is for a judgment drawn
            so. ``any_wrong`` counts a question as kept where any judgment of it is, and as wrong where any kept one is.
        seed: of the choice of judgments.
        approximate: whether the scores were fitted on these questions (out of fold); recorded.
        judges: whose judgments these are; recorded.

    Raises:
        InputError: target or delta out of range, unequal lengths, nothing given, a score that is no number, or
            scores that are no probabilities without a procedure.
    """
    check_promise(target, delta)
    values = _scores(scores, correct, questions, procedure)
    right = np.asarray(correct, dtype=bool)
    chosen = procedure if procedure is not None else default_procedure(target)
    kept, errors, count = _tally(values, right, questions, chosen, unit, seed)
    passed = int(least_selective(kept, errors, target, delta, chosen))
    if passed < 0:
        return _abstention(kept, errors, count, target, delta, chosen)
    number, wrong = int(kept[passed]), int(errors[passed])
    return Guarantee(
        threshold=chosen.grid[passed],
        target=target,
        delta=delta,
        questions=count,
        kept=number,
        errors=wrong,
        precision=(number - wrong) / number,
        lower=clopper_pearson_lower(number - wrong, number, 1 - delta).low,
        coverage=number / count,
        unit=unit,
        seed=seed,
        approximate=approximate,
        judges=tuple(judges),
        procedure=chosen,
    )


def _tally(
    scores: Floats, correct: Bools, questions: Sequence[str], procedure: Procedure, unit: Unit, seed: int
) -> tuple[Counts, Counts, int]:
    """Kept and wrong questions at each threshold, and how many questions there are."""
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    above = scores[:, None] >= np.round(np.array(procedure.grid), 9) - TOLERANCE
    if unit == "one_per_question":
        chosen = one_per_question(questions, scores, correct, seed)
        above, wrong = above[chosen], above[chosen] & ~correct[chosen][:, None]
        return above.sum(axis=0), wrong.sum(axis=0), len(names)
    kept = np.zeros((len(names), above.shape[1]), dtype=bool)
    bad = np.zeros_like(kept)
    np.logical_or.at(kept, place.ravel(), above)
    np.logical_or.at(bad, place.ravel(), above & ~correct[:, None])
    return kept.sum(axis=0), bad.sum(axis=0), len(names)


def one_per_question(questions: Sequence[str], scores: Floats, correct: Bools, seed: int) -> Indices:
    """Indices of one judgment of each question, drawn with a seed; the order of the rows plays no part."""
    place = np.array(questions, dtype=str)
    # Within a question, equal scores with equal outcomes are interchangeable: sorting makes the draw reproducible.
    order = np.lexsort((correct, scores, place))
    _, first, counts = np.unique(place[order], return_index=True, return_counts=True)
    drawn = (np.random.default_rng([seed, 11]).random(len(first)) * counts).astype(np.intp)
    return np.asarray(order[first + drawn])


def _abstention(
    kept: Counts, errors: Counts, questions: int, target: float, delta: float, procedure: Procedure
) -> Abstention:
    most, least = int(kept.max(initial=0)), fewest_kept(target, delta * max(procedure.shares))
    if most < least:
        reason = f"at most {most} questions are kept, and below {least} none can pass"
    elif not (errors < (1 - target) * kept).any():
        reason = f"no threshold of the grid keeps more than {100 * target:g} % right"
    else:
        reason = "there are too few labels to separate the best thresholds from the target"
    return Abstention(reason=reason, target=target, delta=delta, questions=questions, procedure=procedure)


def _scores(
    scores: Sequence[float] | Floats, correct: Sequence[bool] | Bools, questions: Sequence[str], given: object
) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if not len(values) == len(correct) == len(questions):
        raise InputError(
            f"{len(values)} scores, {len(correct)} labels and {len(questions)} questions: they must match one to one"
        )
    if not len(values):
        raise InputError(
            "there is no labelled judgment to seek a threshold on: give judgments with true labels "
            '(item.label, such as "A>B")'
        )
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number: leave out judgments without a score")
    if given is None and (values.min() < 0 or values.max() > 1):
        raise InputError("these scores are no probabilities: fix a procedure with a grid on their scale beforehand")
    return np.round(values, 9)
