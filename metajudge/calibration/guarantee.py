"""Thresholds with a finite-sample guarantee on precision.

The least selective threshold is sought such that, with probability at least ``1 - delta`` over the draw of the labelled
questions, the precision of what it keeps is at least the target (learn-then-test: Angelopoulos, Bates, Candes, Jordan,
Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control", 2022).

For each threshold of a grid that was **fixed beforehand**, the hypothesis "precision is below the target" is tested
by the exact binomial probability of so few errors among so many kept. The hypotheses are tested from the most
selective threshold to the least under the fallback procedure (Wiens and Dmitrienko, "The Fallback Procedure for
Evaluating a Single Family of Hypotheses", 2005), a case of the graphical procedures of Bretz, Maurer, Brannath and
Posch (2009): ``delta`` is split over several starts; a threshold is tested with the share that starts there plus, where
the one before it was rejected, all that one was tested with. The chance of any false rejection is then at most
``delta`` whatever the precisions are and however the tests depend on each other. A single start loses everything
to one early error; several starts without passing shares on waste what early rejections have earned.

The unit of independence is the question.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import bdtr

from metajudge.calibration.design import Bools, Floats, Indices
from metajudge.errors import InputError
from metajudge.stats.estimate import Estimate
from metajudge.stats.intervals import clopper_pearson_lower, wilson

Counts: TypeAlias = NDArray[np.int64]
Unit = Literal["one_per_question", "any_wrong"]

TOLERANCE = 1e-9
"""Scores and thresholds are compared after rounding to this."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Procedure(_Frozen):
    """A test procedure, fixed before any label of the threshold's questions is seen.

    Attributes:
        grid: thresholds from the most selective to the least; a judgment is kept where its score is at least this.
        starts: indices into the grid where a share of delta enters, ascending.
        shares: the shares of delta, positive, together at most 1.
        origin: how the grid was made, in words.
    """

    name: Literal["fallback"] = "fallback"
    grid: tuple[float, ...]
    starts: tuple[int, ...]
    shares: tuple[float, ...]
    origin: str = "given"

    def model_post_init(self, _context: object) -> None:
        """Checks what makes the procedure valid."""
        if not self.grid or any(a <= b for a, b in zip(self.grid, self.grid[1:], strict=False)):
            raise InputError("a procedure's grid must fall from the most selective threshold to the least")
        ordered = sorted(set(self.starts)) == list(self.starts)
        if not self.starts or not ordered or self.starts[0] < 0 or self.starts[-1] >= len(self.grid):
            raise InputError("a procedure's starts must be ascending places in its grid, at least one")
        if len(self.shares) != len(self.starts) or min(self.shares) <= 0 or sum(self.shares) > 1 + TOLERANCE:
            raise InputError("a procedure needs a positive share of delta for each start, together at most 1")


class Guarantee(_Frozen):
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
        unit: what stands for a question.
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

    def meaning(self) -> str:
        """The guarantee in one sentence."""
        who = "what is kept" if self.unit == "one_per_question" else "the questions of which anything is kept"
        sentence = (
            f"Keep scores of {self.threshold:.4g} and above: with {100 * (1 - self.delta):g} % confidence at least "
            f"{100 * self.target:g} % of {who} is right on new questions like these "
            f"({self.kept - self.errors} of {self.kept} kept here were right, coverage {100 * self.coverage:.0f} %)"
        )
        if self.approximate:
            sentence += "; approximate, since the scores were fitted on the same questions"
        return sentence + "."

    def coverage_interval(self, confidence: float = 0.95) -> Estimate:
        """The share of questions kept, with its Wilson interval."""
        return wilson(self.kept, self.questions, confidence)


