"""How well a policy's decisions stand up to people's, each figure with its denominator and interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from metajudge.feedback.cases import APPROVED, REJECTED, DecidedCase
from metajudge.stats.bootstrap import bootstrap_ratio
from metajudge.stats.intervals import wilson
from metajudge.types.figure import Figure
from metajudge.types.frozen import Finite

MetricName = Literal[
    "accuracy", "false_approve_rate", "false_reject_rate", "review_efficiency", "ground_truth_reliability"
]
RESAMPLES = 2_000


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


def _true(case: DecidedCase) -> bool | None:
    if case.truth is None or case.action not in (APPROVED, REJECTED):
        return None
    return case.truth == (case.action == APPROVED)


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
        _true,
    ),
}


def metrics(cases: Sequence[DecidedCase], *, seed: int = 0) -> dict[MetricName, Metric]:
    """All metrics over some cases.

    Where cases were reviewed with different probabilities (an audited share of approvals beside all doubtful cases),
    each counts with the inverse of its own (Horvitz and Thompson, 1952, as a ratio), and the interval is a bootstrap
    over questions; else it is Wilson's, or the bootstrap where questions repeat. Where all cases agree, no resample
    differs, and the interval is Wilson's with questions as its n.
    """
    return {name: _metric(name, one, cases, seed) for name, one in DEFINITIONS.items()}


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


def _metric(name: MetricName, definition: Definition, cases: Sequence[DecidedCase], seed: int) -> Metric:
    counted = [(case, hit) for case in cases if (hit := definition.counted(case)) is not None]
    if not counted:
        why = "no such case yet"
        return Metric(name=name, n=0, target=definition.target, met=None, method=why, definition=definition.text)
    (value, low, high), method = _share(counted, seed)
    met = value <= definition.target if definition.at_most else value >= definition.target
    figure = {"value": value, "low": low, "high": high, "method": method, "met": met}
    return Metric(name=name, n=len(counted), target=definition.target, definition=definition.text, **figure)


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
