"""Drift of signals by judge and category, and identities that were not there before.

Each stream is one signal of one judge in one category, with one value a question. Under no drift its values are
exchangeable, so the ranks of each among those before it, with ties broken at random, are independent and uniform
(conformal p-values; Vovk, Gammerman and Shafer, 2022). :class:`~metajudge.monitor.change.ChangeTest` bets that they
have left the middle on one side. The e-values of all streams then pass e-BH (Wang and Ramdas, "False discovery rate
control with e-values", 2022): under any dependence between streams, and at any time at which one looks, the expected
share of false findings among the findings of that report is at most the level.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np

from metajudge.monitor.change import ChangeTest
from metajudge.stats.arrays import Floats, Ints
from metajudge.types import text_digest

LEAST: Final = 30
"""Questions a stream needs; a shorter one is not tested."""
MOST_IDENTITIES: Final = 8
"""A field with more values than this is a part of the question, not of the judge."""
BLOCK: Final = 1024
"""Values of a stream that are ranked among one another at once."""
_BETS: Final = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9)
_ALWAYS: Final = ("judge", "category")
"""Fields that every judgment has; they may have any number of values."""
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are far apart: tells the same question of two streams apart."""

Name = tuple[str, str, str | None]
"""Of a stream: signal, judge, category."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A review by people of a judgment that was drawn with a known probability.

    Attributes:
        opened_at, decided_at: seconds since the epoch; ``decided_at`` is None while people have not decided.
        inclusion: probability with which the judgment was drawn, in (0, 1].
        right: what people say of the verdict; None where they are undecided or cannot tell.
    """

    opened_at: float
    inclusion: float = 1.0
    decided_at: float | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One judgment decided under a promise, and what it showed then.

    Attributes:
        content: digest of the judgment.
        question: judgments of one question are one observation of a stream.
        at: when it was decided, seconds since the epoch.
        values: signal -> number; what is absent is left out.
        identity: field -> value, such as the judge's instruction or an agent's model.
        probability: calibrated, that it is right, in [0, 1]; None without a calibration.
        audit: None where it was not drawn.
        sampled: whether everything kept had a chance to be drawn when it was decided; where it had none, reviews are of
            doubtful judgments alone, and neither the test nor an estimate may use them.
    """

    judgment_id: str
    content: str
    judge: str
    category: str | None
    question: str
    at: float
    values: Mapping[str, float] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    kept: bool = True
    probability: float | None = None
    audit: Audit | None = None
    sampled: bool = True


@dataclass(frozen=True, slots=True)
class Drift:
    """A signal that moved.

    Attributes:
        before, after: means on both sides of the most likely change; ``since`` is the time of the first question after
            it, and ``after_n`` the number of questions from there on.
    """

    signal: str
    judge: str
    category: str | None
    n: int
    e_value: float
    before: float
    after: float
    after_n: int
    since: float


@dataclass(frozen=True, slots=True)
class NewIdentity:
    """A value that a judge's judgments did not have at first.

    Attributes:
        field: what is new: ``judge``, ``category``, ``instruction``, ``judge_model``, ``agents``, ``rubric``,
            ``prompts``.
        judge: whose judgments; None where the judge itself is new.
        value: the new value; ``known`` those of the fit, or of the first judgment where the fit recorded none.
        n: judgments that have it, out of ``total`` since its first one.
    """

    field: str
    judge: str | None
    value: str
    known: tuple[str, ...]
    since: float
    n: int
    total: int


@dataclass(frozen=True, slots=True)
class Drifts:
    """Streams that drifted, the most certain first, with how many were tested."""

    found: tuple[Drift, ...]
    tested: int
    too_short: int
    level: float


class Streams:
    """Signals by judge and category, one value a question: that of its first judgment.

    Memory: 20 bytes a judgment and 12 a value of a signal.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str | None], int] = {}
        self._group, self._question, self._at = array("I"), array("Q"), array("d")
        self._signals: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, one: Decision) -> None:
        """Takes the next judgment, in the order of decision."""
        row = len(self._at)
        self._group.append(self._groups.setdefault((one.judge, one.category), len(self._groups)))
        self._question.append(question_code(one.question))
        self._at.append(one.at)
        for signal, value in one.values.items():
            if (there := self._signals.get(signal)) is None:
                there = self._signals[signal] = array("I"), array("d")
            there[0].append(row)
            there[1].append(value)

    def drifts(self, level: float) -> Drifts:
        """Finds the streams that drifted, with the false discovery rate controlled.

        Args:
            level: bound on the expected share of false findings among those reported, in (0, 1).
        """
        e_values: dict[Name, float] = {}
        short = 0
        for name, _, values in self._each(self._signals):
            if len(values) < LEAST:
                short += 1
            else:
                e_values[name] = _e_value(name, values)
        drifted = e_bh(e_values, level)
        told = {
            name: _drift(name, values, np.asarray(self._at)[rows], e_values[name])
            for name, rows, values in self._each({name[0] for name in drifted})
            if name in drifted
        }
        return Drifts(tuple(told[name] for name in drifted), len(e_values), short, level)

    def _each(self, signals: Iterable[str]) -> Iterator[tuple[Name, Ints, Floats]]:
        """The streams of some signals: name, and of each question the judgment's place and value, in order."""
        names = list(self._groups)
        group, question = np.asarray(self._group, dtype=np.uint64), np.asarray(self._question)
        for signal in signals:
            rows, values = (np.asarray(one) for one in self._signals[signal])
            whose = group[rows]
            first = np.unique(question[rows] + whose * _SPREAD, return_index=True)[1]
            first = first[np.lexsort((first, whose[first]))]
            bounds = np.flatnonzero(np.diff(whose[first], prepend=np.uint64(len(names)))).tolist()
            for start, end in pairwise([*bounds, len(first)]):
                one = first[start:end]
                yield (signal, *names[int(whose[one[0]])]), np.asarray(rows[one], dtype=np.intp), values[one]


