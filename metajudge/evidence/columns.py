"""Free evidence on every judgment of an input at once, as columns of signals."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from metajudge.evidence.comparison import agreement, decided_verdict, stance
from metajudge.evidence.format import explanation_signal, ratio_signal, stated_strength, words_signal
from metajudge.evidence.grouping import Integers, Interned, Key, alike, compared, joined, starts_of
from metajudge.evidence.peers import PeerSupport, Votes, peer_support, votes_on
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Coded, SignalColumn, Verdicts
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.types import AnyVerdict, SignalValue, kind_of


def repeat_agreement(facts: Verdicts, votes: Votes, rules: Rules) -> SignalColumn:
    """Compares each verdict with the same judge's other verdicts on the same responses in the same order.

    Agreement with oneself is no proof: a judge repeats its mistakes, too. Pairs have no such signal: there a repeated
    verdict is a further game of the judge.

    Returns:
        The share of the other verdicts that agree minus the share that disagree, in [-1, 1], as ``agree``, ``mixed``
        or ``disagree``; absent as ``missing`` (judged once), or with a state of
        :func:`~metajudge.evidence.comparison.comparable_verdict`.
    """
    found = _Found(facts, votes)
    key = Key.of(facts.item, len(facts.items)).then(facts.judge, len(facts.judges))
    key = key.then(facts.order, len(facts.orders)).dense()
    compare = partial(_agreement, rules=rules)
    for part, of, other in joined(key.codes[found.rows], key.codes, key.bound):
        rows = found.rows[part]
        kept = (rows[of] != other) & (facts.verdict[other] >= 0)
        own, theirs = facts.verdict[rows[of[kept]]], facts.verdict[other[kept]]
        signs = compared(own, theirs, facts.verdicts, facts.verdicts, compare)
        known = ~np.isnan(signs)
        # In ascending order, so that what is the same in another order of the lines is found once.
        order = np.lexsort((signs[known], of[kept][known]))
        given = of[kept][known][order], signs[known][order]
        found.add(rows, *given, "the judge was asked once", "other verdicts of this judge")
    return found.column()


def variant_agreement(facts: Verdicts, votes: Votes) -> SignalColumn:
    """Compares each verdict with those of the same model under other prompts or versions of the prompt.

    Returns:
        As :func:`repeat_agreement` does, each variant with one vote, the mean of its verdicts; absent as ``missing``
        where there is none.
    """
    found = _Found(facts, votes)
    missing = "the judge's model was asked with one prompt only"
    for rows, place, of in votes.on(found.rows):
        kept = facts.are_variants(facts.judge[rows[of]], votes.judge[place])
        found.add(rows, of[kept], votes.vote[place[kept]], missing, "other prompts of this model")
    return found.column()


class _Found:
    """The signals of the verdicts that are no pairs.

    Attributes:
        rows: those that other verdicts can agree with.
    """

    def __init__(self, facts: Verdicts, votes: Votes) -> None:
        pair = facts.paired[facts.verdict]
        self._values = Interned[SignalValue]()
        self._codes = np.full(len(facts), -1, dtype=np.int32)
        reasons = np.array([*map(self._values.code, votes.reasons), -1], dtype=np.int32)
        self._codes[~pair] = reasons[votes.why[~pair]]
        self.rows = np.flatnonzero(~pair & (votes.claim >= 0))

    def add(self, rows: Ints, of: Ints, votes: Floats, missing: str, what: str) -> None:
        """Takes the votes on some rows, by row; a row without any is ``missing``."""
        values, codes = np.unique(votes, return_inverse=True)
        for members, which, sequences in alike(of, codes, len(values), len(rows)):
            found = [self._values.code(_stability(values[one].tolist(), missing, what)) for one in sequences]
            self._codes[rows[members]] = np.array(found, dtype=np.int32)[which]

    def column(self) -> SignalColumn:
        return SignalColumn(self._codes, self._values.values)


def _agreement(own: AnyVerdict, other: AnyVerdict, rules: Rules) -> float | None:
    return agreement(own, other, rules.of(kind_of(own)))


def _stability(votes: Sequence[float], missing: str, what: str) -> SignalValue:
    if not votes:
        return SignalValue(value=None, state="missing", detail=missing)
    value = sum(votes) / len(votes)
    state = "agree" if value == 1 else "disagree" if value == -1 else "mixed"
    agreeing = sum(vote > 0 for vote in votes)
    return SignalValue(value=value, state=state, detail=f"{agreeing} of {len(votes)} {what} agree")


def order_consistency(facts: Verdicts) -> SignalColumn:
    """Compares each verdict with the same judge's verdict on the same responses in another order.

    For a pair the other order is the reversed one; for more responses any other order of the same ones counts.
    Several verdicts are combined by the majority of their signs (same winner +1, another winner -1, tie 0).
    Strength plays no part.

    Agreement is no proof: a weak judge on adversarial items agrees with itself and is wrong (LLMBar).

    Returns:
        1 ``agree``, -1 ``disagree``, 0 ``other_tied``; absent as ``missing`` (never judged in another order),
        ``other_no_verdict`` (judged, without a verdict), ``own_tied``, ``grade`` or ``no_verdict``.
    """
    undecided = [decided_verdict(one) for one in (*facts.verdicts, None)]
    decided = np.array([not isinstance(one, SignalValue) for one in undecided])[facts.verdict]
    asked, count, total, first = _others(facts, np.flatnonzero(decided))
    key = Key.of(np.where(decided, 0, 2 + facts.verdict), len(facts.verdicts) + 2)
    key = key.then(asked.astype(np.int64), 2).then(count, len(facts) + 1).then(total + 1, 3)
    place, rows = key.then(np.where(count == 1, first, 0), len(facts.verdicts)).distinct()
    values = Interned[SignalValue]()
    codes = []
    for row in rows.tolist():
        found = undecided[facts.verdict[row]]
        if not isinstance(found, SignalValue):
            verdict = facts.verdicts[int(first[row])]
            found = _combined(bool(asked[row]), int(count[row]), int(total[row]), verdict)
        codes.append(values.code(found))
    return SignalColumn(np.array(codes, dtype=np.int32)[place], values.values)


def _others(facts: Verdicts, rows: Ints) -> tuple[Bools, Ints, Ints, Ints]:
    """What the judges of rows said in other orders; nothing of the rows that are not named.

    Returns:
        [n] each: whether there is a record in another order, how many verdicts can be compared, the sign of the sum of
        their signs, and the first verdict there.
    """
    size, order, verdict = len(facts), facts.order, facts.verdict
    shown = facts.shown[order]
    asked, count = np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int64)
    total, first = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    key = Key.of(facts.item, len(facts.items)).then(facts.judge, len(facts.judges)).dense()
    for part, of, other in joined(key.codes[rows], key.codes, key.bound):
        some = rows[part]
        kept = (order[some[of]] != order[other]) & (shown[some[of]] == shown[other])
        asked[some[of[kept]]] = True
        kept &= verdict[other] >= 0
        of, said = of[kept], verdict[other[kept]]
        signs = compared(verdict[some[of]], said, facts.verdicts, facts.verdicts, stance)
        # Assigned last to first, so that the first verdict stays.
        first[some[of[::-1]]] = said[::-1]
        known = ~np.isnan(signs)
        count[some] = np.bincount(of[known], minlength=len(some))
        total[some] = np.sign(np.bincount(of[known], signs[known], len(some)))
    return asked, count, total, first


def _combined(asked: bool, count: int, total: int, first: AnyVerdict) -> SignalValue:
    """The signal from the verdicts in other orders.

    Args:
        total: sign of the sum of their signs.
    """
    if not asked:
        return SignalValue(value=None, state="missing", detail="the judge was not asked in another order")
    if not count:
        return SignalValue(
            value=None, state="other_no_verdict", detail="in the other order the judge gave no comparable verdict"
        )
    detail = f"other order: {first}" if count == 1 else f"majority of {count} verdicts"
    state = "agree" if total > 0 else "disagree" if total < 0 else "other_tied"
    return SignalValue(value=float(total), state=state, detail=detail)


SIGNALS = ("order", "strength", "peers", "rationale", "rationale_words", "has_explanation", "length_ratio")
"""The names of the signals in the order in which they are given."""

STABILITY = ("repeats", "variants")
"""Further signals of rankings, grades and categories: the same judge again, its model under other prompts.

