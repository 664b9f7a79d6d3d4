"""Repeated runs: test-retest agreement, stability classes, the choice of a third run, and where variance comes from.

A *run* judges fixed responses anew (fresh seeds, criteria, orders); a *cycle* makes the responses themselves anew and
then judges them. A label is a verdict such as a winner's name; ``None`` means a run without one and is counted
apart, never as a disagreement.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.agreement import Agreement, cohen_kappa
from metajudge.stats.arrays import coded
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import wilson


class Correctness(StrEnum):
    """How one evaluation compares with the human verdict; none of the last three is a mismatch."""

    RIGHT = "right"
    WRONG = "wrong"
    TIE = "tie"
    NO_VERDICT = "no_verdict"
    ERROR = "error"

    @property
    def has_verdict(self) -> bool:
        """A tie is a verdict; an error or an empty result is none."""
        return self not in (Correctness.NO_VERDICT, Correctness.ERROR)


class StabilityClass(StrEnum):
    """What repeated runs say about one evaluation."""

    STABLE_RIGHT = "stable_right"
    STABLE_WRONG = "stable_wrong"
    STABLE_TIE = "stable_tie"
    UNSTABLE = "unstable"
    UNDETERMINED = "undetermined"


def stability_class(outcomes: Sequence[Correctness]) -> StabilityClass:
    """Classifies one evaluation by its runs: stable where all verdicts agree, unstable where two differ.

    Runs without a verdict say nothing; with fewer than two verdicts the class is undetermined.
    """
    decided = [outcome for outcome in outcomes if outcome.has_verdict]
    if len(decided) < 2:
        return StabilityClass.UNDETERMINED
    return StabilityClass(f"stable_{decided[0]}") if len(set(decided)) == 1 else StabilityClass.UNSTABLE


@dataclass(frozen=True, slots=True)
class TestRetest:
    """Two runs over the same evaluations.

    Attributes:
        same: share of evaluations with the same label in both runs; None where no evaluation has two labels.
        kappa: Cohen's kappa of the two runs' labels, chance from each run's margins; None likewise.
        n: evaluations with a label in both runs.
        without: evaluations that lack one in a run.
    """

    __test__ = False  # the name is the field's, not a test's

    same: Estimate | None
    kappa: Agreement | None
    n: int
    without: int


def retest(first: Sequence[Hashable | None], second: Sequence[Hashable | None]) -> TestRetest:
    """Agreement of two runs with each other, whatever is right.

    Give verdicts, not matches with a human: two wrong verdicts for different responses are a match of mismatches, and
    the kappa of matches is that of another question. A tie is a label like any other. Assumes independent evaluations.

    Args:
        first: a label an evaluation, None where the run has none.

    Raises:
        InputError: unequal lengths.
    """
    if len(first) != len(second):
        raise InputError(f"the first run has {len(first)} labels, the second {len(second)}: they must match one to one")
    both = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    without = len(first) - len(both)
    if not both:
        return TestRetest(None, None, 0, without)
    same = wilson(sum(one == other for one, other in both), len(both))
    kappa = cohen_kappa([one for one, _ in both], [other for _, other in both])
    return TestRetest(same, kappa, len(both), without)


@dataclass(frozen=True, slots=True)
class ThirdRun:
    """Which evaluations a targeted third run takes, and why.

    Attributes:
        stable_wrong: all evaluations wrong in every run so far.
        unstable: all evaluations whose runs differ.
        low_confidence: the stable-right ones of least mean confidence.
        left_out: stable-right ones that share the confidence of the last place and did not fit.
        drawn: how many of those of equal confidence were drawn for the last places; 0 where no draw was needed or made.
        rule: the rule, in a sentence.
    """

    stable_wrong: tuple[str, ...]
    unstable: tuple[str, ...]
    low_confidence: tuple[str, ...]
    left_out: tuple[str, ...]
    drawn: int
    rule: str

    @property
    def chosen(self) -> tuple[str, ...]:
        """All of them, each once."""
        return (*self.stable_wrong, *self.unstable, *self.low_confidence)


def choose_third_run(
    classes: Mapping[str, StabilityClass], confidence: Mapping[str, float | None], size: int, rng: Random | None = None
) -> ThirdRun:
    """Chooses the evaluations that a third run tells most about.

    All stable-wrong and all unstable ones, then stable-right ones in order of rising mean confidence until ``size`` is
    filled. Where a group of equal confidence does not fit, the last places are drawn from it by lot, or without a
    generator left empty: no tie is settled by an id or an order. Stable ties and undetermined ones are not taken: there
    is nothing to confirm.

    Args:
        classes: id -> class over the runs so far.
        confidence: id -> mean confidence over the runs so far, in [0, 1]; None sorts as least, as nothing is known.
        size: how many evaluations the third run shall have; more where the first two groups alone are more.
        rng: draws among equals; the same seed draws the same, in whatever order the ids come.

    Raises:
        InputError: size is negative, or a class has no entry in confidence.
    """
    if size < 0:
        raise InputError(f"size must be 0 or more, not {size}")
    missing = sorted(set(classes) - set(confidence))
    if missing:
        raise InputError(f"no confidence is given for {', '.join(missing[:5])}: give None where it is not known")
    wrong = tuple(name for name, kind in classes.items() if kind is StabilityClass.STABLE_WRONG)
    unstable = tuple(name for name, kind in classes.items() if kind is StabilityClass.UNSTABLE)
    groups: dict[float, list[str]] = {}
    for name, kind in classes.items():
        if kind is StabilityClass.STABLE_RIGHT:
            known = confidence[name]
            groups.setdefault(-1.0 if known is None else round(known, 9), []).append(name)
    room, low, left, drawn = size - len(wrong) - len(unstable), list[str](), list[str](), 0
    for level in sorted(groups):
        if room <= 0:
            break
        if len(groups[level]) > room:
            lot = [] if rng is None else rng.sample(sorted(groups[level]), room)
            low, drawn, left = low + lot, len(lot), [name for name in groups[level] if name not in lot]
            break
        low += groups[level]
        room -= len(groups[level])
    equals = (
        "the last places among equal confidence are drawn at random" if rng else "equal confidence whole or not at all"
    )
    rule = f"all stable-wrong, all unstable, then stable-right by least mean confidence up to {size}; {equals}"
    return ThirdRun(wrong, unstable, tuple(low), tuple(left), drawn, rule)


@dataclass(frozen=True, slots=True)
class Repetition:
    """How labels come again in series, such as the winners of a prompt over its cycles or the digests of its answers.

    Attributes:
        equal: names of the series with one label throughout.
        repeated: names of those in which some labels come again.
        different: names of those in which none does.
        without: names of those with fewer than two labels.
    """

    equal: tuple[Hashable, ...]
    repeated: tuple[Hashable, ...]
    different: tuple[Hashable, ...]
    without: tuple[Hashable, ...]

    @property
    def n(self) -> int:
        """Series with at least two labels."""
        return len(self.equal) + self.n_changing

    @property
    def n_changing(self) -> int:
        """Series with two labels that differ."""
        return len(self.repeated) + len(self.different)


def repetition(series: Mapping[Any, Sequence[str | None]]) -> Repetition:
    """Sorts series by how their labels come again.

    Args:
        series: name -> label of each cycle, None where a cycle has none. Give a tie a label of its own (``"tie"``),
            which is a verdict.
    """
    kinds: dict[str, list[Hashable]] = {"equal": [], "repeated": [], "different": [], "without": []}
    for name, labels in series.items():
        given = [label for label in labels if label is not None]
        many = len(set(given))
        kind = "equal" if many == 1 else "different" if many == len(given) else "repeated"
        kinds[kind if len(given) > 1 else "without"].append(name)
    return Repetition(**{kind: tuple(names) for kind, names in kinds.items()})


def repetition_by(series: Mapping[str, Sequence[str | None]], groups: Mapping[str, str]) -> dict[str, Repetition]:
    """:func:`repetition` within each group of series, such as their difficulty, in order of first appearance.

    Raises:
        InputError: a series has no group.
    """
    missing = [name for name in series if name not in groups]
    if missing:
        raise InputError(f"no group is given for {missing[0]}: name one for each")
    order = dict.fromkeys(groups[name] for name in series)
    return {group: repetition({p: one for p, one in series.items() if groups[p] == group}) for group in order}


def kendall_across(cycles: Sequence[Mapping[str, float]]) -> float | None:
    """The mean of Kendall's tau-b (Kendall, 1945) of candidates' scores or ranks over every two cycles of one prompt.

    Args:
        cycles: candidate -> score (or rank) for each cycle; equal values are ties.

    Returns:
        None where no two cycles have a tau: with one cycle or candidate, or where one of every two ties all candidates.

    Raises:
        InputError: cycles name different candidates.
    """
    from scipy.stats import kendalltau

    if any(set(cycle) != set(cycles[0]) for cycle in cycles):
        raise InputError("every cycle must rank the same candidates: leave out a cycle that lost one, and say so")
    scores = [[cycle[name] for name in sorted(cycles[0])] for cycle in cycles]
    pairs = combinations([one for one in scores if len(set(one)) > 1], 2)
    taus = [float(kendalltau(first, second).statistic) for first, second in pairs]
    return sum(taus) / len(taus) if taus else None


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Components of variance within prompts.

    Attributes:
        generation: variance between cycles of one prompt, beyond what judging alone would give; None where it cannot
            be estimated, see ``reason``. Cut at 0.
        judgment: variance between judgments of the same responses; None likewise.
        generation_share: generation / (generation + judgment), in [0, 1]; None where both are 0 or unknown.
        reason: why a figure is absent, else empty.
    """

    generation: float | None
    judgment: float | None
    generation_share: float | None
    n: int
    method: str
    reason: str = ""


