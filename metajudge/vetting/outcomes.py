"""What free evidence says of every judgment of an input, as columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.dependence import Dependence, dependence_of
from metajudge.evidence.grouping import Integers, Interned, Key
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Coded, SignalColumn, Verdicts
from metajudge.strategies import Panel
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.signals import weighed
from metajudge.strategies.vetter import without_verdict
from metajudge.types import Right, SignalValue
from metajudge.types.digests import bytes_digest, json_bytes

WEIGHED = ("order", "strength", "peers", "rationale", "repeats", "variants")
"""Signals that an outcome depends on."""
Whole: TypeAlias = tuple[Rules, Dependence, Mapping[str, str]]
"""Of an input: rules, the dependence of its judges, and the model that each judge states."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of n judgments.

    Attributes:
        signals: name -> column, in the order in which an assessment lists them.
        codes: [n] places in ``results``; -1 where there is no outcome.
        results: different outcomes; their signals are left out.
        dependence: what is known of the independence of the input's judges.
    """

    signals: Mapping[str, SignalColumn]
    codes: NDArray[np.int32]
    results: Sequence[Outcome]
    rules: Rules
    dependence: Dependence = field(default_factory=Dependence)
    _texts: dict[str, list[str]] = field(default_factory=dict)

    def signals_of(self, rows: Integers) -> list[dict[str, SignalValue]]:
        """[m] the signals of some judgments."""
        found: list[dict[str, SignalValue]] = [{} for _ in range(len(rows))]
        for name, column in self.signals.items():
            values = column.values
            for signals, code in zip(found, column.codes[rows].tolist(), strict=True):
                if code >= 0:
                    signals[name] = values[code]
        return found

    def stored_keys(self, keys: Sequence[str], rows: Integers) -> list[str]:
        """[m] keys of assessments in the store: of the vetting and of the signals, which depend on what is around.

        The same as :func:`metajudge.vetting.finishing.stored_key` of each.
        """
        parts: list[list[str]] = [[] for _ in range(len(rows))]
        for name in sorted(self.signals):
            column, texts = self.signals[name], self._texts.get(name) or self._written(name)
            for part, code in zip(parts, column.codes[rows].tolist(), strict=True):
                if code >= 0:
                    part.append(texts[code])
        whole = (f'["{key}",{{{",".join(part)}}}]'.encode() for key, part in zip(keys, parts, strict=True))
        weighed = [self.results[code].signals is not None for code in self.codes[rows].tolist()]
        return [bytes_digest(text) if known else key for key, text, known in zip(keys, whole, weighed, strict=True)]

    def states(self, rows: Integers) -> Key:
        """State and sign of what is weighed, of some judgments."""
        key = Key.of(np.zeros(len(rows), dtype=np.int64), 1)
        for name in WEIGHED:
            column, states = self.signals[name], Interned[tuple[object, ...]]()
            codes, places = np.unique(column.codes[rows], return_inverse=True)
            seen = [None if code < 0 else column.values[code] for code in codes.tolist()]
            table = [
                states.code((one is None,) if one is None else (one.state, one.value is None, (one.value or 0) < 0))
                for one in seen
            ]
            key = key.then(np.array(table, dtype=np.int64)[places.ravel()], len(states.values))
        return key

    def _written(self, name: str) -> list[str]:
        head = json_bytes(name) + b":"
        texts = [(head + json_bytes(one.model_dump(), sort_keys=True)).decode() for one in self.signals[name].values]
        return self._texts.setdefault(name, texts)


def outcomes_of(
    facts: Verdicts,
    panel_of: Callable[[str | None], Panel],
    right: Right | None = None,
    wanted: NDArray[np.int64] | None = None,
    *,
    whole: Whole | None = None,
) -> Outcomes:
    """Weighs every judgment by its signals among all of the input; see :func:`metajudge.strategies.signals.weighed`.

    Args:
        right: what counts as right; None for the default of each kind of verdict.
        wanted: [m] the rows that get an outcome; None for all.
        whole: of a larger input, of which these are whole items; None where these are all of it.
    """
    rules, dependence, models = whole or of_judges(facts, right)
    facts = replace(facts, copies=dependence.copies)
    facts.__dict__["model_of"] = models
    comparisons = compare(facts, rules)
    signals = signal_columns(facts, comparisons)
    results = _Results(facts, signals, comparisons.peers)
    codes = np.full(len(facts), -1, dtype=np.int32)
    panels = [panel_of(name) for name in (*facts.categories, None)]  # the last one is meant by the code -1
    different = {id(panel): panel for panel in panels}
    of_category = np.array([list(different).index(id(panel)) for panel in panels])
    for place, panel in enumerate(different.values()):
        rows = np.flatnonzero(of_category[facts.category] == place)
        rows = rows if wanted is None else np.intersect1d(rows, wanted, assume_unique=True)
        codes[rows] = results.codes(panel, rows)
    return Outcomes(signals, codes, results.found, rules, dependence)


def of_judges(facts: Verdicts, right: Right | None) -> Whole:
    """What outcomes take from the whole of an input."""
    rules = facts.rules(right)
    return rules, dependence_of(facts, rules), facts.model_of


@dataclass(slots=True)
class _Results:
    """Different outcomes, each worked out once."""

    facts: Verdicts
    signals: Mapping[str, SignalColumn]
    peers: Coded[PeerSupport]
    found: list[Outcome] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def codes(self, panel: Panel, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Places of the outcomes of rows by a panel."""
        different, first = self._key(rows).distinct()
        places = [self._place(self._outcome(panel, row)) for row in rows[first].tolist()]
        return np.array(places, dtype=np.int32)[different]

    def _key(self, rows: NDArray[np.int64]) -> Key:
        """What an outcome depends on: all that is weighed, and the reason where there is no verdict."""
        facts = self.facts
        key = Key.of(facts.kind[rows] + 1, 5).then(facts.reason[rows] + 1, len(facts.reasons) + 1)
        for name in WEIGHED:
            key = key.then(*_weights(self.signals[name], rows))
        counts = Interned[tuple[float, int, int, int]]()
        places = [counts.code((one.most, one.supporting, one.undecided, one.peers)) for one in self.peers.values]
        return key.then(np.array(places, dtype=np.int32)[self.peers.codes[rows]], len(counts.values))

    def _outcome(self, panel: Panel, row: int) -> Outcome:
        facts = self.facts
        verdict = facts.verdict_of(int(facts.verdict[row]))
        if verdict is None:
            return without_verdict(facts.reasons[facts.reason[row]])
        values = {name: column.at(row) for name, column in self.signals.items()}
        present = {name: value for name, value in values.items() if value is not None}
        found = weighed(panel, verdict, present, self.peers.values[self.peers.codes[row]])
        return replace(found, signals={})

    def _place(self, outcome: Outcome) -> int:
        key = repr(outcome)
        if key not in self._places:
            self._places[key] = len(self.found)
            self.found.append(outcome)
        return self._places[key]


def _weights(column: SignalColumn, rows: NDArray[np.int64]) -> tuple[Integers, int]:
    """A signal's values and states without details, as codes of rows, and how many there are."""
    weights = Interned[tuple[float | None, str]]()
    places = [weights.code((one.value, one.state)) for one in column.values]
    return np.array([*places, len(weights.values)], dtype=np.int32)[column.codes[rows]], len(weights.values) + 1
