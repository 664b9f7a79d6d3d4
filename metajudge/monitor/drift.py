"""Drift of signals by judge and category, and identities that were not there before.

Each stream is one signal of one judge in one category, with one value a question. Under no drift its values are
exchangeable, so the ranks of each among those before it, with ties broken at random, are independent and uniform
(conformal p-values; Vovk, Gammerman and Shafer, 2022). :class:`~metajudge.monitor.change.ChangeTest` bets that they
have left the middle on one side. The e-values of all streams then pass e-BH (Wang and Ramdas, "False discovery rate
control with e-values", 2022): under any dependence between streams, and at any time at which one looks, the expected
share of false findings among the findings of that report is at most the level.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from metajudge.monitor.change import ChangeTest
from metajudge.stats.arrays import Floats
from metajudge.types import text_digest

LEAST: Final = 30
"""Questions a stream needs; a shorter one is not tested."""
MOST_IDENTITIES: Final = 8
"""A field with more values than this is a part of the question, not of the judge."""
_BETS: Final = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one judgment showed when it was decided.

    Attributes:
        question: judgments of one question are one observation of a stream.
        at: when it was decided, seconds since the epoch.
        values: signal -> number; what is absent is left out.
        identity: field -> value, such as the judge's instruction or an agent's model.
    """

    judge: str
    category: str | None
    question: str
    at: float
    values: Mapping[str, float] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drift:
    """A signal that moved.

    Attributes:
        n: questions of the stream.
        e_value: evidence against "no drift".
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


def find_drift(seen: Iterable[Seen], *, level: float = 0.05) -> Drifts:
    """Finds the streams that drifted, with the false discovery rate controlled.

    Args:
        seen: in the order of decision.
        level: bound on the expected share of false findings among those reported, in (0, 1).
    """
    streams = _streams(seen)
    long = {name: values for name, values in streams.items() if len(values) >= LEAST}
    e_values = {name: float(_e_values(name, [value for value, _ in values])[-1]) for name, values in long.items()}
    found = tuple(_drift(name, long[name], e_values[name]) for name in e_bh(e_values, level))
    return Drifts(found, len(long), len(streams) - len(long), level)


def e_bh(e_values: Mapping[tuple[str, str, str | None], float], level: float) -> list[tuple[str, str, str | None]]:
    """The e-BH procedure: the k largest of m e-values, for the largest k whose k-th is at least ``m / (k * level)``."""
    ranked = sorted(e_values, key=lambda name: (-e_values[name], str(name)))
    passed = [k for k, name in enumerate(ranked, 1) if e_values[name] >= len(ranked) / (k * level)]
    return ranked[: max(passed, default=0)]


def _streams(seen: Iterable[Seen]) -> dict[tuple[str, str, str | None], list[tuple[float, float]]]:
    """Stream -> its values with their times; the first judgment of a question counts."""
    found: dict[tuple[str, str, str | None], dict[str, tuple[float, float]]] = {}
    for one in seen:
        for signal, value in one.values.items():
            found.setdefault((signal, one.judge, one.category), {}).setdefault(one.question, (value, one.at))
    return {name: list(values.values()) for name, values in found.items()}


def _e_values(name: tuple[str, str, str | None], values: Sequence[float]) -> Floats:
    """[n] e-values of a stream; ties are broken by draws that depend on the stream's name alone."""
    rng = np.random.default_rng(int(text_digest("\x1f".join(map(str, name)))[:12], 16))
    draws = rng.random(len(values))
    earlier: list[float] = []
    ranks = np.empty(len(values))
    for place, value in enumerate(values):
        insort(earlier, value)
        low, high = bisect_left(earlier, value), bisect_right(earlier, value)
        ranks[place] = (low + draws[place] * (high - low)) / (place + 1)
    return ChangeTest(_BETS).extend(2 * ranks - 1)


def _drift(name: tuple[str, str, str | None], values: Sequence[tuple[float, float]], e_value: float) -> Drift:
    """Describes a stream; the change is put where the means on both sides differ most for their numbers."""
    numbers = np.array([value for value, _ in values])
    n = len(numbers)
    cuts = np.arange(5, n - 4)
    sums = np.cumsum(numbers)
    gap = sums[cuts - 1] / cuts - (sums[-1] - sums[cuts - 1]) / (n - cuts)
    cut = int(cuts[np.argmax(np.abs(gap) * np.sqrt(cuts * (n - cuts)))])
    before, after = float(numbers[:cut].mean()), float(numbers[cut:].mean())
    return Drift(*name, n, e_value, before, after, n - cut, values[cut][1])


def new_identities(seen: Sequence[Seen], known: Mapping[str, Iterable[str]]) -> tuple[NewIdentity, ...]:
    """Values of the identity that were not there in the fit or, where it recorded none, at a judge's first judgment.

    Args:
        seen: in the order of decision.
        known: field -> values of the fit; ``judge`` and ``category`` are fields, too.
    """
    given = {name: tuple(sorted(values)) for name, values in known.items()}
    groups: dict[tuple[str, str | None], list[tuple[str, float]]] = {}
    for one in seen:
        groups.setdefault(("judge", None), []).append((one.judge, one.at))
        if one.category is not None:
            groups.setdefault(("category", one.judge), []).append((one.category, one.at))
        for name, value in one.identity.items():
            groups.setdefault((name, one.judge), []).append((value, one.at))
    found = []
    for (name, judge), values in groups.items():
        if name not in given and name in ("judge", "category"):
            continue
        found += _new_values(name, judge, values, given.get(name) or (values[0][0],))
    return tuple(sorted(found, key=lambda one: (one.since, one.field, one.judge or "", one.value)))


def _new_values(
    name: str, judge: str | None, values: Sequence[tuple[str, float]], known: tuple[str, ...]
) -> list[NewIdentity]:
    places: dict[str, list[int]] = {}
    for place, (value, _) in enumerate(values):
        places.setdefault(value, []).append(place)
    if name not in ("judge", "category") and len(places) > MOST_IDENTITIES:
        return []
    return [
        NewIdentity(name, judge, value, known, values[at[0]][1], len(at), len(values) - at[0])
        for value, at in places.items()
        if value not in known
    ]
