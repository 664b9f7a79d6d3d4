"""Judging: pairs and grades, the ranking of responses, and how identities are hidden."""

from typing import TYPE_CHECKING, Any

from metajudge.judging.support import support  # imported now: on first use the name would be the module's

if TYPE_CHECKING:
    from metajudge.judging.blinding import Blinding, blind, unblind
    from metajudge.judging.combining import Combined, combine
    from metajudge.judging.criteria import CriteriaSet, Criterion, generate_criteria
    from metajudge.judging.grading import Grading, GradingJudge
    from metajudge.judging.pairwise import Game, PairwiseJudge
    from metajudge.judging.ranking import JudgeRanking, rank_responses
    from metajudge.judging.records import game_id, judgment_of
    from metajudge.judging.replies import PairwiseReply, parse_pairwise_reply

__all__ = [
    "Blinding",
    "Combined",
    "CriteriaSet",
    "Criterion",
    "Game",
    "Grading",
    "GradingJudge",
    "JudgeRanking",
    "PairwiseJudge",
    "PairwiseReply",
    "blind",
    "combine",
    "game_id",
    "generate_criteria",
    "judgment_of",
    "parse_pairwise_reply",
    "rank_responses",
    "support",
    "unblind",
]

_HOMES = {
    "Blinding": "metajudge.judging.blinding",
    "Combined": "metajudge.judging.combining",
    "CriteriaSet": "metajudge.judging.criteria",
    "Criterion": "metajudge.judging.criteria",
    "Game": "metajudge.judging.pairwise",
    "Grading": "metajudge.judging.grading",
    "GradingJudge": "metajudge.judging.grading",
    "JudgeRanking": "metajudge.judging.ranking",
    "PairwiseJudge": "metajudge.judging.pairwise",
    "PairwiseReply": "metajudge.judging.replies",
    "blind": "metajudge.judging.blinding",
    "combine": "metajudge.judging.combining",
    "game_id": "metajudge.judging.records",
    "generate_criteria": "metajudge.judging.criteria",
    "judgment_of": "metajudge.judging.records",
    "parse_pairwise_reply": "metajudge.judging.replies",
    "rank_responses": "metajudge.judging.ranking",
    "unblind": "metajudge.judging.blinding",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metajudge.judging' has no attribute {name!r}")
