"""Producing verdicts: pairs, grades and blind panels that rank; and what verdicts say about others'."""

from typing import TYPE_CHECKING, Any

from metajudge.judging.support import support  # now: later the name would be the module's

if TYPE_CHECKING:
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
    from metajudge.judging.tally import Tally, Voter

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
    "unblind",
]

_HOMES = {
    "Blinding": "metajudge.judging.blinding",
    "CandidateFigures": "metajudge.judging.pareto",
    "Clash": "metajudge.judging.clash",
    "ClashRecord": "metajudge.judging.clash_record",
    "Combined": "metajudge.judging.combining",
    "CriteriaSet": "metajudge.judging.criteria",
    "Criterion": "metajudge.judging.criteria",
    "Game": "metajudge.judging.pairwise",
    "Grading": "metajudge.judging.grading",
    "GradingJudge": "metajudge.judging.grading",
    "Judge": "metajudge.judging.clash",
    "JudgeRanking": "metajudge.judging.ranking",
    "PairwiseJudge": "metajudge.judging.pairwise",
    "PairwiseReply": "metajudge.judging.replies",
    "ParetoStanding": "metajudge.judging.pareto",
    "Place": "metajudge.judging.clash",
    "Tally": "metajudge.judging.tally",
    "Voter": "metajudge.judging.tally",
    "blind": "metajudge.judging.blinding",
    "combine": "metajudge.judging.combining",
    "evaluate": "metajudge.judging.clash",
    "game_id": "metajudge.judging.records",
    "generate_criteria": "metajudge.judging.criteria",
    "judgment_of": "metajudge.judging.records",
    "judgments_of_clash": "metajudge.judging.records",
    "pareto_front": "metajudge.judging.pareto",
    "parse_pairwise_reply": "metajudge.judging.replies",
    "rank_responses": "metajudge.judging.ranking",
    "recount": "metajudge.judging.clash_record",
    "unblind": "metajudge.judging.blinding",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used: vetting needs no panel that ranks, and no voting rules."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.judging' has no attribute {name!r}")
