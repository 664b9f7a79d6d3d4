"""What free evidence says about a judgment, in words for people."""

from metajudge.evidence.peers import PeerSupport
from metajudge.types import SignalValue

_ORDER = {
    "agree": "the same verdict when the answers swap places",
    "disagree": "contradicts itself when the answers swap places",
    "other_tied": "a tie when the answers swap places",
}


def evidence_in_words(signals: dict[str, SignalValue], peers: PeerSupport) -> list[str]:
    """One phrase for each piece of evidence that weighs in the score; nothing for what is absent.

    Args:
        signals: as :meth:`~metajudge.evidence.index.EvidenceIndex.signals` returns them.
        peers: the same judgment's peer support, with its counts.
    """
    phrases = []
    order = signals["order"].state
    if order in _ORDER:
        phrases.append(_ORDER[order])
    asked = peers.supporting + peers.opposing + peers.undecided
    if peers.value is not None:
        phrases.append(
            f"{peers.supporting} of {asked} other judge{'s' if asked > 1 else ''} agree{'' if asked > 1 else 's'}"
        )
    if signals["rationale"].state == "contradict":
        phrases.append("its rationale ends with another verdict")
    return phrases
