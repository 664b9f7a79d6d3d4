"""Folds and splits by question: judgments of one question never stand on both sides."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Indices

Use: TypeAlias = Literal["split", "cross-fit"]
"""Labels of their own for the threshold, or every label for fit and threshold both, out of fold."""

ENOUGH_TO_SPLIT = 200
"""From so many labelled questions on, fit and threshold get questions of their own."""

SPLIT_SHARE = 0.4
"""Share of the questions that the fit gets of a split: signals need few labels, thresholds many."""

CROSS_FIT_MEASURED = "not proven; at delta 10 % it was broken in 2.0 to 6.8 % of simulated fits to 60 to 300 labels"
"""What is known of the promise of cross-fitted thresholds."""


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


def use_of(questions: int) -> tuple[Use, str]:
    """Whether to split so many labelled questions between fit and threshold, and why."""
    if questions >= ENOUGH_TO_SPLIT:
        return "split", (
            f"{questions} labelled questions are enough to split ({ENOUGH_TO_SPLIT} or more): {100 * SPLIT_SHARE:g} % "
            "for the fit, the others for a threshold whose guarantee is exact"
        )
    return "cross-fit", (
        f"{questions} labelled questions are too few to split (fewer than {ENOUGH_TO_SPLIT}): all serve fit and "
        f"threshold both, out of fold, and a guarantee is approximate ({CROSS_FIT_MEASURED})"
    )
