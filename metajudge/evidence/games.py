"""All pairwise verdicts of an input as one array: who preferred which response of which pair, in which order.

Evidence over tens of thousands of judgments is arithmetic on this array; :func:`~metajudge.evidence.columns.compare`
says the same with a reason in words.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metajudge.evidence.answers import judge_places, models_of
from metajudge.evidence.grouping import Integers, compared, spread
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import AnyVerdict


@dataclass(frozen=True)
class Games:
    """Verdicts in the frame of each pair: positive where the pair's first response is preferred.

    Attributes:
        judges: names, sorted.
        kin: the family of each judge; judges of one family share one vote where reliability is measured.
        models: the model behind each judge: many prompts of one model speak as one.
        strength: [pairs, judges, 2] signed strength in -2..2, the mean over repeated games; 0 where missing.
            The last axis is the order: 0 where the first response was shown first.
        given: [pairs, judges, 2] whether there is a verdict.
        asked: [pairs, judges, 2] whether there is a record, with or without a verdict.
    """

    judges: tuple[str, ...]
    kin: tuple[str, ...]
    models: tuple[str, ...]
    strength: Floats
    given: Bools
    asked: Bools

    @cached_property
    def shared(self) -> Bools:
        """[judges, judges] whether two judges were asked about a common pair."""
        met: Floats = np.asarray(self.asked.any(axis=2), dtype=np.float64)
        return np.asarray(np.matmul(met.T, met) > 0)


@dataclass(frozen=True, slots=True)
class GameRows:
    """Where decided pairwise judgments stand in :class:`Games`; all [n].

    Attributes:
        order: 0 or 1, the order shown.
        sign: 1 where the pair's first response is preferred, else -1.
        level: 1 for a plain verdict, 2 for a strong one.
    """

    pair: Indices
    judge: Indices
    order: Indices
    sign: Floats
    level: Indices

    def __len__(self) -> int:
        return len(self.pair)

    def select(self, chosen: Indices | Bools) -> "GameRows":
        return GameRows(
            self.pair[chosen], self.judge[chosen], self.order[chosen], self.sign[chosen], self.level[chosen]
        )


def games_of(facts: Verdicts, rows: Indices, kin: Callable[[str], str]) -> tuple[Games, GameRows]:
    """The array of all games, and where the judgments to describe stand in it.

    Args:
        facts: of all records; each item id has one content.
        rows: decided pairwise judgments among them.
    """
    judges, judge = judge_places(facts)
    frame = _Frame.of(facts)
    pairs = _compared_pairs(facts, frame)
    pair, record = pairs.with_records(facts)
    slot = frame.slots(facts.order[record], pairs.code[pair])
    support, given = frame.supports(facts.verdict[record], pairs.code[pair])
    shape = (len(pairs.code), len(judges), 2)
    asked = slot >= 0
    cell = (pair * len(judges) + judge[record]) * 2 + slot
    count = np.bincount(cell[asked & given], minlength=math.prod(shape)).reshape(shape)
    total = np.bincount(cell[asked & given], weights=support[asked & given], minlength=math.prod(shape)).reshape(shape)
    recorded = np.zeros(math.prod(shape), dtype=bool)
    recorded[cell[asked]] = True
    models = models_of(facts)
    games = Games(
        judges,
        tuple(kin(name) for name in judges),
        tuple(models[name] for name in judges),
        total / np.maximum(count, 1),
        count > 0,
        recorded.reshape(shape),
    )
    code = frame.of_verdict[facts.verdict[rows]]
    own, _ = frame.supports(facts.verdict[rows], code)
    return games, GameRows(
        pairs.place(facts.item[rows], code),
        judge[rows],
        np.maximum(frame.slots(facts.order[rows], code), 0),
        np.where(own > 0, 1.0, -1.0),
        np.abs(own).astype(np.intp),
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Orders and verdicts seen from pairs of responses.

    Attributes:
        pairs: ids of compared responses, sorted; the frame of a pair is the order of its ids, which names no winner.
        of_verdict: [verdicts + 1] place of a verdict's pair, -1 where it compares no pair; the last is no verdict.
    """

    pairs: Sequence[tuple[str, str]]
    of_verdict: Indices
    orders: Sequence[tuple[str, ...]]
    verdicts: Sequence[AnyVerdict]

    @classmethod
    def of(cls, facts: Verdicts) -> "_Frame":
        own = [_pair(verdict.ids) if len(verdict.ids) == 2 else None for verdict in facts.verdicts]
        pairs = sorted({pair for pair in own if pair is not None})
        place = {pair: at for at, pair in enumerate(pairs)}
        of_verdict = [-1 if pair is None else place[pair] for pair in own]
        return cls(pairs, np.array([*of_verdict, -1], dtype=np.intp), facts.orders, facts.verdicts)

    def slots(self, order: Integers, pair: Integers) -> Indices:
        """Which response of a pair an order shows first: 0 or 1, -1 where it does not show both."""
        found = compared(order, pair, self.orders, self.pairs, lambda shown, ids: _slot(shown, *ids))
        return found.astype(np.intp)

    def supports(self, verdict: Integers, pair: Integers) -> tuple[Floats, Bools]:
        """The signed strength of verdicts for the first response of a pair, and whether they say something of it."""
        said = np.where(verdict < 0, len(self.verdicts), verdict)
        found = compared(
            said, pair, [*self.verdicts, None], self.pairs, lambda one, ids: None if one is None else one.support(*ids)
        )
        return np.nan_to_num(found), ~np.isnan(found)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Compared pairs, by item id and then by the pair's ids.

    Attributes:
        key: [pairs] rank of the item times the number of codes, plus the code; ascending.
        code: [pairs] place in the frame's pairs.
        rank: [items] rank of each item by its id.
    """

    key: Indices
    code: Indices
    rank: Indices
    width: int

    def place(self, item: Integers, code: Indices) -> Indices:
        """The pairs of items and codes that are there."""
        return np.searchsorted(self.key, self.rank[item] * self.width + code)

    def with_records(self, facts: Verdicts) -> tuple[Indices, Indices]:
        """Every pair of every record's item: places of pairs and of records."""
        rank = self.rank[facts.item]
        return spread(*(np.searchsorted(self.key, one * self.width) for one in (rank, rank + 1)))


def _compared_pairs(facts: Verdicts, frame: _Frame) -> _Pairs:
    rank = np.empty(len(facts.items), dtype=np.intp)
    rank[sorted(range(len(facts.items)), key=lambda at: facts.items[at].id)] = np.arange(len(facts.items))
    code = frame.of_verdict[facts.verdict]
    width = max(1, len(frame.pairs))
    key = np.unique(rank[facts.item[code >= 0]] * width + code[code >= 0])
    return _Pairs(key, key % width, rank, width)


def _pair(ids: Sequence[str]) -> tuple[str, str]:
    first, second = sorted(ids)
    return first, second


def _slot(order: Sequence[str], first: str, second: str) -> int:
    if first not in order or second not in order:
        return -1
    return 0 if order.index(first) < order.index(second) else 1
