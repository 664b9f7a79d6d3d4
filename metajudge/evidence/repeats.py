"""Stability: does the judge say the same again, and does its model under another prompt?"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from metajudge.evidence.comparison import agreement
from metajudge.evidence.grouping import Interned, Key, alike, compared, joined
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import SignalColumn, Verdicts
from metajudge.evidence.votes import Votes
from metajudge.stats.arrays import Floats, Ints
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
