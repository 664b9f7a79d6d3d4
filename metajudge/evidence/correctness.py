"""Whether verdicts are right, or why that cannot be said, as a column; and how rows are counted."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.counting import FATES, SAID, Counts, Fate, code_of, compared, said_by
from metajudge.evidence.verdicts import Verdicts
from metajudge.types import Right, VerdictKind, kind_of


def correctness(facts: Verdicts, rules: Mapping[VerdictKind, Right]) -> NDArray[np.int8]:
    """Whether each verdict is right by the rule of its kind.

    Returns:
        [n]: 1 right, 0 wrong, negative where it is neither (:data:`metajudge.evidence.counting.WHY`).
    """
    pairs = np.stack([facts.verdict, facts.truth], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    found = [_right(facts, rules, verdict, truth) for verdict, truth in different.tolist()]
    return np.array(found, dtype=np.int8)[places.reshape(-1)]


def _right(facts: Verdicts, rules: Mapping[VerdictKind, Right], verdict: int, truth: int) -> int:
    said = facts.verdict_of(verdict)
    rule = None if said is None else rules.get(kind_of(said))
    return code_of(compared(said, None if truth < 0 else facts.truths[truth], rule))


class RowCounting:
    """Counts rows of facts.

    Args:
        correct: [n] by :func:`correctness`.
        counts: counts them by its rules.

    Attributes:
        questions: the number of each item's question; empty without labels.
    """

    def __init__(self, facts: Verdicts, correct: NDArray[np.int8], counts: Counts) -> None:
        self._facts, self._correct, self._counts = facts, correct, counts
        labelled = bool((correct >= 0).any())
        self.questions = [int(item.question[:16], 16) for item in facts.items] if labelled else []
        self._clusters = np.array(self.questions or [0] * len(facts.items), dtype=np.uint64)
        said = [SAID.index(said_by(one)) for one in (*facts.verdicts, None)]  # the last one is meant by the code -1
        self._said = np.array(said, dtype=np.intp)

    def add(self, rows: NDArray[np.int64], fates: Sequence[Fate], codes: NDArray[np.int64]) -> None:
        """Counts m rows; ``codes`` [m] are the places of their ends in ``fates``."""
        ends = np.array([FATES.index(one) for one in fates], dtype=np.intp)
        cells = self._said[self._facts.verdict[rows]] * len(FATES) + ends[codes]
        names, clusters = self._facts.judgment_ids, self._clusters[self._facts.item[rows]]
        self._counts.count_rows(cells, self._correct[rows], clusters, lambda at: names[int(rows[at])])
