"""How well a policy's decisions stand up to people's: figures with denominator and interval, and patterns beyond noise.

A pattern says where the machine is too lenient or too strict, and by how much.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from metajudge.feedback.cases import APPROVED, FEWEST_CORRECTIONS, REJECTED, DecidedCase, Direction, shifts_of
from metajudge.stats.bootstrap import bootstrap_ratio
from metajudge.stats.intervals import wilson
from metajudge.stats.multiple import holm
from metajudge.stats.paired import wilcoxon_signed_rank
from metajudge.types.figure import Figure
from metajudge.types.frozen import Finite, Frozen

MetricName = Literal[
    "accuracy", "false_approve_rate", "false_reject_rate", "review_efficiency", "ground_truth_reliability"
]
RESAMPLES = 2_000
LEVEL = 0.05
"""Significance level over all patterns together (Holm, 1979)."""
FEWEST_CASES = 10
FEWEST_CRITERIA = 3
"""From this many criteria with the same bias the prompt is at fault rather than each one's wording."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric is.

    Attributes:
        text: numerator over denominator, in words.
        target: what is aimed for, a share; ``at_most`` says on which side.
        counted: a case's place in the numerator, None where it is not in the denominator.
    """

    text: str
    target: float
    at_most: bool
    counted: Callable[[DecidedCase], bool | None]


class _MetricName(Finite):
    name: MetricName


class Metric(Figure, _MetricName):
    """One figure.

    Attributes:
        value: in [0, 1]; None where there is no case to measure on, never a flattering default.
        low, high: 95 % interval; None with the value, and where all cases are about one question.
        n: cases in the denominator.
        met: whether the target is met by the value; None without one.
        method: how the interval was made.
        definition: in words.
    """

    n: int
    target: float
    met: bool | None
    method: str
    definition: str


LABELLED = "labelled"
"""How many cases have a label: as little for reviewers as what is measured on them."""

GROUND_TRUTH: MetricName = "ground_truth_reliability"
"""The only metric based on the items' own labels, which reviewers are not shown."""

DEFINITIONS: Mapping[MetricName, Definition] = {
    "accuracy": Definition(
        "cases where machine and people agree (approved and judged right, rejected and judged wrong, reviewed and "
        "changed or rejected) / all decided cases",
        0.92,
        False,
        lambda case: case.agreed,
    ),
    "false_approve_rate": Definition(
        "approved cases that people judge wrong / approved cases",
        0.05,
        True,
        lambda case: None if case.action != APPROVED or case.right is None else not case.right,
    ),
    "false_reject_rate": Definition(
        "rejected cases that people judge right / rejected cases",
        0.03,
        True,
        lambda case: case.right if case.action == REJECTED else None,
    ),
    "review_efficiency": Definition(
        "reviewed cases that people changed or rejected / reviewed cases",
        0.85,
        False,
        lambda case: None if case.action in (APPROVED, REJECTED) else case.review_was_needed,
    ),
    "ground_truth_reliability": Definition(
        "approved cases whose true label is right, and rejected ones whose is wrong / approved and rejected cases with "
        "a true label",
        0.90,
        False,
        lambda case: (
            None
            if case.truth is None or case.action not in (APPROVED, REJECTED)
            else case.truth == (case.action == APPROVED)
        ),
    ),
}


def metrics(cases: Sequence[DecidedCase], *, seed: int = 0) -> dict[MetricName, Metric]:
    """All metrics over some cases.

    Where cases were reviewed with different probabilities (an audited share of approvals beside all doubtful cases),
    each counts with the inverse of its own (Horvitz and Thompson, 1952, as a ratio), and the interval is a bootstrap
    over questions; else it is Wilson's, or the bootstrap where questions repeat. Where all cases agree, no resample
    differs, and the interval is Wilson's with questions as its n.
    """
    found: dict[MetricName, Metric] = {}
    for name, one in DEFINITIONS.items():
        counted = [(case, hit) for case in cases if (hit := one.counted(case)) is not None]
        value = low = high = met = None
        method = "no such case yet"
        if counted:
            (value, low, high), method = _share(counted, seed)
            met = value <= one.target if one.at_most else value >= one.target
        figure = {"value": value, "low": low, "high": high, "method": method, "met": met}
        found[name] = Metric(name=name, n=len(counted), target=one.target, definition=one.text, **figure)
    return found


