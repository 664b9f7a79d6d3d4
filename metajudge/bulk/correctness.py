"""Whether verdicts are right, as a column."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.facts import Facts
from metajudge.types import Right, VerdictKind, is_right, kind_of

UNKNOWN = -1


def correctness(facts: Facts, rules: Mapping[VerdictKind, Right]) -> NDArray[np.int8]:
    """Whether each verdict is right by the rule of its kind.

    Returns:
        [n]: 1 right, 0 wrong, -1 without a verdict, a label or a rule, or where the rule cannot compare the two.
    """
    pairs = np.stack([facts.verdict, facts.truth], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    found = [_right(facts, rules, verdict, truth) for verdict, truth in different.tolist()]
    return np.array(found, dtype=np.int8)[places.reshape(-1)]


def _right(facts: Facts, rules: Mapping[VerdictKind, Right], verdict: int, truth: int) -> int:
    if verdict < 0 or truth < 0:
        return UNKNOWN
    said = facts.verdicts[verdict]
    rule = rules.get(kind_of(said))
    right = None if rule is None else is_right(said, facts.truths[truth], rule)
    return UNKNOWN if right is None else int(right)