_METHOD = "nested analysis of variance, expected mean squares"


def split_variance(values: Mapping[str, Sequence[Sequence[float]]]) -> VarianceSplit:
    """Splits variance within prompts between generation (cycles) and judgment (repeats within a cycle).

    A nested random-effects analysis of variance (Searle, Casella and McCulloch, "Variance Components", 1992): the mean
    square within cycles estimates judgment, that between cycles judgment plus n0 times generation, where n0 is the
    usual mean size for unequal cycles. Needs a prompt with two cycles, and a cycle with two judgments: with one
    judgment a cycle the two cannot be separated, however large the difference to another study's retest may be.

    Args:
        values: prompt -> for each cycle the outcome of each judgment of its responses, such as 1 where the first
            candidate wins, 0 where the second does and .5 for a tie.

    Raises:
        InputError: an outcome is NaN or infinite.
    """
    cycles = [(prompt, np.asarray(c, dtype=np.float64)) for prompt, series in values.items() for c in series if len(c)]
    for prompt, outcomes in cycles:
        if not np.isfinite(outcomes).all():
            raise InputError(
                f"prompt {prompt} has an outcome that is no finite number: leave out judgments without one"
            )
    prompts, codes = coded([prompt for prompt, _ in cycles])
    sizes, means = np.array([len(c) for _, c in cycles]), np.array([c.mean() for _, c in cycles])
    n, within, between = int(sizes.sum()), int(sizes.sum()) - len(cycles), len(cycles) - len(prompts)

    def found(generation: float | None, judgment: float | None, share: float | None, reason: str = "") -> VarianceSplit:
        return VarianceSplit(generation, judgment, share, n, _METHOD, reason)

    if not within:
        return found(None, None, None, "no cycle was judged twice: judge the same responses repeatedly")
    judgment = float(sum(((c - c.mean()) ** 2).sum() for _, c in cycles)) / within
    if not between:
        return found(None, judgment, None, "no prompt has two cycles: nothing was generated anew")
    held, squared, sums = (np.bincount(codes, weights=part) for part in (sizes, sizes**2, sizes * means))
    apart = float(sizes @ (means - (sums / held)[codes]) ** 2) / between
    generation = max(0.0, (apart - judgment) / ((n - float((squared / held).sum())) / between))
    total = generation + judgment
    if not total:
        return found(0.0, 0.0, None, "every judgment of a prompt has the same outcome: there is no variance to split")
    return found(generation, judgment, generation / total)