class Abstention(_Frozen):
    """Why no threshold can be guaranteed.

    Attributes:
        reason: in words.
        labels_needed: further labelled questions with which the most promising threshold would pass if its precision
            stayed what it was seen to be; None where no threshold was seen above the target.
        questions: questions there were.
    """

    kind: Literal["abstention"] = "abstention"
    reason: str
    target: float
    delta: float
    questions: int
    labels_needed: int | None = Field(description="None where more labels would not help.")
    procedure: Procedure

    def meaning(self) -> str:
        """The abstention in one sentence."""
        more = "" if self.labels_needed is None else f" About {self.labels_needed} more labelled questions are needed."
        return f"No threshold can be guaranteed: {self.reason}.{more}"


def fewest_kept(target: float, share: float) -> int:
    """The smallest number kept with which a threshold can pass, without any error: ``ceil(ln share / ln target)``."""
    return math.ceil(math.log(share) / math.log(target) - TOLERANCE)


def default_procedure(target: float) -> Procedure:
    """A procedure for calibrated probabilities, fixed by the target alone.

    The grid is even in log-odds (steps of 1/4) down to a probability of 12 %. Half of delta starts where the
    probability equals the target: a calibrated score keeps more than the target there, and enough to prove it. The
    other half starts one unit of log-odds higher, in case the scores promise too much.
    """
    _check_target(target)
    centre = math.log(target / (1 - target))
    logits = np.arange(centre + 1, min(-2.0, centre - 1), -0.25)
    return Procedure(
        grid=tuple(float(value) for value in 1 / (1 + np.exp(-logits))),
        starts=(0, 4),
        shares=(0.5, 0.5),
        origin="even in log-odds, starts at the target and one unit above",
    )


def reference_procedure(
    scores: Sequence[float] | Floats, target: float, delta: float, questions: int, *, starts: int = 2, steps: int = 40
) -> Procedure:
    """A procedure whose grid is made of quantiles of other scores, such as those of the questions fitted on.

    Args:
        scores: scores of judgments whose questions are **not** those the threshold is sought on.
        target: precision to guarantee.
        delta: probability of failure allowed.
        questions: how many questions the threshold will be sought on; starts lie where enough of them are kept.
        starts: how many.
        steps: quantiles in the grid.
    """
    _check(target, delta)
    values = np.round(np.asarray(scores, dtype=np.float64), 9)
    if not len(values) or questions < 1:
        raise InputError("a procedure from a reference needs scores and the number of questions to come")
    shares = np.arange(1, steps + 1) / steps
    grid = np.unique(np.quantile(values, 1 - shares, method="inverted_cdf"))[::-1]
    kept = np.array([(values >= threshold).mean() for threshold in grid]) * questions
    least = 1.5 * fewest_kept(target, delta / starts)
    wanted = np.geomspace(min(least, questions), questions, starts + 1)[:-1]
    places = sorted({min(int(np.searchsorted(kept, number)), len(grid) - 1) for number in wanted})
    return Procedure(
        grid=tuple(float(value) for value in grid),
        starts=tuple(places),
        shares=(1 / len(places),) * len(places),
        origin=f"{len(grid)} quantiles of {len(values)} scores of other questions, {len(places)} starts",
    )


