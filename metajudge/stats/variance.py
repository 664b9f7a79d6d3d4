"""How much of an outcome's variance comes from making responses anew, and how much from judging them anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.errors import InputError


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Components of variance within prompts.

    Attributes:
        generation: variance between cycles of one prompt, beyond what judging alone would give; None where it cannot
            be estimated, see ``reason``. Cut at 0.
        judgment: variance between judgments of the same responses; None likewise.
        generation_share: generation / (generation + judgment), in [0, 1]; None where both are 0 or unknown.
        reason: why a figure is absent, else empty.
    """

    generation: float | None
    judgment: float | None
    generation_share: float | None
    prompts: int
    cycles: int
    n: int
    method: str
    reason: str = ""


_METHOD = "nested analysis of variance, expected mean squares"


def split_variance(values: Mapping[str, Sequence[Sequence[float]]]) -> VarianceSplit:
    """Splits variance within prompts between generation (cycles) and judgment (repeats within a cycle).

    A nested random-effects analysis of variance (Searle, Casella and McCulloch, "Variance Components", 1992): the mean
    square within cycles estimates judgment, that between cycles judgment plus n0 times generation, where n0 is the
    usual mean size for unequal cycles. Needs a prompt with two cycles, and a cycle with two judgments: with one
    judgment a cycle the two cannot be separated, however large the difference to another study's retest may be.

    Args:
        values: prompt -> for each cycle the outcome of each judgment of its responses, such as 1 where the first
            candidate wins, 0 where the second does and .5 for a tie.

    Raises:
        InputError: an outcome is NaN or infinite.
    """
    cycles = {prompt: [np.asarray(c, dtype=np.float64) for c in series if len(c)] for prompt, series in values.items()}
    cycles = {prompt: series for prompt, series in cycles.items() if series}
    for prompt, series in cycles.items():
        if not all(np.isfinite(cycle).all() for cycle in series):
            raise InputError(
                f"prompt {prompt} has an outcome that is no finite number: leave out judgments without one"
            )
    n = sum(len(cycle) for series in cycles.values() for cycle in series)
    count = sum(map(len, cycles.values()))
    within = sum(len(cycle) - 1 for series in cycles.values() for cycle in series)
    between = sum(len(series) - 1 for series in cycles.values())

    def found(generation: float | None, judgment: float | None, share: float | None, reason: str = "") -> VarianceSplit:
        return VarianceSplit(generation, judgment, share, len(cycles), count, n, _METHOD, reason)

    if not within:
        return found(None, None, None, "no cycle was judged twice: judge the same responses repeatedly")
    judgment = float(sum(((c - c.mean()) ** 2).sum() for series in cycles.values() for c in series)) / within
    if not between:
        return found(None, judgment, None, "no prompt has two cycles: nothing was generated anew")
    means = {prompt: float(np.concatenate(series).mean()) for prompt, series in cycles.items()}
    squares = sum(len(c) * (c.mean() - means[prompt]) ** 2 for prompt, series in cycles.items() for c in series)
    unequal = sum(sum(len(c) ** 2 for c in series) / sum(map(len, series)) for series in cycles.values())
    size = (n - unequal) / between
    generation = max(0.0, (float(squares) / between - judgment) / size)
    total = generation + judgment
    if not total:
        return found(0.0, 0.0, None, "every judgment of a prompt has the same outcome: there is no variance to split")
    return found(generation, judgment, generation / total)
