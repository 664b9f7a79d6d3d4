"""P(right) by the labels of the vetted input itself, where free evidence alone would have to decide."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from metajudge.errors import InputError
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import VERDICT_KINDS, Right, VerdictKind

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.calibration.table import SignalTable

MOST_FITTED: Final = 20_000
"""Labelled judgments that a fit reads at most: those of questions chosen by digest."""
MOST_SIMULATED: Final = 400
"""Questions whose P stands for the file in the simulation of further labels."""
TARGETS: Final = (0.9, 0.85, 0.8, 0.7)
"""Precisions that are tried, the highest one first."""
DELTA: Final = 0.1
"""The probability that a promise may fail."""
DRAWS: Final = 30
"""Simulations of each number of labels."""
SIZES: Final = (30.0, 60.0, 120.0, 240.0, 480.0)
"""Further labelled questions that are tried."""


@dataclass(frozen=True, slots=True)
class OwnFit:
    """What the labels of an input give.

    Attributes:
        sentence: on how many labels P rests, and how.
        limits: what more labels could promise.
    """

    calibration: "Calibration"
    sentence: str
    limits: str


def own_fit(facts: Verdicts, wanted: Bools, right: Right | None) -> OwnFit | None:
    """Fits P(right) to the labels of an input; of several kinds of verdicts to the one with the most labels.

    All labels enter the fit alike, however their rows were chosen; none of them carries a promise. Verdicts of other
    kinds, ties and missing verdicts get no probability.

    Args:
        wanted: [n] which judgments are vetted.
        right: what counts as right; None for the default of the kind.

    Returns:
        None where no verdict can be compared with a label.
    """
    labelled = wanted & (facts.verdict >= 0) & (facts.truth >= 0)
    kinds = Counter(facts.kind[labelled].tolist())
    for code, _ in kinds.most_common():
        kind = VERDICT_KINDS[code]
        rule = right if right is not None and right.applies(kind) else None
        try:
            found = _fitted(facts, wanted, kind, rule)
        except InputError:  # labels that this kind cannot be compared with
            continue
        if found is not None:
            return found
    return None


def _fitted(facts: Verdicts, wanted: Bools, kind: VerdictKind, right: Right | None) -> OwnFit | None:
    from metajudge.calibration.fit import fit_here
    from metajudge.calibration.table import table_of

    table = table_of(facts, None, kind=kind, right=right, report=wanted)
    rows = table.select(table.labelled)
    if not len(rows):
        return None
    calibration, sentence = fit_here(_thinned(rows))
    return OwnFit(calibration, sentence, limits_of(calibration, table))


def _thinned(rows: "SignalTable") -> "SignalTable":
    """The rows of as many questions as a fit reads; the names of questions are digests, so their order is a draw."""
    names, place = np.unique(np.array(rows.questions, dtype=str), return_inverse=True)
    before = np.cumsum(np.bincount(place.ravel(), minlength=len(names)))
    return rows if len(rows) <= MOST_FITTED else rows.select(before[place.ravel()] <= MOST_FITTED)


def limits_of(calibration: "Calibration", table: "SignalTable") -> str:
    """What limits the answer: how many questions are labelled, and what more labels could promise.

    Further labels are simulated from P (:func:`~metajudge.calibration.advice.advise`), one judgment a question, at the
    level of a first look. No label is looked at: nothing is spent. The number is the smallest one, in tens, with which
    the highest of :data:`TARGETS` that can be reached passes in four of five simulations.

    Args:
        table: all decided verdicts of the input, with and without a label.
    """
    from metajudge.calibration.advice import advise
    from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
    from metajudge.calibration.looks import Schedule

    labelled = len({name for name, known in zip(table.questions, table.labelled, strict=True) if known})
    have = f"{labelled} labelled question{'' if labelled == 1 else 's'}"
    _, first = np.unique(np.array(table.questions, dtype=str), return_index=True)
    one = table.select(first[:MOST_SIMULATED])
    scores, names = np.ma.getdata(calibration.probabilities(one, True).probabilities), one.questions
    level = DELTA * Schedule().share(1)
    for target in TARGETS:

        def passes(
            scores: Floats, correct: Bools, questions: Sequence[str], target: float = target, reference: Floats = scores
        ) -> bool:
            found = guaranteed_threshold(
                scores, correct, questions, target=target, delta=level, reference=reference, most_per_question=1
            )
            return isinstance(found, Guarantee)

        found = advise(scores, None, names, passes=passes, level=level, draws=DRAWS, sizes=SIZES).recommended
        if found is not None:
            more = int(-(-found // 10) * 10)
            return f"{have}; some {more} more drawn at random would promise {100 * target:g} %"
    return f"{have}, and evidence that tells too little: {SIZES[-1]:g} more would not promise {100 * TARGETS[-1]:g} %"