def planned_procedure(
    probabilities: Sequence[float] | Floats,
    target: float,
    delta: float,
    questions: int,
    *,
    late_share: float = 0.15,
    steps: int = 40,
) -> Procedure:
    """A procedure that starts where a pass is most probable, judging by the probabilities of other questions.

    Split fixed-sequence testing (Angelopoulos et al., 2022, section 4): the order of the tests is learnt on questions
    that take no part in them. The mean probability of what a threshold keeps stands for its precision, which gives the
    power of the exact test there. Most of delta enters at the threshold of the highest power; the rest further down, at
    the least selective threshold that still has half of the highest power, in case the first one fails by bad luck.
    Probabilities that are wrong cost power, never validity.

    Args:
        probabilities: calibrated, of judgments whose questions are **not** those the threshold is sought on.
        target: precision to guarantee.
        delta: probability of failure allowed.
        questions: how many questions the threshold will be sought on.
        late_share: share of delta for the second start, in (0, 1).
        steps: quantiles in the grid.
    """
    _check(target, delta)
    values = np.round(np.asarray(probabilities, dtype=np.float64), 9)
    if not len(values) or questions < 1:
        raise InputError("a planned procedure needs probabilities and the number of questions to come")
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError("a procedure is planned from probabilities between 0 and 1; for scores use their quantiles")
    if not 0 < late_share < 1:
        raise InputError(f"the late start's share must lie strictly between 0 and 1, not {late_share:g}")
    grid = np.unique(np.quantile(values, 1 - np.arange(1, steps + 1) / steps, method="inverted_cdf"))[::-1]
    above = values >= grid[:, None]
    kept = np.maximum(1, np.round(above.mean(axis=1) * questions)).astype(np.int64)
    precision = (above * values).sum(axis=1) / above.sum(axis=1)
    first = int(np.argmax(_power(kept, precision, target, delta * (1 - late_share))))
    late = _power(kept, precision, target, delta * late_share)
    second = int(np.flatnonzero(late >= late.max() / 2)[-1])
    shares = {first: 1.0} if first == second else {first: 1 - late_share, second: late_share}
    return Procedure(
        grid=tuple(float(value) for value in grid),
        starts=tuple(sorted(shares)),
        shares=tuple(shares[place] for place in sorted(shares)),
        origin=f"{len(grid)} quantiles of {len(values)} probabilities of other questions, starts by power",
    )


