"""The shipped default: a prior over sets, and what leaving each of them out says of it.

The rule, for every kind of verdicts in every state of the evidence, over the sets of the kind left out one at a time
(parts of a set together, sets with equal weight, 95 % intervals from resampled questions):

- ``no_better``: on some part of a set it is worse than the base rate by an interval that excludes 0, or over the sets
  it is not better by one.
- ``decides``: else, if there are two sets or more, and over them its log loss is lower than that of what decides
  without it by an interval that excludes 0, and its precision at 60 and at 40 % kept is not lower by one. Without it
  the heuristic decides on pairs, and P(right) by agreement alone on other kinds where there is such a number.
- ``beside``: else.

The base rate is the share of right ones among the very judgments, which nobody knows without labels.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from metajudge.calibration.transfer import EVIDENCE, Evidence, Prior, Result, Standing, packed
from metajudge.calibration.transfer_fit import LabelledInput, learn_weights
from metajudge.types import VerdictKind

from .transfer_figures import Interval, is_above, is_below
from .transfer_inputs import TransferInput
from .transfer_study import BASE, over_sets

DIGITS = 6

FEWEST_SETS = 2
"""One set left out does not show that what was learned on others carries over to a kind of verdicts."""


def standings_of(rows: Sequence[Mapping[str, Any]]) -> list[Standing]:
    """What leaving sets out showed, by kind and state of the evidence.

    Args:
        rows: of :func:`~.transfer_study.left_out_sets`.
    """
    found: defaultdict[tuple[VerdictKind, Evidence], list[tuple[str, str, Any]]] = defaultdict(list)
    for row in rows:
        for evidence in EVIDENCE:
            state = row["states"][evidence]
            if state is not None:
                title = f"{row['set']} {row['part']}".strip()
                found[row["kind"], evidence].append((row["set"], title, state))
    return [_standing(kind, evidence, states) for (kind, evidence), states in sorted(found.items())]


def _standing(kind: VerdictKind, evidence: Evidence, states: Sequence[tuple[str, str, Any]]) -> Standing:
    by_set = [(name, state) for name, _, state in states]
    names = ", ".join(dict.fromkeys(name for name, _ in by_set))
    base = over_sets(by_set, BASE)["log loss"]
    worse = [title for _, title, state in states if is_above(state["differences"][BASE]["log loss"])]
    rival = "no labels" if kind != "pairwise" and evidence == "crowd" else "heuristic"
    beside = over_sets(by_set, rival)
    said = (
        f"log loss less that of the base rate {_words(base)}, of what decides without it ({rival}) "
        f"{_words(beside['log loss'])}; best 60 % {_words(beside['best 60 %'], 1)}, best 40 % "
        f"{_words(beside['best 40 %'], 1)} points; left out: {names}"
    )
    result: Result = "beside"
    if worse:
        result, said = "no_better", f"worse than the base rate on {', '.join(worse)}; {said}"
    elif not is_below(base):
        result = "no_better"
    elif len({name for name, _ in by_set}) >= FEWEST_SETS and is_below(beside["log loss"]):
        result = "beside" if is_below(beside["best 60 %"]) or is_below(beside["best 40 %"]) else "decides"
    return Standing(kind=kind, evidence=evidence, result=result, why=said)


def _words(one: Interval, digits: int = 3) -> str:
    value, low, high = one
    ends = "" if low is None or high is None else f" ({low:+.{digits}f} to {high:+.{digits}f})"
    return f"{value:+.{digits}f}{ends}"


def shipped_prior(inputs: Sequence[TransferInput], standings: Sequence[Standing], *, made: str, command: str) -> Prior:
    """The prior of all sets."""
    weights = learn_weights([LabelledInput(one.name, one.table) for one in inputs])
    rounded = {
        evidence: one.model_copy(
            update={
                "mean": tuple(round(value, DIGITS) for value in one.mean),
                "variance": tuple(round(value, DIGITS) for value in one.variance),
            }
        )
        for evidence, one in weights.items()
    }
    return Prior(
        made=made,
        command=command,
        sets=tuple(one.about() for one in inputs),
        weights=rounded,
        standings=tuple(standings),
        questions=packed(question for one in inputs for question in one.table.questions),
    )
