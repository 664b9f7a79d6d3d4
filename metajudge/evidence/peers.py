"""Peer support: other judges' verdicts on the same item."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from metajudge.evidence.comparison import MAX_STRENGTH, RecordedVerdict, decided_verdict, signed_support
from metajudge.types import AnyVerdict, Judgment, SignalValue


@dataclass(frozen=True, slots=True)
class PeerSupport:
    """How other judges' verdicts stand to a judgment's verdict.

    Every peer has one vote: the mean signed strength of its verdicts over both orders, divided by the largest
    strength. A peer that follows the position cancels itself out in this way.

    Attributes:
        value: mean of the votes in [-1, 1]; None where there is nothing to compare.
        state: ``unanimous_for``, ``for``, ``balanced``, ``against`` or ``unanimous_against`` (unanimous takes at
            least two peers); where ``value`` is None ``no_peers``, ``own_tied``, ``grade`` or ``no_verdict``.
        detail: the same in words.
        supporting: peers with a positive vote.
        opposing: peers with a negative vote.
        undecided: peers whose verdicts are ties or cancel each other out.
        lowest: the most opposed vote, None without peers.
        highest: the most supportive vote, None without peers.
    """

    value: float | None
    state: str
    detail: str
    supporting: int = 0
    opposing: int = 0
    undecided: int = 0
    lowest: float | None = None
    highest: float | None = None

    @property
    def peers(self) -> int:
        """Number of peers with a comparable verdict."""
        return self.supporting + self.opposing + self.undecided

    def signal(self) -> SignalValue:
        return SignalValue(value=self.value, state=self.state, detail=self.detail)


def votes_on(own: AnyVerdict, recorded: Iterable[RecordedVerdict]) -> dict[str, float]:
    """Judge -> its vote on the winner of ``own``: its mean signed strength over the largest one, in [-1, 1].

    Depends on the winner and the ids of ``own`` alone. Judges without a comparable verdict are left out.
    """
    strengths: defaultdict[str, list[float]] = defaultdict(list)
    for other in recorded:
        strength = None if other.verdict is None else signed_support(own, other.verdict)
        if strength is not None:
            strengths[other.judge].append(strength)
    return {judge: sum(values) / len(values) / MAX_STRENGTH for judge, values in strengths.items()}


def peer_support(
    judgment: Judgment,
    recorded: Iterable[RecordedVerdict],
    families: Mapping[str, str] | None = None,
    known: Callable[[AnyVerdict], Mapping[str, float]] | None = None,
) -> PeerSupport:
    """Measures the support of other judges for a judgment's winner, over both orders.

    Args:
        judgment: the judgment in question.
        recorded: verdicts on the same item, of any judge.
        families: judge -> family. Peers of the judge's own family are left out beside the judge itself; a judge
            that is not named is a family of its own.
        known: gives :func:`votes_on` of the recorded verdicts, where they are known already.

    Returns:
        The mean vote of the peers and how they divide.
    """
    own = decided_verdict(judgment)
    if isinstance(own, SignalValue):
        return PeerSupport(None, own.state, own.detail)
    every = votes_on(own, recorded) if known is None else known(own)
    left_out = _related(judgment.judge, every, families)
    # Summed in a fixed order: the result must not depend on the order of the file's lines.
    votes = sorted([vote for judge, vote in every.items() if judge not in left_out])
    if not votes:
        return PeerSupport(None, "no_peers", "no other judge gave a comparable verdict on this item")
    opposing = bisect_left(votes, 0.0)
    supporting = len(votes) - bisect_right(votes, 0.0)
    undecided = len(votes) - supporting - opposing
    value = sum(votes) / len(votes)
    return PeerSupport(
        value=value,
        state=_state(value, supporting, opposing, len(votes)),
        detail=f"{supporting} for, {opposing} against, {undecided} undecided",
        supporting=supporting,
        opposing=opposing,
        undecided=undecided,
        lowest=votes[0],
        highest=votes[-1],
    )


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