def metrics_by(
    cases: Iterable[DecidedCase], key: Callable[[DecidedCase], str | None], *, seed: int = 0
) -> dict[str, dict[MetricName, Metric]]:
    """Metrics of each group, by its name; cases without one are left out."""
    groups: dict[str, list[DecidedCase]] = {}
    for case in cases:
        name = key(case)
        if name is not None:
            groups.setdefault(name, []).append(case)
    return {name: metrics(groups[name], seed=seed) for name in sorted(groups)}


def _share(
    counted: Sequence[tuple[DecidedCase, bool]], seed: int
) -> tuple[tuple[float, float | None, float | None], str]:
    """Estimate, ends of the interval, and how it was made."""
    yes = np.array([hit for _, hit in counted], dtype=np.float64)
    weights = np.array([case.weight for case, _ in counted])
    questions = [case.question for case, _ in counted]
    distinct = len(set(questions))
    if np.ptp(weights) == 0 and distinct == len(questions):
        found = wilson(int(yes.sum()), len(yes))
        return (found.estimate, found.low, found.high), found.method
    if distinct < 2:
        return (float(np.average(yes, weights=weights)), None, None), "no interval: all cases are about one question"
    if yes.min() == yes.max():  # every resample is the same, and its interval would claim to be sure
        found = wilson(distinct if yes[0] else 0, distinct)
        return (found.estimate, found.low, found.high), "Wilson over questions, as all cases agree"
    drawn = bootstrap_ratio(
        yes * weights, weights, questions, rng=np.random.default_rng([seed, len(yes)]), resamples=RESAMPLES
    )
    return (drawn.estimate, drawn.low, drawn.high), "bootstrap over questions, weighted by inverse inclusion"


def without_truth(report: Any) -> Any:
    """A report as plain data, without the metric based on the items' labels."""
    if not isinstance(report, Mapping):
        return report
    return {name: without_truth(value) for name, value in report.items() if name not in (GROUND_TRUTH, LABELLED)}


class Pattern(Frozen):
    """One way in which machine and people differ.

    Attributes:
        where: the criterion, or the action whose error rate is meant.
        category: None for all.
        shift: people's score less the machine's, mean, on the rubric's scale; for an action its error rate.
        n: corrected scores, or cases with that action.
        p_value: two-sided signed-rank test of the shifts, or the exact one-sided binomial test of the rate against
            its target.
        significant: whether it is significant at :data:`LEVEL` among all patterns tested.
        text: the pattern in a sentence.
    """

    direction: Direction
    kind: str
    where: str
    category: str | None
    shift: float
    n: int
    p_value: float
    significant: bool = False
    text: str = ""

    def describe(self) -> str:
        """The pattern in a sentence."""
        scope = "" if self.category is None else f" in {self.category}"
        sure = f"p = {self.p_value:.2g}" + ("" if self.significant else ", which may be noise")
        if self.kind == "criterion":
            how = "too lenient" if self.direction is Direction.TOO_LENIENT else "too strict"
            return f"{self.where}{scope} is scored {how} by {abs(self.shift):.2g} ({self.n} corrections, {sure})"
        word = "wrong" if self.direction is Direction.TOO_LENIENT else "right"
        return f"{100 * self.shift:.0f} % of {self.n} {self.where} cases{scope} were {word} ({sure})"


def find_patterns(cases: Sequence[DecidedCase]) -> list[Pattern]:
    """Patterns per criterion, per action, and per category of each; the surest first."""
    found = [*_criteria(cases, None), *_actions(cases, None)]
    categories = sorted({case.category for case in cases if case.category})
    for category in categories if len(categories) > 1 else ():
        mine = [case for case in cases if case.category == category]
        found += [*_criteria(mine, category), *_actions(mine, category)]
    found.sort(key=lambda one: (one.p_value, one.kind, one.where, one.category or ""))
    sure = holm([one.p_value for one in found]) <= LEVEL
    known = [one.model_copy(update={"significant": bool(done)}) for one, done in zip(found, sure, strict=True)]
    return [one.model_copy(update={"text": one.describe()}) for one in known]


