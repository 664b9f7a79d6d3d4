"""Peer evaluation: models answer, models rank all answers blind, and what the ballots say together.

After "LLMs Judge Themselves: A Game-Theoretic Framework for Human-Aligned Evaluation" (arXiv 2510.15746). Everything
here but :mod:`metajudge.peers.protocol` works on ballots that are there already.
"""

from metajudge.peers.findings import Options, PeerFindings, analyse
from metajudge.peers.human import HumanRanking, read_human_rankings
from metajudge.peers.record import Ballot, counted_ballots, read_ballots
from metajudge.peers.table import build_table

__all__ = [
    "Ballot",
    "HumanRanking",
    "Options",
    "PeerFindings",
    "analyse",
    "build_table",
    "counted_ballots",
    "read_ballots",
    "read_human_rankings",
]
