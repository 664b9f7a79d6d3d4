"""How well people agree with one another: the ceiling of a judge's agreement with people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from metajudge.stats.clustered import ClusteredProportion, clustered_proportion

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """Leave-one-out agreement of people.

    Attributes:
        agreement: the share of annotators who agree with the others, with its interval by item; None where no
            comparison could be made.
        compared: comparisons made: one for each annotator of an item whose other annotators have an answer.
        undecided: annotators left out because the others are undecided (a tie that the rule cannot compare with).
        items: items with answers of at least two annotators.
        alone: items with the answers of one annotator, which say nothing about agreement.
        annotators: different annotators in the comparisons; those without a name are counted once each.
    """

    agreement: ClusteredProportion | None
    compared: int
    undecided: int
    items: int
    alone: int
    annotators: int


def human_ceiling(
    answers: Sequence[Sequence[tuple[str | None, T]]],
    combine: Callable[[Sequence[T]], T | None],
    agrees: Callable[[T, T], bool | None],
    confidence: float = 0.95,
) -> HumanCeiling:
    """Each annotator against what the others of the item say together.

    An annotator's several answers on one item are combined to one first. This is the agreement that a judge of a
    person's quality would reach; it compares with fewer people than a judge is compared with, so that it is slightly
    too low (as in Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", 2023, where the agreement of
    two people is the reference).

    Args:
        answers: for each item its (annotator, answer) pairs; an annotator None is a person of its own.
        combine: what several answers say together, None where they are undecided
            (:func:`metajudge.types.majority`).
        agrees: whether the first answer is right by the second, None where they cannot be compared
            (:func:`metajudge.types.is_right` with a rule).
        confidence: nominal coverage, in (0, 1).
    """
    right: list[bool] = []
    clusters: list[int] = []
    names: set[object] = set()
    undecided = items = alone = 0
    for number, given in enumerate(answers):
        people = _by_person(number, given)
        items += len(people) > 1
        alone += len(people) == 1
        if len(people) < 2:
            continue
        said = {name: combine(own) for name, own in people.items()}
        for name, own in said.items():
            others = [one for other, one in said.items() if other != name and one is not None]
            together = combine(others) if others else None
            same = None if own is None or together is None else agrees(own, together)
            if same is None:
                undecided += 1
                continue
            right.append(same)
            clusters.append(number)
            names.add(name)
    agreement = clustered_proportion(np.array(right, dtype=np.float64), clusters, confidence) if right else None
    return HumanCeiling(agreement, len(right), undecided, items, alone, len(names))


def _by_person(item: int, given: Sequence[tuple[str | None, T]]) -> dict[object, list[T]]:
    people: dict[object, list[T]] = {}
    for number, (name, answer) in enumerate(given):
        people.setdefault((item, number) if name is None else name, []).append(answer)
    return people
