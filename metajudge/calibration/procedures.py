"""Procedures that test many thresholds at once without promising too much.

For each threshold of a grid that was **fixed beforehand**, the hypothesis "precision is below the target" is tested
(:mod:`metajudge.calibration.question_test`). The hypotheses are tested from the most selective threshold to the least
under the fallback procedure (Wiens and Dmitrienko, "The Fallback Procedure for Evaluating a Single Family of
Hypotheses", 2005), a case of the graphical procedures of Bretz, Maurer, Brannath and Posch (2009): ``delta`` is split
over the starts; a threshold is tested with the share that starts there plus, where the one before it was rejected, all
that one was tested with. The chance of any false rejection is then at most ``delta`` whatever the precisions are and
however the tests depend on each other. One start is a fixed sequence; starts everywhere that pass nothing on are
Bonferroni's procedure.
"""

import math
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.frozen import Frozen

TOLERANCE = 1e-9
"""Scores and thresholds are compared after rounding to this."""

MAIN_SHARE = 0.9
"""Share of delta that the first start of the default procedure gets."""


ProcedureName: TypeAlias = Literal[
    "fallback", "ranks", "graphical", "one_error", "learn_then_test", "bonferroni", "e_process", "log_odds", "this_file"
]


class Procedure(Frozen):
    """A test procedure, fixed before any label of the threshold's questions is seen.

    Attributes:
        name: how it was made; ``fallback`` for one that was given, and for those stored by earlier versions.
        grid: thresholds from the most selective to the least; a judgment is kept where its score is at least this.
        starts: indices into the grid where a share of delta enters, ascending.
        shares: the shares of delta, positive, together at most 1.
        origin: how the grid was made, in words.
        stake: of the test by question (:func:`~metajudge.calibration.question_test.question_p_values`); None for the
            usual.
        credited: right judgments of a question that the test gives credit for at most; None for all.
        passes_on: whether a rejected threshold hands its level on to the next.
    """

    name: ProcedureName = "fallback"
    grid: tuple[float, ...]
    starts: tuple[int, ...]
    shares: tuple[float, ...]
    origin: str = "given"
    stake: float | None = Field(default=None, gt=0, lt=1, exclude_if=lambda given: given is None)
    credited: int | None = Field(default=None, ge=1, exclude_if=lambda given: given is None)
    passes_on: bool = Field(default=True, exclude_if=lambda given: given)

    def model_post_init(self, _context: object) -> None:
        """Checks what makes the procedure valid."""
        if not self.grid or any(a <= b for a, b in zip(self.grid, self.grid[1:], strict=False)):
            raise InputError("a procedure's grid must fall from the most selective threshold to the least")
        ordered = sorted(set(self.starts)) == list(self.starts)
        if not self.starts or not ordered or self.starts[0] < 0 or self.starts[-1] >= len(self.grid):
            raise InputError("a procedure's starts must be ascending places in its grid, at least one")
        if len(self.shares) != len(self.starts) or min(self.shares) <= 0 or sum(self.shares) > 1 + TOLERANCE:
            raise InputError("a procedure needs a positive share of delta for each start, together at most 1")


def log_odds_procedure(target: float) -> Procedure:
    """A procedure for calibrated probabilities, fixed by the target alone.

    The grid is even in log-odds (steps of 1/8) down to a probability of 12 %. Nine tenths of delta start half a unit of
    log-odds above the target: a calibrated score keeps more than the target there, and enough to prove it. The last
    tenth starts as far below it, in case the first start falls to an early error. After a look at recorded judgments,
    grid and starts were chosen on made populations (scores that are calibrated, too bold and too timid; 60 to 1,000
    questions), where equal shares and starts further up or down kept less on the whole.
    """
    check_target(target)
    centre = math.log(target / (1 - target))
    logits = np.arange(centre + 1, min(-2.0, centre - 1), -0.125)
    return Procedure(
        grid=tuple(float(value) for value in 1 / (1 + np.exp(-logits))),
        starts=(4, 12),
        shares=(MAIN_SHARE, 1 - MAIN_SHARE),
        name="log_odds",
        origin="even in log-odds; starts half a unit above the target and half a unit below it",
    )


def last_rejected(p_values: Floats, delta: float, procedure: Procedure) -> Indices:
    """Runs the procedure on p-values [..., grid]; the index of the last rejected threshold, -1 for none."""
    entering = np.zeros(len(procedure.grid))
    entering[list(procedure.starts)] = np.array(procedure.shares) * delta
    carried = np.zeros(p_values.shape[:-1])
    found = np.full(p_values.shape[:-1], -1, dtype=np.intp)
    for at in range(len(procedure.grid)):
        level = carried + entering[at]
        rejected = (level > 0) & (p_values[..., at] <= level)
        carried = np.where(rejected & procedure.passes_on, level, 0.0)
        found = np.where(rejected, at, found)
    return found


def fewest_kept(target: float, share: float) -> int:
    """The smallest number kept with which a threshold can pass, without any error: ``ceil(ln share / ln target)``."""
    return math.ceil(math.log(share) / math.log(target) - TOLERANCE)


def check_promise(target: float, delta: float) -> None:
    """Raises :class:`InputError` unless target and delta lie strictly between 0 and 1."""
    check_target(target)
    if not 0 < delta < 1:
        why = "certainty takes infinitely many labels" if delta == 0 else "it is the probability that the promise fails"
        raise InputError(f"delta must lie strictly between 0 and 1, not {delta:g}: {why}")


def check_target(target: float) -> None:
    """Raises :class:`InputError` unless a target lies strictly between 0 and 1."""
    if not 0 < target < 1:
        why = (
            "no finite number of labels proves that nothing is wrong" if target == 1 else "it is a share of right ones"
        )
        hint = f"; did you mean {target / 100:g}?" if 1 < target < 100 else ""
        raise InputError(f"target must lie strictly between 0 and 1, not {target:g}: {why}{hint}")
