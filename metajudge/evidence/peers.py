"""Peer support: other judges' verdicts on the same item."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from metajudge.evidence.comparison import (
    MAX_STRENGTH,
    RecordedVerdict,
    agreement,
    comparable_verdict,
    same_subject,
    signed_support,
)
from metajudge.types import AnyVerdict, Category, Grade, Judgment, Pairwise, Right, SignalValue, default_right, kind_of

UNDECIDED_VOTES = 1
"""Undecided votes counted in where verdicts are no pairs: one peer alone then weighs half, two two thirds."""


@dataclass(frozen=True, slots=True)
class PeerSupport:
    """How other judges' verdicts stand to a judgment's verdict.

    Every peer has one vote. On a pair it is the mean signed strength of its verdicts over both orders, divided by the
    largest strength: a peer that follows the position cancels itself out in this way. On rankings, grades and
    categories it is the share of its verdicts by which this one is right, minus the share by which it is wrong; there
    are no strengths, so :data:`UNDECIDED_VOTES` keep a single peer from being taken for certain.

    Attributes:
        value: mean of the votes in [-1, 1]; None where there is nothing to compare.
        state: ``unanimous_for``, ``for``, ``balanced``, ``against`` or ``unanimous_against`` (unanimous takes at
            least two peers); where ``value`` is None ``no_peers``, ``own_tied``, ``no_verdict``, and for grades and
            categories under a rule that compares responses ``grade`` or ``category``.
        detail: the same in words.
        supporting: peers with a positive vote.
        opposing: peers with a negative vote.
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

    def signal(self) -> SignalValue:
        return SignalValue(value=self.value, state=self.state, detail=self.detail)


def votes_on(own: AnyVerdict, recorded: Iterable[RecordedVerdict], rule: Right | None = None) -> dict[str, float]:
    """Judge -> its vote on ``own``, in [-1, 1]; see :class:`PeerSupport`.

    On a pair it depends on the winner and the ids of ``own`` alone. Judges without a comparable verdict are left out.

    Args:
        own: the verdict in question.
        recorded: verdicts on the same responses, of any judge.
        rule: what counts as right; None for the default of the kind. For pairs it is always the winner.
    """
    rule = rule or default_right(kind_of(own), (), ())
    votes: defaultdict[str, list[float]] = defaultdict(list)
    for other in recorded:
        vote = None if other.verdict is None else _vote(own, other.verdict, rule)
        if vote is not None:
            votes[other.judge].append(vote)
    scale = MAX_STRENGTH if isinstance(own, Pairwise) else 1
    return {judge: sum(values) / len(values) / scale for judge, values in votes.items()}


def _vote(own: AnyVerdict, other: AnyVerdict, rule: Right) -> float | None:
    return signed_support(own, other) if isinstance(own, Pairwise) else agreement(own, other, rule)


def peer_support(
    judgment: Judgment,
    recorded: Iterable[RecordedVerdict],
    families: Mapping[str, str] | None = None,
    known: Callable[[AnyVerdict], Mapping[str, float]] | None = None,
    *,
    rule: Right | None = None,
    variants: Collection[str] = (),
) -> PeerSupport:
    """Measures the support of other judges for a judgment's verdict, over all orders.

    Args:
        judgment: the judgment in question.
        recorded: verdicts on the same item, of any judge.
        families: judge -> family. Peers of the judge's own family are left out beside the judge itself; a judge
            that is not named is a family of its own.
        known: gives :func:`votes_on` of the recorded verdicts, where they are known already.
        rule: as for :func:`votes_on`.
        variants: judges that are the same model under another prompt; on pairs they count as peers.

    Returns:
        The mean vote of the peers and how they divide.
    """
    verdict = judgment.verdict
    pair = isinstance(verdict, Pairwise)
    if rule is None or pair:
        rule = default_right("pairwise" if verdict is None else kind_of(verdict), (), ())
    own = comparable_verdict(judgment, rule)
    if isinstance(own, SignalValue):
        return PeerSupport(None, own.state, own.detail)
    if known is None:
        every: Mapping[str, float] = votes_on(own, (one for one in recorded if same_subject(judgment, one)), rule)
    else:
        every = known(own)
    left_out = _related(judgment.judge, every, families) | (set() if pair else set(variants))
    # Summed in a fixed order: the result must not depend on the order of the file's lines.
    votes = sorted([vote for judge, vote in every.items() if judge not in left_out])
    if not votes:
        return PeerSupport(None, "no_peers", _alone(own))
    opposing = bisect_left(votes, 0.0)
    supporting = len(votes) - bisect_right(votes, 0.0)
    undecided = len(votes) - supporting - opposing
    counted = len(votes) + (0 if pair else UNDECIDED_VOTES)
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


def _alone(own: AnyVerdict) -> str:
    if isinstance(own, Grade | Category):
        return "no other judge graded this response"
    return "no other judge gave a comparable verdict on this item"


def _related(judge: str, others: Iterable[str], families: Mapping[str, str] | None) -> set[str]:
    if families is None or judge not in families:
        return {judge}
    return {judge, *(other for other in others if families.get(other) == families[judge])}


def _state(value: float, supporting: int, opposing: int, peers: int) -> str:
    if peers > 1 and supporting == peers:
        return "unanimous_for"
    if peers > 1 and opposing == peers:
        return "unanimous_against"
    if value == 0:
        return "balanced"
    return "for" if value > 0 else "against"
