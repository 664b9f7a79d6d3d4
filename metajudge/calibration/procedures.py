"""Thresholds that are tested one after the other without promising too much.

For each threshold of a grid that was **fixed beforehand**, the hypothesis "precision is below the target" is tested
(:mod:`metajudge.calibration.question_test`), from the most selective threshold to the least, each at the whole of
``delta``, until one does not pass: a fixed sequence. The chance of any false pass is then at most ``delta`` whatever
the precisions are and however the tests depend on each other.
"""

import math
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field

from metajudge.errors import ConfigurationError, InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.frozen import Frozen

TOLERANCE = 1e-9
"""Shares and numbers kept are compared with this tolerance."""

ProcedureName: TypeAlias = Literal["ranks", "e_process"]

DEFAULT: ProcedureName = "ranks"

StoredName: TypeAlias = Literal[
    ProcedureName, "fallback", "graphical", "one_error", "learn_then_test", "bonferroni", "log_odds", "this_file"
]
"""Names in stored calibrations; all but those of :data:`ProcedureName` are of earlier versions."""


class Procedure(Frozen):
    """A test procedure, fixed before any label of the threshold's questions is seen, as a guarantee records it.

    Attributes:
        name: how it was made; ``fallback`` in records of earlier versions that name none.
        grid: thresholds from the most selective to the least; a judgment is kept where its score is at least this.
        starts: indices into the grid where a share of delta enters, ascending; the first one alone but in records of
            earlier versions.
        shares: the shares of delta, positive, together at most 1.
        origin: how the grid was made, in words.
        stake: of the test by question (:func:`~metajudge.calibration.question_test.question_p_values`); None for one
            judgment a question.
        credited: right judgments of a question that the test gives credit for at most; None for all.
        passes_on: whether a rejected threshold hands its level on to the next.
    """

    name: StoredName = "fallback"
    grid: tuple[float, ...]
    starts: tuple[int, ...] = (0,)
    shares: tuple[float, ...] = (1.0,)
    origin: str = "given"
    stake: float | None = Field(default=None, gt=0, lt=1, exclude_if=lambda given: given is None)
    credited: int | None = Field(default=None, ge=1, exclude_if=lambda given: given is None)
    passes_on: bool = Field(default=True, exclude_if=lambda given: given)

    def model_post_init(self, _context: object) -> None:
        """Checks what makes the procedure valid."""
        if not self.grid or any(a <= b for a, b in zip(self.grid, self.grid[1:], strict=False)):
            raise InputError("a procedure's grid must fall from the most selective threshold to the least")


def last_rejected(p_values: Floats, delta: float) -> Indices:
    """The last threshold of p-values [..., grid] before the first that does not pass at delta; -1 for none."""
    return np.asarray(np.logical_and.accumulate(p_values <= delta, axis=-1).sum(axis=-1) - 1)


def fewest_kept(target: float, share: float) -> int:
    """The smallest number kept with which a threshold can pass, without any error: ``ceil(ln share / ln target)``."""
    return math.ceil(math.log(share) / math.log(target) - TOLERANCE)


def check_procedure(name: str | None) -> ProcedureName | None:
    """The name of a procedure that can be run; None for the default.

    Raises:
        ConfigurationError: any other name.
    """
    known: dict[str | None, ProcedureName | None] = {None: None, "ranks": "ranks", "e_process": "e_process"}
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"there is no procedure {name!r}: leave it out for the default, `{DEFAULT}`, or choose `e_process`"
    )


def check_promise(target: float, delta: float) -> None:
    """Raises :class:`InputError` unless target and delta lie strictly between 0 and 1."""
    if not 0 < target < 1:
        why = (
            "no finite number of labels proves that nothing is wrong" if target == 1 else "it is a share of right ones"
        )
        hint = f"; did you mean {target / 100:g}?" if 1 < target < 100 else ""
        raise InputError(f"target must lie strictly between 0 and 1, not {target:g}: {why}{hint}")
    if not 0 < delta < 1:
        why = "certainty takes infinitely many labels" if delta == 0 else "it is the probability that the promise fails"
        raise InputError(f"delta must lie strictly between 0 and 1, not {delta:g}: {why}")
