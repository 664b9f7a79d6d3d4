"""All pairwise verdicts of an input as one array: who preferred which response of which pair, in which order.

Evidence over tens of thousands of judgments is arithmetic on this array; one judgment at a time,
:class:`~metajudge.evidence.index.EvidenceIndex` says the same with a reason in words.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.answers import AnswerRows, Answers, Seen, SeenItem, answers_of
from metajudge.evidence.facts import Facts
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import AnyVerdict, Right, VerdictKind


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


def games_of(facts: Facts, rows: Indices, kin: Callable[[str], str]) -> tuple[Games, GameRows]:
    """The array of all games, and where the judgments to describe stand in it.

    Args:
        facts: of all records; each item id has one content.
        rows: decided pairwise judgments among them.
    """
    judges, judge = judge_places(facts)
    frame = _Frame.of(facts)
    pairs = _compared_pairs(facts, frame)
    record, pair = pairs.with_records(facts)
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


def answer_rows_of(
    facts: Facts, rows: Indices, kind: VerdictKind, rule: Right, kin: Callable[[str], str]
) -> tuple[Answers, AnswerRows]:
    """The arrays of all records for verdicts of a kind, and where the judgments to describe stand among them.

    Args:
        facts: of all records; each item id has one content.
        rows: decided judgments of the kind.
    """
    by_item = np.argsort(facts.item, kind="stable")
    ends = np.cumsum(np.bincount(facts.item, minlength=len(facts.items))).tolist()
    seen = _interned(facts, by_item)
    starts = [0, *ends[:-1]]
    items = {
        item.id: SeenItem(seen[start:end], item.question, item.scale)
        for item, start, end in zip(facts.items, starts, ends, strict=True)
        if end > start
    }
    scales = facts.rules(rule).scales.groups() if kind == "grade" else None
    answers, places = answers_of(items, kind, rule, models=models_of(facts), kin=kin, scales=scales)
    record = np.empty(len(facts), dtype=np.intp)
    of_items = [places[item.id] for item in facts.items if item.id in places]
    record[by_item] = np.concatenate(of_items) if of_items else np.zeros(0, dtype=np.intp)
    return answers, AnswerRows(record[rows])


def judge_places(facts: Facts) -> tuple[tuple[str, ...], Indices]:
    """The judges with records, sorted by name, and for each record the place of its judge among them."""
    present = np.unique(facts.judge).tolist()
    names = sorted(facts.judges[code] for code in present)
    place = {name: at for at, name in enumerate(names)}
    of_code = np.array([place.get(name, -1) for name in facts.judges], dtype=np.intp)
    return tuple(names), of_code[facts.judge]


def models_of(facts: Facts) -> dict[str, str]:
    """Judge -> the model behind it: what its first record states, else the judge itself."""
    codes, first = np.unique(facts.judge, return_index=True)
    models = facts.model[first].tolist()
    return {
        facts.judges[code]: facts.judges[code] if model < 0 else facts.models[model]
        for code, model in zip(codes.tolist(), models, strict=True)
    }


def _interned(facts: Facts, by_item: Indices) -> list[Seen]:
    """What evidence keeps of each record, item by item; equal ones are one object."""
    known: dict[tuple[int, int, int], Seen] = {}
    found = []
    codes = (facts.judge[by_item].tolist(), facts.order[by_item].tolist(), facts.verdict[by_item].tolist())
    for key in zip(*codes, strict=True):
        seen = known.get(key)
        if seen is None:
            judge, order, verdict = key
            given = None if verdict < 0 else facts.verdicts[verdict]
            seen = known[key] = Seen(facts.judges[judge], facts.orders[order], given)
        found.append(seen)
    return found


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
    def of(cls, facts: Facts) -> "_Frame":
        own = [_pair(verdict.ids) if len(verdict.ids) == 2 else None for verdict in facts.verdicts]
        pairs = sorted({pair for pair in own if pair is not None})
        place = {pair: at for at, pair in enumerate(pairs)}
        of_verdict = [-1 if pair is None else place[pair] for pair in own]
        return cls(pairs, np.array([*of_verdict, -1], dtype=np.intp), facts.orders, facts.verdicts)

    def slots(self, order: NDArray[Any], pair: Indices) -> Indices:
        """Which response of a pair an order shows first: 0 or 1, -1 where it does not show both."""
        orders, pairs = self.orders, self.pairs
        return _looked_up(order, pair, lambda at, other: _slot(orders[at], *pairs[other])).astype(np.intp)

    def supports(self, verdict: NDArray[np.int32], pair: Indices) -> tuple[Floats, Bools]:
        """The signed strength of verdicts for the first response of a pair, and whether they say something of it."""
        verdicts, pairs = self.verdicts, self.pairs

        def support(at: int, other: int) -> int:
            given = None if at < 0 else verdicts[at].support(*pairs[other])
            return _SILENT if given is None else given

        found = _looked_up(verdict, pair, support)
        return np.where(found == _SILENT, 0.0, found), found != _SILENT


_SILENT = -9
"""Stands for a verdict that says nothing of a pair, in a column of strengths from -2 to 2."""


def _looked_up(left: NDArray[Any], right: NDArray[Any], of: Callable[[int, int], int]) -> Floats:
    """A function of two codes, called once for each combination that occurs."""
    width = int(right.max(initial=0)) + 2
    combined, place = np.unique((left.astype(np.int64) + 1) * width + right + 1, return_inverse=True)
    values = [of(one // width - 1, one % width - 1) for one in combined.tolist()]
    return np.array(values, dtype=np.float64)[place.ravel()]


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

    def place(self, item: NDArray[np.int32], code: Indices) -> Indices:
        """The pairs of items and codes that are there."""
        return np.searchsorted(self.key, self.rank[item] * self.width + code)

    def with_records(self, facts: Facts) -> tuple[Indices, Indices]:
        """Every record with every pair of its item: places of records and of pairs."""
        rank = self.rank[facts.item]
        start = np.searchsorted(self.key, rank * self.width)
        count = np.searchsorted(self.key, (rank + 1) * self.width) - start
        record = np.repeat(np.arange(len(rank)), count)
        offset = np.arange(len(record)) - np.repeat(np.cumsum(count) - count, count)
        return record, start[record] + offset


def _compared_pairs(facts: Facts, frame: _Frame) -> _Pairs:
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