On pairs a repeated verdict is a further game of the judge, and another prompt of its model is a peer.
"""

BLOCK = 1 << 16
"""Records that are compared at once, about: whole items."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Agreement among n recorded verdicts; each has a support of its peers."""

    order: SignalColumn
    strength: SignalColumn
    peers: Coded[PeerSupport]
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
    none = SignalColumn(np.full(len(facts), -1, dtype=np.int32), ())
    strengths = [stated_strength(one) for one in (*facts.verdicts, None)]
    return Comparisons(
        order=order_consistency(facts),
        strength=SignalColumn(np.where(facts.verdict < 0, len(facts.verdicts), facts.verdict), strengths),
        peers=peer_support(facts, votes),
        repeats=none if facts.pairs_only else repeat_agreement(facts, votes, rules),
        variants=none if facts.pairs_only else variant_agreement(facts, votes),
    )


class _Merged:
    """The comparisons of blocks of records, put together."""

    def __init__(self, size: int) -> None:
        names = [one.name for one in fields(Comparisons)]
        self._columns = {name: (np.full(size, -1, dtype=np.int32), Interned[Any]()) for name in names}

    def add(self, rows: Integers, found: Comparisons) -> None:
        """Takes the comparisons of some records."""
        for name, (codes, table) in self._columns.items():
            column = getattr(found, name)
            codes[rows] = np.array([*map(table.code, column.values), -1], dtype=np.int32)[column.codes]

    def comparisons(self) -> Comparisons:
        return Comparisons(**{name: Coded(codes, table.values) for name, (codes, table) in self._columns.items()})


