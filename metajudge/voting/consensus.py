"""What a voting rule returns: a weak order, its scores and its ties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from metajudge.stats.arrays import Bools, Floats

SAME_SCORE = 1e-9
"""Scores of iterative rules that differ by less are equal: below the accuracy of the fit."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """A weak order of the candidates with scores.

    Attributes:
        rule: the rule's name.
        ranking: groups of tied candidates, best first. Within a group the order carries no meaning.
        scores: candidate -> score, higher is better; equal within a group. Each rule says what it is.
    """

    rule: str
    ranking: tuple[tuple[str, ...], ...]
    scores: Mapping[str, float]

    @classmethod
    def of_scores(cls, rule: str, candidates: Sequence[str], scores: Sequence[Fraction | float]) -> "Consensus":
        """The order of exact scores, one a candidate."""
        named = {name: float(score) for name, score in zip(candidates, scores, strict=True)}
        return cls(rule, ranked_by(candidates, scores), named)

    @property
    def winners(self) -> tuple[str, ...]:
        """The first group: one candidate, or all that share the first place."""
        return self.ranking[0]

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """The groups the rule leaves tied, each of two candidates or more, best first."""
        return tuple(group for group in self.ranking if len(group) > 1)

    @property
    def ranks(self) -> dict[str, float]:
        """Candidate -> rank from 1; tied candidates share the mean of the places they take (mid-ranks)."""
        ranks: dict[str, float] = {}
        before = 0
        for group in self.ranking:
            ranks.update(dict.fromkeys(group, before + (len(group) + 1) / 2))
            before += len(group)
        return ranks


def ranked_by(
    candidates: Sequence[str], scores: Sequence[Fraction | float | int] | Floats, tolerance: float = 0.0
) -> tuple[tuple[str, ...], ...]:
    """Groups of equal scores, highest first.

    Args:
        candidates: names.
        scores: one each, comparable.
        tolerance: neighbours in the sorted scores that differ by at most this much are tied.
    """
    order = sorted(range(len(candidates)), key=lambda i: scores[i], reverse=True)
    groups: list[list[int]] = []
    for i in order:
        if groups and scores[groups[-1][-1]] - scores[i] <= tolerance:
            groups[-1].append(i)
        else:
            groups.append([i])
    return tuple(tuple(candidates[i] for i in sorted(group)) for group in groups)


def layered(candidates: Sequence[str], beats: Bools) -> tuple[tuple[str, ...], ...]:
    """Groups by repeatedly taking all candidates that none of the remaining ones beats.

    Args:
        candidates: names.
        beats: [K, K] bool, an acyclic relation: the row's candidate beats the column's.
    """
    left = np.ones(len(candidates), dtype=bool)
    groups: list[tuple[str, ...]] = []
    while left.any():
        top = left & ~(beats & left[:, None]).any(axis=0)
        groups.append(tuple(candidates[i] for i in np.flatnonzero(top).tolist()))
        left &= ~top
    return tuple(groups)


def places_below(ranking: Sequence[Sequence[str]]) -> dict[str, float]:
    """Candidate -> number of candidates in lower groups."""
    below: dict[str, float] = {}
    count = 0
    for group in reversed(ranking):
        below.update(dict.fromkeys(group, float(count)))
        count += len(group)
    return below