def question_code(question: str) -> int:
    """64 bits of a question's digest: two of five million questions share one with a probability of 7e-7."""
    return int.from_bytes(blake2b(question.encode(), digest_size=8).digest(), "big")


def e_bh(e_values: Mapping[Name, float], level: float) -> list[Name]:
    """The e-BH procedure: the k largest of m e-values, for the largest k whose k-th is at least ``m / (k * level)``."""
    ranked = sorted(e_values, key=lambda name: (-e_values[name], str(name)))
    passed = [k for k, name in enumerate(ranked, 1) if e_values[name] >= len(ranked) / (k * level)]
    return ranked[: max(passed, default=0)]


def _e_value(name: Name, values: Floats) -> float:
    """The e-value of a stream; ties are broken by draws that depend on the stream's name alone."""
    rng = np.random.default_rng(int(text_digest("\x1f".join(map(str, name)))[:12], 16))
    low, high = _placed(values)
    ranks = (low + rng.random(len(values)) * (high - low)) / np.arange(1, len(values) + 1)
    return float(ChangeTest(_BETS).extend(2 * ranks - 1)[-1])


def _placed(values: Floats) -> tuple[Ints, Ints]:
    """[n] how many of the values up to each one are smaller than it, and how many are not larger."""
    smaller, not_larger, earlier = np.empty(len(values), np.intp), np.empty(len(values), np.intp), values[:0]
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        block = values[part]
        before = np.tril(np.ones((len(block), len(block)), dtype=bool))  # and itself
        smaller[part] = np.searchsorted(earlier, block) + (before & (block < block[:, None])).sum(axis=1)
        not_larger[part] = np.searchsorted(earlier, block, "right") + (before & (block <= block[:, None])).sum(axis=1)
        earlier = np.sort(np.concatenate((earlier, block)), kind="stable")
    return smaller, not_larger


def _drift(name: Name, numbers: Floats, times: Floats, e_value: float) -> Drift:
    """Describes a stream; the change is put where the means on both sides differ most for their numbers."""
    n = len(numbers)
    cuts = np.arange(5, n - 4)
    sums = np.cumsum(numbers)
    gap = sums[cuts - 1] / cuts - (sums[-1] - sums[cuts - 1]) / (n - cuts)
    cut = int(cuts[np.argmax(np.abs(gap) * np.sqrt(cuts * (n - cuts)))])
    before, after = float(numbers[:cut].mean()), float(numbers[cut:].mean())
    return Drift(*name, n, e_value, before, after, n - cut, float(times[cut]))


class Identities:
    """Who judged and vetted, and since when; its memory does not grow with the number of judgments."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str | None], dict[str, tuple[int, float, int]]] = {}
        self._counts = Counter[tuple[str, str | None]]()

    def add(self, one: Decision) -> None:
        """Takes the next judgment, in the order of decision."""
        always = {"judge": one.judge} if one.category is None else {"judge": one.judge, "category": one.category}
        for name, value in {**one.identity, **always}.items():
            key = name, None if name == "judge" else one.judge
            values = self._values.setdefault(key, {})  # value -> how many came before, the time, how often it came
            if name in _ALWAYS or len(values) <= MOST_IDENTITIES:
                place, since, often = values.get(value, (self._counts[key], one.at, 0))
                values[value] = place, since, often + 1
            self._counts[key] += 1

    def new(self, known: Mapping[str, Iterable[str]]) -> tuple[NewIdentity, ...]:
        """Values that were not there in the fit or, where it recorded none, at a judge's first judgment.

        Args:
            known: field -> values of the fit; ``judge`` and ``category`` are fields, too.
        """
        given = {name: tuple(sorted(values)) for name, values in known.items()}
        found = [
            NewIdentity(name, judge, value, there, since, often, self._counts[name, judge] - place)
            for (name, judge), values in self._values.items()
            if (name in given if name in _ALWAYS else len(values) <= MOST_IDENTITIES)
            for there in [given.get(name) or (next(iter(values)),)]
            for value, (place, since, often) in values.items()
            if value not in there
        ]
        return tuple(sorted(found, key=lambda one: (one.since, one.field, one.judge or "", one.value)))