def _power(kept: Counts, precision: Floats, target: float, level: float) -> Floats:
    """The probability that so many kept pass the exact test at a level if their precision is as given."""
    allowed = _errors_allowed(kept, target, level)
    return np.where(allowed < 0, 0.0, bdtr(np.maximum(allowed, 0), kept, 1 - precision))


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
    """The least selective threshold whose precision is guaranteed, or why there is none.

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
    _check(target, delta)
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


def least_selective(kept: Counts, errors: Counts, target: float, delta: float, procedure: Procedure) -> Indices:
    """Runs the procedure on counts [..., grid] at once; the index of the last rejected threshold, -1 for none.

    Args:
        kept: how many are kept at each threshold of the grid.
        errors: how many of them are wrong.
        target: precision to guarantee.
        delta: probability of failure allowed.
        procedure: whose grid the counts belong to.
    """
    p_values = bdtr(errors.astype(np.float64), np.maximum(kept, 1), 1 - target)
    p_values = np.where(kept > 0, p_values, 1.0)
    entering = np.zeros(len(procedure.grid))
    entering[list(procedure.starts)] = np.array(procedure.shares) * delta
    carried = np.zeros(kept.shape[:-1])
    found = np.full(kept.shape[:-1], -1, dtype=np.intp)
    for at in range(len(procedure.grid)):
        level = carried + entering[at]
        rejected = (level > 0) & (p_values[..., at] <= level)
        carried = np.where(rejected, level, 0.0)
        found = np.where(rejected, at, found)
    return found


def plan(
    target: float, delta: float, rate: float, *, coverage: float = 1.0, power: float = 0.8, starts: int = 2
) -> int:
    """How many labelled questions a guarantee will take.

    Args:
        target: precision to guarantee.
        delta: probability of failure allowed.
        rate: precision expected of what is kept; must lie above the target.
        coverage: share of the questions expected to be kept.
        power: probability with which the threshold is to pass.
        starts: delta is split over so many; the plan counts with one share.

    Returns:
        The smallest number of questions from which on the test passes with that power (at the expected share kept).

    Raises:
        InputError: an argument out of range, or a rate that is not above the target.
    """
    _check(target, delta)
    for name, value in (("coverage", coverage), ("power", power)):
        if not 0 < value <= 1 or (name == "power" and value == 1):
            raise InputError(f"{name} must lie between 0 and 1, not {value:g}")
    if not target < rate <= 1:
        raise InputError(
            f"rate is the precision expected of what is kept, and must lie above the target {target:g}; it is {rate:g}"
        )
    level = delta / starts
    kept = fewest_kept(target, level)
    while kept < 10_000_000:
        numbers = np.arange(kept, 2 * kept)
        allowed = _errors_allowed(numbers, target, level)
        enough = (allowed >= 0) & (bdtr(np.maximum(allowed, 0), numbers, 1 - rate) >= power)
        # Power rises in saw teeth: take the number from which on it stays.
        tail = np.flatnonzero(~enough)
        if not len(tail) or tail[-1] < len(numbers) // 2:
            first = numbers[0] if not len(tail) else numbers[tail[-1] + 1]
            return math.ceil(int(first) / coverage)
        kept = 2 * kept
    raise InputError(f"a rate of {rate:g} is too close to the target {target:g}: more than ten million labels")


def _errors_allowed(numbers: Counts, target: float, level: float) -> Counts:
    """The largest number of errors with which the exact test passes at each number kept; -1 for none."""
    from scipy.stats import binom

    allowed = binom.ppf(level, numbers, 1 - target).astype(np.int64)
    return np.asarray(np.where(bdtr(allowed, numbers, 1 - target) <= level, allowed, allowed - 1))


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
    level = delta * min(procedure.shares)
    least = fewest_kept(target, level)
    more = [
        number - questions
        for k, e in zip(kept, errors, strict=True)
        if (number := _questions_needed(int(k), int(e), questions, target, level)) is not None
    ]
    if int(kept.max(initial=0)) < least:
        reason = f"at most {int(kept.max(initial=0))} questions are kept, and below {least} none can pass"
    elif not more:
        reason = f"no threshold of the grid keeps more than {100 * target:g} % right"
    else:
        reason = "the labels do not suffice to tell the best thresholds from the target"
    needed = max(1, min(more)) if more else None
    return Abstention(
        reason=reason, target=target, delta=delta, questions=questions, labels_needed=needed, procedure=procedure
    )


def _questions_needed(kept: int, errors: int, questions: int, target: float, level: float) -> int | None:
    """Questions with which a threshold passes if its error rate and coverage stay what they were."""
    if kept == 0 or errors / kept >= 1 - target:
        return None
    numbers = np.unique(np.geomspace(fewest_kept(target, level), 1_000_000, 4000).astype(np.int64))
    passing = bdtr(np.ceil(numbers * errors / kept), numbers, 1 - target) <= level
    if not passing.any():
        return None
    return math.ceil(int(numbers[np.argmax(passing)]) * questions / kept)


def _scores(
    scores: Sequence[float] | Floats, correct: Sequence[bool] | Bools, questions: Sequence[str], given: object
) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if not len(values) == len(correct) == len(questions):
        raise InputError(
            f"{len(values)} scores, {len(correct)} labels and {len(questions)} questions: they must match one to one"
        )
    if not len(values):
        raise InputError("there is no labelled judgment to seek a threshold on")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number: leave out judgments without a score")
    if given is None and (values.min() < 0 or values.max() > 1):
        raise InputError("these scores are no probabilities: fix a procedure with a grid on their scale beforehand")
    return np.round(values, 9)


def _check(target: float, delta: float) -> None:
    _check_target(target)
    if not 0 < delta < 1:
        why = "certainty takes infinitely many labels" if delta == 0 else "it is the probability that the promise fails"
        raise InputError(f"delta must lie strictly between 0 and 1, not {delta:g}: {why}")


def _check_target(target: float) -> None:
    if not 0 < target < 1:
        why = (
            "no finite number of labels proves that nothing is wrong" if target == 1 else "it is a share of right ones"
        )
        hint = f"; did you mean {target / 100:g}?" if 1 < target < 100 else ""
        raise InputError(f"target must lie strictly between 0 and 1, not {target:g}: {why}{hint}")
