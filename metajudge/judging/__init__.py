"""Producing verdicts: pairs, grades and blind panels that rank; and what verdicts say about others'."""

from metajudge.judging.blinding import Blinding, blind, unblind
from metajudge.judging.clash import Clash, Judge, Place, evaluate
from metajudge.judging.clash_record import ClashRecord, recount
from metajudge.judging.combining import Combined, combine
from metajudge.judging.criteria import CriteriaSet, Criterion, generate_criteria
from metajudge.judging.grading import Grading, GradingJudge
from metajudge.judging.pairwise import Game, PairwiseJudge
from metajudge.judging.pareto import CandidateFigures, ParetoStanding, pareto_front
from metajudge.judging.ranking import JudgeRanking, rank_responses
from metajudge.judging.records import game_id, judgment_of, judgments_of_clash
from metajudge.judging.replies import PairwiseReply, parse_pairwise_reply
from metajudge.judging.support import support
from metajudge.judging.tally import Tally, Voter, tally

__all__ = [
    "Blinding",
    "CandidateFigures",
    "Clash",
    "ClashRecord",
    "Combined",
    "CriteriaSet",
    "Criterion",
    "Game",
    "Grading",
    "GradingJudge",
    "Judge",
    "JudgeRanking",
    "PairwiseJudge",
    "PairwiseReply",
    "ParetoStanding",
    "Place",
    "Tally",
    "Voter",
    "blind",
    "combine",
    "evaluate",
    "game_id",
    "generate_criteria",
    "judgment_of",
    "judgments_of_clash",
    "pareto_front",
    "parse_pairwise_reply",
    "rank_responses",
    "recount",
    "support",
    "tally",
    "unblind",
]
