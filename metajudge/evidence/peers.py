"""Peer support: other judges' verdicts on the same item."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.evidence.grouping import Interned, Key, alike
from metajudge.evidence.verdicts import Verdicts
from metajudge.evidence.votes import Votes
from metajudge.stats.arrays import Floats, Ints
from metajudge.types import AnyVerdict, Category, Grade, Pairwise, SignalValue

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
        lowest: the most opposed vote, None without peers.
        highest: the most supportive vote, None without peers.
        most: the highest value that so many peers could give, in (0, 1].
    """

    value: float | None
    state: str
    detail: str
    supporting: int = 0
    opposing: int = 0
    undecided: int = 0
    lowest: float | None = None
    highest: float | None = None
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


def peer_support(facts: Verdicts, votes: Votes) -> tuple[Ints, list[PeerSupport]]:
    """Measures the support of other judges for every verdict, over all orders.

    Judges that are the same model under another prompt are no peers, except on pairs.

    Returns:
        [n] the place of each verdict's support in the list of different ones.
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
    return found, known.values


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
        lowest=votes[0],
        highest=votes[-1],
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
