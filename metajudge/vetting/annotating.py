"""What a calibration and a policy say of assessments, as columns: of one, or of a block."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.store.rows import FIELDS
from metajudge.strategies import Panel
from metajudge.strategies.rule import ruled
from metajudge.types import Assessment, Judgment
from metajudge.types.decision import Absent

if TYPE_CHECKING:
    from metajudge.decision import Policy
    from metajudge.vetting.alone import Alone
    from metajudge.vetting.probability import Probabilities


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
        plain: whether there is neither calibration nor policy.
    """

    codes: Indices
    kinds: Sequence[Assessment]
    found: Sequence[int]
    probabilities: Floats
    decided: Bools
    values: Floats
    unadjusted: Floats
    margins: Floats
    plain: bool = False

    @classmethod
    def without(cls, found: Sequence[Assessment], codes: Indices) -> "AnnotatedColumn":
        """Assessments to which nothing is added."""
        nothing = np.full(len(codes), np.nan)
        no_one = np.zeros(len(found), dtype=bool)
        return cls(codes, found, range(len(found)), nothing, no_one, nothing, nothing, nothing, plain=True)

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


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Results of m judgments of a table.

    Attributes:
        places: [m] among the judgments that are vetted.
        rows: [m] in the table.
        assessments: [m] with what calibration and policy add.
        said: the same as kinds and columns of numbers.
        judgments: [m] where they are at hand; None where they were not needed.
        reused: [m] whether nothing was asked, as an earlier run had asked.
        known: how many assessments by free evidence the store had already, as the newest ones.
    """

    places: Sequence[int]
    rows: Indices
    assessments: Sequence[Assessment]
    said: AnnotatedColumn
    judgments: Sequence[Judgment] | None = None
    reused: Sequence[bool] = ()
    known: int = 0


def annotated_column(
    found: Sequence[Assessment],
    codes: Indices,
    panel_of: Callable[[str | None], Panel],
    *,
    probabilities: "Probabilities | Alone | None" = None,
    rows: Indices,
    policy: "Policy | None" = None,
    broken: Collection[str] = frozenset(),
) -> AnnotatedColumn:
    """What a calibration and a policy (:func:`~metajudge.vetting.policies.decided`) say of each judgment.

    Args:
        found: different assessments by panels; ids, judge and signals are not looked at. One that agents gave belongs
            to a single judgment.
        codes: [n] each judgment's place in ``found``.
        probabilities: None without a calibration.
        rows: [n] places of the judgments in the facts of ``probabilities``.
        policy: None without one.

    Raises:
        InputError: a score off the policy's scale.
    """
    from metajudge.decision.deciding import agreement_of, decide_column  # where there is a calibration or a policy
    from metajudge.vetting.policies import decided as decided_by

    panels = [panel_of(one.category) for one in found]
    kinds, of_row, numbers = _calibrated(found, codes, panels, probabilities, rows, policy is not None, broken)
    places = np.array([place for place, _ in kinds], dtype=np.intp)
    assessments = [assessment for _, assessment in kinds]
    nothing = np.full(len(codes), np.nan)
    if policy is None or not kinds:
        undecided = np.zeros(len(kinds), dtype=bool)
        return AnnotatedColumn(of_row, assessments, places.tolist(), numbers, undecided, nothing, nothing, nothing)
    by_number = np.array(
        [policy.basis == "probability" and one.probability is not None and not one.agents for one in assessments]
    )
    once = [
        one if own else decided_by(policy, one, panels[place])
        for one, own, (place, _) in zip(assessments, by_number.tolist(), kinds, strict=True)
    ]
    chosen = np.flatnonzero(by_number[of_row])
    if not len(chosen):
        return AnnotatedColumn(of_row, once, places.tolist(), numbers, by_number, nothing, nothing, nothing)
    agreement = agreement_of(policy, assessments[int(of_row[chosen[0]])])
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
    probabilities: "Probabilities | Alone | None",
    rows: Indices,
    policy: bool,
    broken: Collection[str],
) -> tuple[list[tuple[int, Assessment]], Indices, Floats]:
    """Kinds (place in ``found``, assessment with the calibration), each row's kind, and the probabilities."""
    if probabilities is None:
        present, of_row = np.unique(codes, return_inverse=True)
        kinds = [(place, found[place]) for place in present.tolist()]
        return kinds, of_row.ravel(), np.full(len(codes), np.nan)
    said = probabilities.column(rows, broken, [found[code] for code in codes.tolist()])
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
