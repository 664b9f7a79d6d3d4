"""Voting rules: from rankings by several voters to one order, with its ties; and how far voters can be trusted.

Every rule takes the same first argument, a sequence of rankings, best first, each a sequence of candidates or of groups
of tied candidates, and returns a :class:`Consensus`: a weak order, scores and the ties. No tie is ever settled by name
or position.
"""

from metajudge.voting.agreement import VoterIndependence, voter_independence
from metajudge.voting.agreement_weighted_borda import WeightedBorda, agreement_weighted_borda
from metajudge.voting.ballots import Profile, read_profile
from metajudge.voting.borda import borda
from metajudge.voting.bradley_terry import BradleyTerry, bradley_terry
from metajudge.voting.consensus import Consensus
from metajudge.voting.copeland import copeland
from metajudge.voting.dawid_skene import DawidSkene, Reliability, dawid_skene
from metajudge.voting.gap import KemenyBordaGap, kemeny_borda_gap
from metajudge.voting.kemeny import Kemeny, Span, kemeny
from metajudge.voting.kemeny_batch import KemenyBatch, kemeny_batch
from metajudge.voting.median_rank import median_rank
from metajudge.voting.pairwise import PairCounts, pair_counts
from metajudge.voting.plackett_luce import PlackettLuce, plackett_luce
from metajudge.voting.plurality import plurality
from metajudge.voting.ranked_pairs import RankedPairs, ranked_pairs
from metajudge.voting.schulze import schulze
from metajudge.voting.votes import BootstrapStrengths, bootstrap_strengths, count_votes

__all__ = [
    "BootstrapStrengths",
    "BradleyTerry",
    "Consensus",
    "DawidSkene",
    "Kemeny",
    "KemenyBatch",
    "KemenyBordaGap",
    "PairCounts",
    "PlackettLuce",
    "Profile",
    "RankedPairs",
    "Reliability",
    "Span",
    "VoterIndependence",
    "WeightedBorda",
    "agreement_weighted_borda",
    "bootstrap_strengths",
    "borda",
    "bradley_terry",
    "copeland",
    "count_votes",
    "dawid_skene",
    "kemeny",
    "kemeny_batch",
    "kemeny_borda_gap",
    "median_rank",
    "pair_counts",
    "plackett_luce",
    "plurality",
    "ranked_pairs",
    "read_profile",
    "schulze",
    "voter_independence",
]
