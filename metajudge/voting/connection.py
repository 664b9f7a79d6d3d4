"""Whether comparisons tie all candidates together, so that strengths have a finite maximum likelihood estimate."""

from collections.abc import Sequence

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools

_SHOWN = 5
"""Names of a group given in a message."""


def reachable(edges: Bools) -> Bools:
    """[..., K, K] whether there is a path from row to column, of any length including none."""
    size = edges.shape[-1]
    reach = edges | np.eye(size, dtype=bool)
    length = 1
    while length < size:
        steps = reach.astype(np.float32)
        reach = (steps @ steps) > 0
        length *= 2
    return np.asarray(reach)


def check_connected(beats: Bools, candidates: Sequence[str], model: str) -> None:
    """Refuses comparisons for which some strength would be infinite or arbitrary.

    The estimate is finite and unique if and only if, however the candidates are divided in two groups, a member of
    each has beaten a member of the other (Ford, "Solution of a ranking problem from binary comparisons", 1957).

    Args:
        beats: [K, K] whether the row's candidate was ever preferred to (or tied with) the column's.
        candidates: names.
        model: its name, for messages.

    Raises:
        InputError: names the groups and the possible fixes.
    """
    if len(candidates) < 2:
        raise InputError(f"{model} needs at least two candidates, and there is only {candidates[0]!r}")
    joined = reachable(beats | beats.T)
    if not joined.all():
        apart = joined[0]
        raise InputError(
            f"{model}: no ballot compares {_names(candidates, apart)} with {_names(candidates, ~joined[0])}, directly "
            "or through others, so their strengths have no common scale: rank each group alone, add comparisons that "
            "join them, or give a prior above 0"
        )
    reach = reachable(beats)
    if not reach.all():
        # A candidate that fewest others reach belongs to a group that no outsider has beaten.
        top = reach[:, int(reach.sum(axis=0).argmin())]
        raise InputError(
            f"{model}: {_names(candidates, top)} never lost to {_names(candidates, ~top)}, so the strength between "
            "them is infinite: add comparisons, or give a prior above 0 (pseudo-wins each way between every pair)"
        )


def _names(candidates: Sequence[str], which: Bools) -> str:
    indices = np.flatnonzero(which)
    shown = ", ".join(repr(candidates[i]) for i in indices[:_SHOWN])
    return shown if len(indices) <= _SHOWN else f"{shown} and {len(indices) - _SHOWN} more"
