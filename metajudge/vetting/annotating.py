"""What a calibration and a policy say of many assessments at once, where no agent was asked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metajudge.decision.columns import decide_column
from metajudge.decision.verdicts import agreement_of, decide_verdict
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import Assessment
from metajudge.types.decision import Absent
from metajudge.vetting.probability import Probabilities, may_decide

if TYPE_CHECKING:
    from metajudge.decision import Policy


_FROM_SOURCE = ("outside_guarantee", "probability_source", "probability_threshold")


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedColumn:
    """Assessments of n judgments with what a calibration and a policy say.

    Numbers that belong to each judgment alone are columns; all else is said once a kind.

    Attributes:
        codes: [n] places in ``kinds``.
        kinds: an assessment of each kind; its numbers are those of the first judgment of the kind.
        found: for each kind the place of the panel's own assessment.
        probabilities: [n] NaN where missing.
        decided: for each kind whether the policy decides on the probability: then values and margins are its own.
        values, unadjusted, margins: [n] of the decision where ``decided``; NaN where missing.
    """

    codes: Indices
    kinds: Sequence[Assessment]
    found: Sequence[int]
    probabilities: Floats
    decided: Bools
    values: Floats
    unadjusted: Floats
    margins: Floats

    def at(self, row: int, own: Assessment) -> Assessment:
        """One judgment's assessment, from the panel's own."""
        code = int(self.codes[row])
        kind, probability = self.kinds[code], float(self.probabilities[row])
        names = ("status", "accepted", "failure", "probability_marks", "calibrated", "calibration", "guarantee")
        update = {name: getattr(kind, name) for name in (*names, *_FROM_SOURCE, "decision")}
        update["probability"] = None if probability != probability else probability
        if self.decided[code] and kind.decision is not None:
            margin, before = float(self.margins[row]), float(self.unadjusted[row])
            inputs = {"value": float(self.values[row])} | ({} if before != before else {"unadjusted": before})
            update["decision"] = kind.decision.model_copy(
                update={
                    "inputs": kind.decision.inputs.model_copy(update=inputs),
                    "margin": None if margin != margin else margin,
                }
            )
        return own.model_copy(update=update)


def annotated_column(
    found: Sequence[Assessment],
    codes: Indices,
    *,
    probabilities: Probabilities | None = None,
    rows: Indices,
    policy: "Policy | None" = None,
    broken: Collection[str] = frozenset(),
) -> AnnotatedColumn:
    """What :meth:`Probabilities.complete` and :func:`~metajudge.vetting.policies.decided` say of each judgment.

    Args:
        found: different assessments by panels that asked no agent; ids, judge and signals are not looked at.
        codes: [n] each judgment's place in ``found``.
        probabilities: None without a calibration.
        rows: [n] places of the judgments in the facts of ``probabilities``.
        policy: None without one.
        broken: ids of promises found broken.

    Raises:
        InputError: a score off the policy's scale.
    """
    kinds, of_row, numbers = _calibrated(found, codes, probabilities, rows, broken)
    places = np.array([place for place, _ in kinds], dtype=np.intp)
    assessments = [assessment for _, assessment in kinds]
    nothing = np.full(len(codes), np.nan)
    if policy is None or not kinds:
        undecided = np.zeros(len(kinds), dtype=bool)
        return AnnotatedColumn(of_row, assessments, places.tolist(), numbers, undecided, nothing, nothing, nothing)
    by_number = np.array([policy.basis == "probability" and one.probability is not None for one in assessments])
    once = [
        one if own else one.model_copy(update={"decision": decide_verdict(policy, one)})
        for one, own in zip(assessments, by_number.tolist(), strict=True)
    ]
    chosen = np.flatnonzero(by_number[of_row])
    if not len(chosen):
        return AnnotatedColumn(of_row, once, places.tolist(), numbers, by_number, nothing, nothing, nothing)
    agreement = agreement_of(policy, assessments[0])
    assert isinstance(agreement, Absent), "no agent was asked"
    column = decide_column(policy, numbers[chosen], agreement)
    width = len(column.kinds)
    whole = of_row * (width + 1)
    whole[chosen] += column.codes + 1
    keys, first, code = np.unique(whole, return_index=True, return_inverse=True)
    decided, place_of = [], {int(row): at for at, row in enumerate(chosen.tolist())}
    for key, row in zip(keys.tolist(), first.tolist(), strict=True):
        one = once[key // (width + 1)]
        if key % (width + 1):
            one = one.model_copy(update={"probability": float(numbers[row]), "decision": column.at(place_of[row])})
        decided.append(one)
    base = keys // (width + 1)
    values, unadjusted, margins = nothing.copy(), nothing.copy(), nothing.copy()
    values[chosen], margins[chosen] = column.values, column.margins
    if column.unadjusted is not None:
        unadjusted[chosen] = column.unadjusted
    return AnnotatedColumn(
        code.ravel(), decided, places[base].tolist(), numbers, keys % (width + 1) > 0, values, unadjusted, margins
    )


def _calibrated(
    found: Sequence[Assessment],
    codes: Indices,
    probabilities: Probabilities | None,
    rows: Indices,
    broken: Collection[str],
) -> tuple[list[tuple[int, Assessment]], Indices, Floats]:
    """Kinds (place in ``found``, assessment with the calibration), each row's kind, and the probabilities."""
    if probabilities is None:
        present, of_row = np.unique(codes, return_inverse=True)
        kinds = [(place, found[place]) for place in present.tolist()]
        return kinds, of_row.ravel(), np.full(len(codes), np.nan)
    decidable = np.array([may_decide(one) for one in found], dtype=bool)[codes]
    thresholds = np.array([one.threshold for one in found], dtype=np.float64)[codes]
    said = probabilities.column(rows, decidable, broken, thresholds)
    whole = (codes.astype(np.int64) * max(1, len(said.kinds)) + said.codes) * 2 + said.kept
    keys, first, of_row = np.unique(whole, return_index=True, return_inverse=True)
    kinds = []
    for key, row in zip(keys.tolist(), first.tolist(), strict=True):
        place, kind = divmod(key // 2, max(1, len(said.kinds)))
        number = float(said.probabilities[row])
        kinds.append((place, said.kinds[kind].laid_on(found[place], None if number != number else number)))
    return kinds, of_row.ravel(), said.probabilities
