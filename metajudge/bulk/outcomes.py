"""What free evidence says of every judgment of an input, as columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.dependence import Dependence, dependence_of
from metajudge.evidence.facts import Facts, SignalColumn
from metajudge.evidence.grouping import Integers, Interned, Key
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.strategies import Panel
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.signals import weighed
from metajudge.strategies.vetter import without_verdict
from metajudge.types import Right

WEIGHED = ("order", "strength", "peers", "rationale", "repeats", "variants")
"""Signals that an outcome depends on."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of n judgments.

    Attributes:
        signals: name -> column, in the order in which an assessment lists them.
        codes: [n] places in ``results``.
        results: different outcomes; their signals are left out.
        dependence: what is known of the independence of the input's judges.
    """

    signals: Mapping[str, SignalColumn]
    codes: NDArray[np.int32]
    results: Sequence[Outcome]
    rules: Rules
    dependence: Dependence = field(default_factory=Dependence)


def outcomes_of(facts: Facts, panel_of: Callable[[str | None], Panel], right: Right | None = None) -> Outcomes:
    """Weighs every judgment by its signals among all of the input; see :class:`~metajudge.strategies.SignalEvidence`.

    Args:
        right: what counts as right; None for the default of each kind of verdict.
    """
    rules = facts.rules(right)
    dependence = dependence_of(facts, rules)
    recorded = replace(facts.recorded, copies=dependence.copies)
    return replace(outcomes_by(facts, recorded, panel_of, rules), dependence=dependence)


def outcomes_by(facts: Facts, recorded: Recorded, panel_of: Callable[[str | None], Panel], rules: Rules) -> Outcomes:
    """The same where rules and models are known of a larger input."""
    comparisons = compare(recorded, rules)
    signals = signal_columns(facts, comparisons)
    results = _Results(facts, signals, comparisons.support, comparisons.supports)
    codes = np.full(len(facts), -1, dtype=np.int32)
    panels = [panel_of(name) for name in (*facts.categories, None)]  # the last one is meant by the code -1
    different = {id(panel): panel for panel in panels}
    of_category = np.array([list(different).index(id(panel)) for panel in panels])
    for place, panel in enumerate(different.values()):
        rows = np.flatnonzero(of_category[facts.category] == place)
        codes[rows] = results.codes(panel, rows)
    return Outcomes(signals, codes, results.found, rules)


@dataclass(slots=True)
class _Results:
    """Different outcomes, each worked out once."""

    facts: Facts
    signals: Mapping[str, SignalColumn]
    support: Integers
    supports: Sequence[PeerSupport]
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
        counts = Interned[tuple[float, int, int]]()
        places = [counts.code((one.most, one.supporting, one.peers)) for one in self.supports]
        return key.then(np.array(places, dtype=np.int32)[self.support[rows]], len(counts.values))

    def _outcome(self, panel: Panel, row: int) -> Outcome:
        facts = self.facts
        verdict = facts.verdict_of(int(facts.verdict[row]))
        if verdict is None:
            return without_verdict(facts.reasons[facts.reason[row]])
        values = {name: column.at(row) for name, column in self.signals.items()}
        present = {name: value for name, value in values.items() if value is not None}
        found = weighed(panel, verdict, present, self.supports[self.support[row]])
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
