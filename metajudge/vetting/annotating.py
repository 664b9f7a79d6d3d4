"""What a calibration and a policy say of many assessments at once, where no agent was asked."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metajudge.decision.columns import decide_column
from metajudge.decision.verdicts import agreement_of, decide_verdict
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.store.annotations import FIELDS
from metajudge.strategies import Panel
from metajudge.strategies.rule import ruled
from metajudge.types import Assessment
from metajudge.types.decision import Absent
from metajudge.vetting.probability import Probabilities

if TYPE_CHECKING:
    from metajudge.decision import Policy


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
        update = {name: getattr(kind, name) for name in FIELDS}
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
    panel_of: Callable[[str | None], Panel],
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

    Raises:
        InputError: a score off the policy's scale.
    """
    panels = [panel_of(one.category) for one in found]
    kinds, of_row, numbers = _calibrated(found, codes, panels, probabilities, rows, policy is not None, broken)
    places = np.array([place for place, _ in kinds], dtype=np.intp)
    assessments = [assessment for _, assessment in kinds]
    nothing = np.full(len(codes), np.nan)
    if policy is None or not kinds:
        undecided = np.zeros(len(kinds), dtype=bool)
        return AnnotatedColumn(of_row, assessments, places.tolist(), numbers, undecided, nothing, nothing, nothing)
    by_number = np.array([policy.basis == "probability" and one.probability is not None for one in assessments])
    once = [
        one if own else ruled(one, decide_verdict(policy, one))
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
            one = ruled(one.model_copy(update={"probability": float(numbers[row])}), column.at(place_of[row]))
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
    panels: Sequence[Panel],
    probabilities: Probabilities | None,
    rows: Indices,
    policy: bool,
    broken: Collection[str],
) -> tuple[list[tuple[int, Assessment]], Indices, Floats]:
    """Kinds (place in ``found``, assessment with the calibration), each row's kind, and the probabilities."""
    if probabilities is None:
        present, of_row = np.unique(codes, return_inverse=True)
        kinds = [(place, found[place]) for place in present.tolist()]
        return kinds, of_row.ravel(), np.full(len(codes), np.nan)
    said = probabilities.column(rows, broken)
    width = max(1, len(said.kinds))
    pairs, pair = np.unique(codes.astype(np.int64) * width + said.codes, return_inverse=True)
    # What is said changes where the probability passes a promise's threshold, or the cut of the rule that decides.
    bounds = [said.kinds[one % width].bounds(panels[one // width], policy=policy) for one in pairs.tolist()]
    limits = np.array(bounds, dtype=np.float64).reshape(-1, 2)[pair.ravel()]
    passed = said.probabilities[:, None] >= limits
    whole = pair.ravel() * 4 + passed[:, 0] * 2 + passed[:, 1]
    _, first, of_row = np.unique(whole, return_index=True, return_inverse=True)
    kinds = []
    for row in first.tolist():
        place, number = int(codes[row]), float(said.probabilities[row])
        kind = said.kinds[int(said.codes[row])]
        known = None if number != number else number
        kinds.append((place, kind.laid_on(found[place], known, panels[place], policy=policy)))
    return kinds, of_row.ravel(), said.probabilities
