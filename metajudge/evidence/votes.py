"""Votes: what each judge of an item says of a claim that a verdict on it makes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from metajudge.evidence.comparison import MAX_STRENGTH, agreement, comparable_verdict, signed_support
from metajudge.evidence.grouping import Interned, Key, compared, joined, portions, starts_of
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Floats, Ints
from metajudge.types import AnyVerdict, Pairwise, Right, SignalValue, kind_of
from metajudge.types.right import DEFAULTS


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """The votes on the claims of n verdicts.

    Verdicts of one item that differ in strength alone make one claim. The vote of a judge is the mean over its
    verdicts on the same responses, in [-1, 1]: of their signed strength for the claim, divided by the largest strength,
    where the claim is about a pair; else of their agreement with it (1, 0 or -1). A judge without a comparable verdict
    has no vote.

    Attributes:
        claim: [n] the claim of each verdict, -1 where other verdicts cannot agree with it.
        why: [n] place in ``reasons`` where the claim is -1.
        starts: [claims + 1] where the votes on each claim begin.
        judge: [votes] who voted, by claim and then by the judge's name.
        vote: [votes].
    """

    claim: Ints
    why: Ints
    reasons: Sequence[SignalValue]
    starts: Ints
    judge: Ints
    vote: Floats

    def on(self, rows: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """The votes on the claims of rows that have one.

        Yields:
            Some of the rows, [m] places of votes on their claims, and which of these rows each is for.
        """
        claim = self.claim[rows]
        for part, place, of in portions(self.starts[claim], self.starts[claim + 1]):
            yield rows[part], place, of


def votes_on(facts: Verdicts, rules: Rules) -> Votes:
    """The votes on the claim of every verdict.

    Args:
        rules: what counts as right where verdicts are no pairs; on a pair it is always the winner.
    """
    reasons, claims = Interned[SignalValue](), Interned[AnyVerdict]()
    why, told = [], []
    for verdict in (*facts.verdicts, None):
        found = comparable_verdict(verdict, None if verdict is None else _rule(verdict, rules))
        why.append(reasons.code(found) if isinstance(found, SignalValue) else -1)
        told.append(-1 if isinstance(found, SignalValue) else claims.code(_claimed(found)))
    said = np.array(told)[facts.verdict]
    rows = np.flatnonzero(said >= 0)
    scales = rules.scales.groups()
    scale = np.array([scales.get(name, 0) for name in facts.judges], dtype=np.int64)[facts.judge]
    subject = _subjects(facts, scale)
    place, first = Key.of(subject.codes[rows], subject.bound).then(said[rows], len(claims.values)).distinct()
    claim = np.full(len(facts), -1, dtype=np.int64)
    claim[rows] = place
    starts, judge, vote = _cells(facts, rules, scale, rows[first], said, claims.values)
    return Votes(claim, np.array(why)[facts.verdict], reasons.values, starts, judge, vote)


def _rule(verdict: AnyVerdict, rules: Rules) -> Right:
    return DEFAULTS["pairwise"] if isinstance(verdict, Pairwise) else rules.of(kind_of(verdict))


def _claimed(verdict: AnyVerdict) -> AnyVerdict:
    return Pairwise(verdict.first, verdict.second, 1) if isinstance(verdict, Pairwise) else verdict


def _subjects(facts: Verdicts, scale: Ints) -> Key:
    """What each verdict is about: the item, of a grade or a category the response too; grades by their scale."""
    graded = np.append(facts.graded, False)[facts.verdict]
    key = Key.of(facts.item, len(facts.items)).then(np.where(graded, scale, 0), int(scale.max(initial=0)) + 1)
    return key.then(np.where(graded, facts.order + 1, 0), len(facts.orders) + 1)


def _cells(
    facts: Verdicts, rules: Rules, scale: Ints, claims: Ints, said: Ints, told: Sequence[AnyVerdict]
) -> tuple[Ints, Ints, Floats]:
    """Where the votes on each claim begin, their judges, and the votes.

    Args:
        scale: [n] number of the scale of each record's judge.
        claims: [claims] a row that makes each.
        said: [n] what the row's verdict claims.
    """
    given = np.flatnonzero(facts.verdict >= 0)
    graded = facts.graded[facts.verdict[claims]]
    parts = []
    by_scale = _of_response(facts).then(scale, int(scale.max(initial=0)) + 1)
    for about, key in ((graded, by_scale), (~graded, Key.of(facts.item, len(facts.items)))):
        chosen, dense = np.flatnonzero(about), key.dense()
        for part, of, other in joined(dense.codes[claims[chosen]], dense.codes[given], dense.bound):
            parts.append(_means(facts, rules, chosen[part][of], given[other], said[claims], told))
    if not parts:
        return starts_of(claims, len(claims)), claims, np.zeros(0)
    claim, judge, vote = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(claim, kind="stable")
    return starts_of(claim, len(claims)), judge[order], vote[order]


def _means(
    facts: Verdicts, rules: Rules, of: Ints, other: Ints, said: Ints, told: Sequence[AnyVerdict]
) -> tuple[Ints, Ints, Floats]:
    """The votes of judges on claims, by claim and then by the judge's name: claim, judge, mean.

    Args:
        of: [m] a claim.
        other: [m] a record on what it is about; all of them for each claim.
        said: [claims] place of each in ``told``.
    """
    votes = compared(said[of], facts.verdict[other], told, facts.verdicts, partial(_vote, rules=rules))
    known = ~np.isnan(votes)
    of, other, votes = of[known], other[known], votes[known]
    judge = facts.judge[other]
    place, first = Key.of(of, len(said)).then(facts.names[judge], len(facts.judges)).distinct()
    scale = np.array([MAX_STRENGTH if isinstance(one, Pairwise) else 1 for one in told], dtype=np.int64)
    mean = np.bincount(place, votes, len(first)) / np.bincount(place, minlength=len(first))
    return of[first], judge[first].astype(np.int64), mean / scale[said[of[first]]]


def _of_response(facts: Verdicts) -> Key:
    return Key.of(facts.item, len(facts.items)).then(facts.order, len(facts.orders))


def _vote(own: AnyVerdict, other: AnyVerdict, rules: Rules) -> float | None:
    return signed_support(own, other) if isinstance(own, Pairwise) else agreement(own, other, _rule(own, rules))
