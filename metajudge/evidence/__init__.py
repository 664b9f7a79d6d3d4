"""Signals: evidence about a judgment that needs no call to a model."""

from metajudge.evidence.columns import SIGNALS
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.score import SignalScore, signal_score

__all__ = ["SIGNALS", "EvidenceIndex", "PeerSupport", "SignalScore", "signal_score"]
