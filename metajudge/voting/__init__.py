"""Voting rules: from rankings by several voters to one order, with its ties; and how far voters can be trusted.

Every rule takes the same first argument, a sequence of rankings, best first, each a sequence of candidates or of groups
of tied candidates, with ``candidates`` and ``weights`` as for :func:`read_profile`, and returns a :class:`Consensus`: a
weak order, scores and the ties. No tie is ever settled by name or position. ``unranked``: candidates a ballot does not
name stand below the others, tied (``below``), or were not compared (``ignore``).
"""

from metajudge.voting.agreement import VoterIndependence, WeightedBorda, agreement_weighted_borda, voter_independence
from metajudge.voting.ballots import Profile, read_profile
from metajudge.voting.consensus import Consensus
from metajudge.voting.dawid_skene import DawidSkene, Reliability, dawid_skene
from metajudge.voting.kemeny import Kemeny, KemenyBatch, Span, kemeny, kemeny_batch
from metajudge.voting.pairwise import PairCounts, count_votes, pair_counts
from metajudge.voting.rules import RankedPairs, borda, copeland, median_rank, plurality, ranked_pairs, schulze
from metajudge.voting.strengths import BradleyTerry, PlackettLuce, bradley_terry, plackett_luce

__all__ = [
    "BradleyTerry",
    "Consensus",
    "DawidSkene",
    "Kemeny",
    "KemenyBatch",
    "PairCounts",
    "PlackettLuce",
    "Profile",
    "RankedPairs",
    "Reliability",
    "Span",
    "VoterIndependence",
    "WeightedBorda",
    "agreement_weighted_borda",
    "borda",
    "bradley_terry",
    "copeland",
    "count_votes",
    "dawid_skene",
    "kemeny",
    "kemeny_batch",
    "median_rank",
    "pair_counts",
    "plackett_luce",
    "plurality",
    "ranked_pairs",
    "read_profile",
    "schulze",
    "voter_independence",
]
