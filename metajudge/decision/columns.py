"""Decisions on many values at once, where nothing else differs between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.decision.bands import margins
from metajudge.decision.deciding import bands_for, decide_adjusted
from metajudge.decision.interval import all_exact, pieces
from metajudge.decision.policy import Policy
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.decision import Absent, Decision
from metajudge.types.interval import exact


@dataclass(frozen=True, slots=True, eq=False)
class DecisionColumn:
    """Decisions on n values.

    Attributes:
        codes: [n] places in ``kinds``.
        kinds: a decision of each kind; its numbers are those of the first value of the kind.
        values: [n] that the bands were looked at for.
        unadjusted: [n] before the policy's learned corrections; None where it has none.
        margins: [n] NaN where there is none.
    """

    codes: Indices
    kinds: Sequence[Decision]
    values: Floats
    unadjusted: Floats | None
    margins: Floats

    def at(self, row: int) -> Decision:
        """The decision on one value."""
        kind, margin = self.kinds[int(self.codes[row])], float(self.margins[row])
        inputs = {"value": float(self.values[row])}
        if self.unadjusted is not None:
            inputs["unadjusted"] = float(self.unadjusted[row])
        return kind.model_copy(
            update={"inputs": kind.inputs.model_copy(update=inputs), "margin": None if margin != margin else margin}
        )


def decide_column(policy: Policy, values: Floats, confidence: float | Absent) -> DecisionColumn:
    """:func:`~metajudge.decision.deciding.decide_adjusted` of many values without criteria, with one confidence.

    The decision is the same everywhere between two neighbouring bounds of the bands: it is made once there.

    Args:
        values: [n] on the policy's scale.

    Raises:
        InputError: a value off the scale, or a confidence outside 0..1.
    """
    learned = policy.adjustment
    _check_on_scale(policy, values, confidence)
    looked_at = values
    if learned is not None:
        looked_at = np.array([learned.apply(value, policy.scale, {}, {}) for value in values.tolist()])
    sure = None if isinstance(confidence, Absent) else confidence
    if learned is not None and learned.confidence is not None and sure is not None:
        sure = learned.confidence.apply(sure)
    bands = bands_for(policy, confidence)
    starts = [piece.start for piece in pieces(policy.scale, (band.value for band in bands))]
    places = np.searchsorted(starts, all_exact(looked_at), side="right") - 1
    _, first, codes = np.unique(places, return_index=True, return_inverse=True)
    kinds = [decide_adjusted(policy, value, confidence, {}, {}) for value in values[first].tolist()]
    codes = codes.reshape(-1)
    found = np.full(len(codes), np.nan)
    with_margin = np.array([kind.margin is not None for kind in kinds], dtype=bool)[codes]
    if with_margin.any():
        found = np.where(with_margin, margins(bands, policy.scale, looked_at, sure), np.nan)
    return DecisionColumn(codes, kinds, looked_at, None if learned is None else values, found)


def _check_on_scale(policy: Policy, values: Floats, confidence: float | Absent) -> None:
    low, high = exact(policy.scale.low), exact(policy.scale.high)
    compared = all_exact(values)
    for place in np.flatnonzero(~((low <= compared) & (compared <= high))).tolist():
        decide_adjusted(policy, float(values[place]), confidence, {}, {})  # says what is wrong
