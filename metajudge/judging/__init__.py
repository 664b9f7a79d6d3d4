"""Producing verdicts: a pairwise judge that gives judgment records, and what its verdicts say about others'."""

from metajudge.judging.pairwise import Game, PairwiseJudge
from metajudge.judging.records import game_id, judgment_of
from metajudge.judging.replies import PairwiseReply, parse_pairwise_reply
from metajudge.judging.support import support

__all__ = [
    "Game",
    "PairwiseJudge",
    "PairwiseReply",
    "game_id",
    "judgment_of",
    "parse_pairwise_reply",
    "support",
]