def signal_columns(facts: Verdicts, comparisons: Comparisons) -> dict[str, SignalColumn]:
    """Every signal of all judgments, by name.

    Args:
        comparisons: of their verdicts.

    Returns:
        :data:`SIGNALS` in that order, then :data:`STABILITY` with -1 for pairs and missing verdicts; an absent signal
        says why in its state.
    """
    found = {name: getattr(comparisons, name) for name in ("order", "strength", *STABILITY)}
    found["peers"] = SignalColumn(comparisons.peers.codes, [one.signal() for one in comparisons.peers.values])
    told = [SignalValue(value=value, state=state, detail=detail) for value, state, detail in facts.rationales]
    found["rationale"] = SignalColumn(facts.rationale, told)
    words, counted = np.unique(facts.words, return_inverse=True)
    found["rationale_words"] = SignalColumn(counted, [words_signal(count) for count in words.tolist()])
    found["has_explanation"] = SignalColumn(counted, [explanation_signal(count) for count in words.tolist()])
    found["length_ratio"] = _ratios(facts)
    return {name: found[name] for name in (*SIGNALS, *STABILITY)}


def _ratios(facts: Verdicts) -> SignalColumn:
    verdict, own, other = facts.verdict, facts.own_words, facts.other_words
    decided = ~np.isnan(other)
    means, mean = np.unique(np.where(decided, other, 0.0), return_inverse=True)
    key = Key.of(np.where(decided, 0, verdict + 2), len(facts.verdicts) + 2)
    key = key.then(np.where(decided, own, 0), int(own.max(initial=0)) + 1).then(mean, len(means))
    codes, first = key.distinct()
    parts = zip(verdict[first].tolist(), own[first].tolist(), other[first].tolist(), strict=True)
    return SignalColumn(codes, [ratio_signal(facts.verdict_of(code), *lengths) for code, *lengths in parts])
