"""Folds and splits by question: judgments of one question never stand on both sides."""

from collections.abc import Sequence

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Indices


def question_folds(questions: Sequence[str], folds: int, seed: Sequence[int]) -> Indices:
    """[n] the fold of each row: questions shuffled and dealt out evenly, whatever the order of the rows.

    Raises:
        InputError: fewer questions than folds, or fewer than two folds.
    """
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds}: one part is to be predicted from the others")
    if len(names) < folds:
        raise InputError(
            f"there are {len(names)} questions for {folds} folds: give more questions, or fewer folds (at least 2)"
        )
    return np.asarray((np.random.default_rng(seed).permutation(len(names)) % folds)[place.ravel()], dtype=np.intp)


def question_split(questions: Sequence[str], share: float, seed: int) -> Indices:
    """[n] 0 or 1: a seeded share of the questions in part 0, the others in part 1; each part gets one at least.

    Raises:
        InputError: a share outside (0, 1), or fewer than two questions.
    """
    if not 0 < share < 1:
        raise InputError(f"the share of questions must lie strictly between 0 and 1, not {share:g}")
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"there are {len(names)} questions: a split needs at least two")
    first = min(max(round(share * len(names)), 1), len(names) - 1)
    part = np.ones(len(names), dtype=np.intp)
    part[np.random.default_rng([seed, 7]).permutation(len(names))[:first]] = 0
    return np.asarray(part[place.ravel()])
