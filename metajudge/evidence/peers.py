"""Peer support: what each judge of an item says of the claim that a verdict on it makes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from metajudge.evidence.comparison import MAX_STRENGTH, agreement, comparable_verdict, signed_support
from metajudge.evidence.grouping import Interned, Key, alike, compared, joined, portions, starts_of
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Coded, Verdicts
from metajudge.stats.arrays import Floats, Ints
from metajudge.types import AnyVerdict, Category, Grade, Pairwise, Right, SignalValue, kind_of
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


UNDECIDED_VOTES = 1
"""Undecided votes counted in where verdicts are no pairs: one peer alone then weighs half, two two thirds."""


@dataclass(frozen=True, slots=True)
class PeerSupport:
    """How other judges' verdicts stand to a judgment's verdict.

    Every peer has one vote; copies of one judge have one together, the mean of theirs, and none on that judge's own
    verdicts (:mod:`metajudge.evidence.dependence`). On a pair it is the mean signed strength of its verdicts over both
    orders, divided by the largest strength: a peer that follows the position cancels itself out in this way. On
    rankings, grades and categories it is the share of its verdicts by which this one is right, minus the share by which
    it is wrong; there are no strengths, so :data:`UNDECIDED_VOTES` keep a single peer from being taken for certain.

    Attributes:
        value: mean of the votes in [-1, 1]; None where there is nothing to compare.
        state: ``unanimous_for``, ``for``, ``balanced``, ``against`` or ``unanimous_against`` (unanimous takes at
            least two peers); where ``value`` is None ``no_peers``, ``own_tied``, ``no_verdict``, and for grades and
            categories under a rule that compares responses ``grade`` or ``category``.
        undecided: peers whose verdicts are ties or cancel each other out.
        most: the highest value that so many peers could give, in (0, 1].
    """

    value: float | None
    state: str
    detail: str
    supporting: int = 0
    opposing: int = 0
    undecided: int = 0
    most: float = 1.0

    @property
    def peers(self) -> int:
        """Number of peers with a comparable verdict."""
        return self.supporting + self.opposing + self.undecided

    @property
    def share(self) -> float | None:
        """``(agree + 1) / (n + 2)`` in (0, 1), of n peers; undecided ones agree by half. None: nothing to compare."""
        return None if self.value is None else (self.supporting + self.undecided / 2 + 1) / (self.peers + 2)

    def signal(self) -> SignalValue:
        return SignalValue(value=self.value, state=self.state, detail=self.detail)


def peer_support(facts: Verdicts, votes: Votes) -> Coded[PeerSupport]:
    """Measures the support of other judges for every verdict, over all orders.

    Judges that are the same model under another prompt are no peers, except on pairs.
    """
    known = Interned[PeerSupport]()
    absent = [known.code(PeerSupport(None, one.state, one.detail)) for one in votes.reasons]
    found = np.array([*absent, -1], dtype=np.int64)[votes.why]
    # Summed in a fixed order: the result must not depend on the order of the file's lines.
    ascending = np.lexsort((votes.vote, np.repeat(np.arange(len(votes.starts) - 1), np.diff(votes.starts))))
    form = np.array([*map(_form, facts.verdicts), -1], dtype=np.int64)[facts.verdict]
    for each in np.unique(form[votes.claim >= 0]).tolist():
        rows = np.flatnonzero((votes.claim >= 0) & (form == each))
        for some, place, of in votes.on(rows):
            heard = ascending[place]
            kept = facts.voice[votes.judge[heard]] != facts.voice[facts.judge[some[of]]]
            if each != _PAIR:
                kept &= ~facts.are_variants(facts.judge[some[of]], votes.judge[heard])
            of, vote = _one_a_voice(facts, of[kept], votes.judge[heard[kept]], votes.vote[heard[kept]])
            values, codes = np.unique(vote, return_inverse=True)
            for members, which, sequences in alike(of, codes, len(values), len(some)):
                supports = [known.code(_support(values[one].tolist(), each)) for one in sequences]
                found[some[members]] = np.array(supports, dtype=np.int64)[which]
    return Coded(found, known.values)


def _one_a_voice(facts: Verdicts, of: Ints, judge: Ints, vote: Floats) -> tuple[Ints, Floats]:
    """The votes on each row in ascending order, those of copies of one judge as their mean.

    Args:
        of: [m] the row that each vote is for, ascending, and within a row the votes ascend.
    """
    if not facts.copies or not len(of):
        return of, vote
    place, first = Key.of(of, int(of[-1]) + 1).then(facts.voice[judge], len(facts.judges)).distinct()
    mean = np.bincount(place, vote, len(first)) / np.bincount(place, minlength=len(first))
    order = np.lexsort((mean, of[first]))
    return of[first][order], mean[order]


_PAIR, _RANKING, _RESPONSE = range(3)
"""What a verdict compares: two responses, several, or one response with a scale."""


def _form(verdict: AnyVerdict) -> int:
    return _PAIR if isinstance(verdict, Pairwise) else _RESPONSE if isinstance(verdict, Grade | Category) else _RANKING


def _support(votes: Sequence[float], form: int) -> PeerSupport:
    """The support that the votes of the peers give, which are in ascending order."""
    if not votes:
        return PeerSupport(None, "no_peers", _ALONE[form])
    opposing = bisect_left(votes, 0.0)
    supporting = len(votes) - bisect_right(votes, 0.0)
    undecided = len(votes) - supporting - opposing
    counted = len(votes) + (0 if form == _PAIR else UNDECIDED_VOTES)
    value = sum(votes) / counted
    return PeerSupport(
        value=value,
        state=_state(value, supporting, opposing, len(votes)),
        detail=f"{supporting} for, {opposing} against, {undecided} undecided",
        supporting=supporting,
        opposing=opposing,
        undecided=undecided,
        most=len(votes) / counted,
    )


_ALONE = {
    _PAIR: "no other judge gave a comparable verdict on this item",
    _RANKING: "no other judge gave a comparable verdict on this item",
    _RESPONSE: "no other judge graded this response",
}


def _state(value: float, supporting: int, opposing: int, peers: int) -> str:
    if peers > 1 and supporting == peers:
        return "unanimous_for"
    if peers > 1 and opposing == peers:
        return "unanimous_against"
    if value == 0:
        return "balanced"
    return "for" if value > 0 else "against"
