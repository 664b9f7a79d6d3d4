"""Panels of judges: majority, unanimity, and the verdicts every smaller panel would have given."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import wilson

MOST_JUDGES = 12
"""With more judges the subsets (4,095 of twelve) are too many to count out."""


class Unity(StrEnum):
    """How united a panel is; a panel that lost a judge is neither unanimous nor split."""

    UNANIMOUS = "unanimous"
    SPLIT = "split"
    INCOMPLETE = "incomplete"


def majority(votes: Sequence[Hashable | None], panel_size: int) -> Hashable | None:
    """The choice of more than half of the **configured** panel; None where no choice has that many.

    Args:
        votes: one choice a judge, None where a judge gave none.
        panel_size: judges configured, lost ones included: two of three decide, one of two does not.

    Raises:
        InputError: more votes than judges.
    """
    if len(votes) > panel_size:
        raise InputError(f"{len(votes)} votes of a panel of {panel_size}: observers have no vote, leave theirs out")
    counts = Counter(vote for vote in votes if vote is not None)
    return next((choice for choice, count in counts.items() if 2 * count > panel_size), None)


def unity(votes: Sequence[Hashable | None], panel_size: int) -> Unity:
    """Unanimous, split, or incomplete where a judge of the panel is missing; errors as for :func:`majority`."""
    majority(votes, panel_size)
    given = [vote for vote in votes if vote is not None]
    if len(given) < panel_size:
        return Unity.INCOMPLETE
    return Unity.UNANIMOUS if len(set(given)) == 1 else Unity.SPLIT


@dataclass(frozen=True, slots=True)
class PanelResult:
    """The verdicts of a panel of some of the judges.

    Attributes:
        judges: who sits on it.
        right: evaluations whose majority is the human's choice.
        wrong: evaluations whose majority is another.
        undecided: without a majority: ties, or lost votes that the others do not outweigh.
        n: evaluations.
        concordance: right / (right + wrong), with Wilson interval; None where nothing is decided.
        of_all: right / n, undecided ones in the denominator.
    """

    judges: tuple[str, ...]
    right: int
    wrong: int
    undecided: int
    n: int
    concordance: Estimate | None
    of_all: Estimate


def panel_result(
    votes: Sequence[Mapping[str, Hashable | None]], truth: Sequence[Hashable], judges: Sequence[str]
) -> PanelResult:
    """Concordance of the majority of some judges with the human's choice.

    Args:
        votes: for each evaluation judge -> choice; a judge that is missing or None gave none.
        truth: the human's choice of each evaluation.
        judges: the panel.

    Raises:
        InputError: no evaluations, unequal lengths, or no judges.
    """
    if len(votes) != len(truth) or not len(truth) or not judges:
        raise InputError(f"{len(votes)} evaluations, {len(truth)} human choices, {len(judges)} judges: each is needed")
    choices = [majority([vote.get(judge) for judge in judges], len(judges)) for vote in votes]
    right = sum(choice == human for choice, human in zip(choices, truth, strict=True) if choice is not None)
    decided = sum(choice is not None for choice in choices)
    return PanelResult(
        judges=tuple(judges),
        right=right,
        wrong=decided - right,
        undecided=len(choices) - decided,
        n=len(choices),
        concordance=wilson(right, decided) if decided else None,
        of_all=wilson(right, len(choices)),
    )


def panel_ablation(
    votes: Sequence[Mapping[str, Hashable | None]], truth: Sequence[Hashable], judges: Sequence[str]
) -> list[PanelResult]:
    """Every panel that could be made of the judges, single ones first.

    Small panels of even size tie often, which shows in ``undecided``. The best of many subsets is best partly by
    chance: compare sizes by their mean, not by their maximum.

    Raises:
        InputError: as :func:`panel_result`, or more than :data:`MOST_JUDGES` judges.
    """
    if len(judges) > MOST_JUDGES:
        raise InputError(f"{len(judges)} judges make {2 ** len(judges) - 1:,} panels; name at most {MOST_JUDGES}")
    sizes = range(1, len(judges) + 1)
    return [panel_result(votes, truth, chosen) for size in sizes for chosen in combinations(judges, size)]
