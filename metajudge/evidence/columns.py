"""Free evidence on every judgment of an input at once, as columns of signals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from metajudge.evidence.format import explanation_signal, ratio_signal, stated_strength, words_signal
from metajudge.evidence.grouping import Integers, Interned, Key, starts_of
from metajudge.evidence.order import order_consistency
from metajudge.evidence.peers import PeerSupport, peer_support
from metajudge.evidence.repeats import repeat_agreement, variant_agreement
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import SignalColumn, Verdicts
from metajudge.evidence.votes import votes_on
from metajudge.types import SignalValue

SIGNALS = (
    "order",
    "strength",
    "peers",
    "rationale",
    "rationale_words",
    "has_explanation",
    "length_ratio",
)
"""The names of the signals in the order in which they are given."""

STABILITY = ("repeats", "variants")
"""Further signals of rankings, grades and categories: the same judge again, its model under other prompts.

On pairs a repeated verdict is a further game of the judge, and another prompt of its model is a peer.
"""

BLOCK = 1 << 16
"""Records that are compared at once, about: whole items."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """What n recorded verdicts say beside one another.

    Attributes:
        support: [n] place in ``supports``.
    """

    order: SignalColumn
    strength: SignalColumn
    support: Integers
    supports: Sequence[PeerSupport]
    repeats: SignalColumn
    variants: SignalColumn


def compare(facts: Verdicts, rules: Rules) -> Comparisons:
    """Compares all verdicts with the others on their items; records need not be sorted by item."""
    if len(facts) <= BLOCK:
        return _compare_block(facts, rules)
    order = np.argsort(facts.item, kind="stable")
    starts = starts_of(facts.item, len(facts.items))
    # Whole items, as many as make a block.
    begins = starts[np.searchsorted(starts, np.arange(0, len(facts), BLOCK))].tolist()
    merged = _Merged(len(facts))
    for begin, end in pairwise([*begins, len(facts)]):
        rows = order[begin:end]
        if len(rows):
            merged.add(rows, _compare_block(facts.of_items(rows), rules))
    return merged.comparisons()


def _compare_block(facts: Verdicts, rules: Rules) -> Comparisons:
    votes = votes_on(facts, rules)
    support, supports = peer_support(facts, votes)
    none = SignalColumn(np.full(len(facts), -1, dtype=np.int32), ())
    strengths = [stated_strength(one) for one in (*facts.verdicts, None)]
    return Comparisons(
        order=order_consistency(facts),
        strength=SignalColumn(np.where(facts.verdict < 0, len(facts.verdicts), facts.verdict), strengths),
        support=support,
        supports=supports,
        repeats=none if facts.pairs_only else repeat_agreement(facts, votes, rules),
        variants=none if facts.pairs_only else variant_agreement(facts, votes),
    )


class _Merged:
    """The comparisons of blocks of records, put together."""

    def __init__(self, size: int) -> None:
        self._codes = {name: np.full(size, -1, dtype=np.int32) for name in ("order", "strength", "support", *STABILITY)}
        self._signals = {name: Interned[SignalValue]() for name in ("order", "strength", *STABILITY)}
        self._supports = Interned[PeerSupport]()

    def add(self, rows: Integers, found: Comparisons) -> None:
        """Takes the comparisons of some records."""
        self._codes["support"][rows] = _placed(found.support, [self._supports.code(one) for one in found.supports])
        for name, table in self._signals.items():
            column = getattr(found, name)
            self._codes[name][rows] = _placed(column.codes, [table.code(one) for one in column.values])

    def comparisons(self) -> Comparisons:
        columns = {name: SignalColumn(self._codes[name], table.values) for name, table in self._signals.items()}
        return Comparisons(support=self._codes["support"], supports=self._supports.values, **columns)


def _placed(codes: Integers, places: Sequence[int]) -> Integers:
    """Codes of one table as codes of another; -1 stays."""
    return np.array([*places, -1], dtype=np.int32)[codes]


def signal_columns(
    facts: Verdicts, comparisons: Comparisons, rows: slice | Integers = slice(None)
) -> dict[str, SignalColumn]:
    """Every signal of chosen judgments, by name.

    Args:
        comparisons: of its verdicts.

    Returns:
        :data:`SIGNALS` in that order, then :data:`STABILITY` with -1 for pairs and missing verdicts; an absent signal
        says why in its state.
    """
    found = {name: getattr(comparisons, name) for name in ("order", "strength", *STABILITY)}
    found |= {"peers": SignalColumn(comparisons.support, [one.signal() for one in comparisons.supports])}
    chosen = {name: SignalColumn(column.codes[rows], column.values) for name, column in found.items()}
    words, counted = np.unique(facts.words[rows], return_inverse=True)
    told, stated = np.unique(facts.rationale[rows], return_inverse=True)
    rationales = [facts.rationales[code] for code in told.tolist()]
    chosen["rationale"] = SignalColumn(
        stated, [SignalValue(value=value, state=state, detail=detail) for value, state, detail in rationales]
    )
    chosen["rationale_words"] = SignalColumn(counted, [words_signal(count) for count in words.tolist()])
    chosen["has_explanation"] = SignalColumn(counted, [explanation_signal(count) for count in words.tolist()])
    chosen["length_ratio"] = _ratios(facts, rows)
    return {name: chosen[name] for name in (*SIGNALS, *STABILITY)}


def _ratios(facts: Verdicts, rows: slice | Integers) -> SignalColumn:
    verdict, own, other = facts.verdict[rows], facts.own_words[rows], facts.other_words[rows]
    decided = ~np.isnan(other)
    means, mean = np.unique(np.where(decided, other, 0.0), return_inverse=True)
    key = Key.of(np.where(decided, 0, verdict + 2), len(facts.verdicts) + 2)
    key = key.then(np.where(decided, own, 0), int(own.max(initial=0)) + 1).then(mean, len(means))
    codes, first = key.distinct()
    parts = zip(verdict[first].tolist(), own[first].tolist(), other[first].tolist(), strict=True)
    return SignalColumn(codes, [ratio_signal(facts.verdict_of(code), *lengths) for code, *lengths in parts])