def disagreements(cases: Iterable[DecidedCase]) -> dict[Direction, list[DecidedCase]]:
    """Cases by the way in which machine and people disagree."""
    found: dict[Direction, list[DecidedCase]] = {direction: [] for direction in Direction}
    for case in cases:
        if case.disagreement is not None:
            found[case.disagreement].append(case)
    return found


def _criteria(cases: Sequence[DecidedCase], category: str | None) -> list[Pattern]:
    found = []
    for name, values in sorted(shifts_of(cases).items()):
        mean = sum(values) / len(values)
        if len(values) < FEWEST_CORRECTIONS or mean == 0:
            continue
        direction = Direction.TOO_LENIENT if mean < 0 else Direction.TOO_STRICT
        p = wilcoxon_signed_rank([round(value, 9) for value in values]).p_value
        found.append(_pattern(direction, "criterion", name, category, mean, len(values), p))
    return found


def _actions(cases: Sequence[DecidedCase], category: str | None) -> list[Pattern]:
    from scipy.stats import binomtest

    found = []
    tried: Sequence[tuple[str, Direction, MetricName]] = (
        (APPROVED, Direction.TOO_LENIENT, "false_approve_rate"),
        (REJECTED, Direction.TOO_STRICT, "false_reject_rate"),
    )
    for action, direction, metric in tried:
        known = [case for case in cases if case.action == action and case.right is not None]
        errors, target = sum(case.disagreement is direction for case in known), DEFINITIONS[metric].target
        if len(known) < FEWEST_CASES or errors <= target * len(known):
            continue
        p = float(binomtest(errors, len(known), target, alternative="greater").pvalue)
        found.append(_pattern(direction, "action", action, category, errors / len(known), len(known), p))
    return found


def _pattern(*values: object) -> Pattern:
    return Pattern.model_validate(dict(zip(Pattern.model_fields, values, strict=False)))


@dataclass(frozen=True, slots=True)
class Advice:
    """A revision a person may make; it asks models anew, so it can be tested only by judging again.

    Attributes:
        kind: ``rubric`` for one criterion's wording, ``prompt`` for the instructions of judges or agents.
        where: the criterion; None for a prompt.
        category: None for all.
        text: what to do and why, in a sentence.
    """

    kind: Literal["rubric", "prompt"]
    direction: Direction
    where: str | None
    category: str | None
    text: str


def advise(patterns: Sequence[Pattern]) -> list[Advice]:
    """Advice from the significant patterns on criteria; empty if there are none."""
    found = []
    sure = [one for one in patterns if one.significant and one.kind == "criterion"]
    scopes = sorted({(one.category or "", one.direction) for one in sure})
    for category, direction in scopes:
        mine = [one for one in sure if (one.category or "") == category and one.direction is direction]
        if len(mine) < FEWEST_CRITERIA:
            lacks = "what a lower level lacks" if direction is Direction.TOO_LENIENT else "what a high level may lack"
            found += [
                Advice(
                    *("rubric", direction, one.where, one.category),
                    f"revise the rubric's wording of {one.where}, so that it says {lacks}: {one.text}",
                )
                for one in mine
            ]
            continue
        how = "too lenient" if direction is Direction.TOO_LENIENT else "too strict"
        text = (
            f"revise the agents' prompt (role or instruction){f' in {category}' if category else ''}: {len(mine)} "
            f"criteria ({', '.join(sorted(one.where for one in mine))}) are scored {how}, by "
            f"{sum(abs(one.shift) for one in mine) / len(mine):.2g} on average, so it is not one criterion's wording"
        )
        found.append(Advice("prompt", direction, None, category or None, text))
    return found
