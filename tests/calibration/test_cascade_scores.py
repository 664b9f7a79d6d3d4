"""From assessments to the scores of stages."""

import pytest

from metajudge.calibration.cascade_scores import staged_scores
from metajudge.errors import InputError
from metajudge.types import Assessment
from tests.calibration.staged import STAGES
from tests.doubles.judgments import judgment


def assessment(name, scores, cost=0.01, cached=0):
    agents = [
        {"agent": agent, "model": f"model-{agent}", "weight": 1.0, "score": score, "cost_usd": cost, "calls": 1}
        | {"cached_calls": cached}
        | ({} if score is not None else {"failure": {"kind": "timeout", "message": "late"}})
        for agent, score in scores.items()
    ]
    plain = {"item_id": "i", "judge": "owl", "status": "unscored", "strategy": "majority_vote", "threshold": 4.5}
    return Assessment.model_validate(
        {**plain, "judgment_id": name, "agents": agents, "panel_digest": "p", "judgment_digest": "j"}
        | {"metajudge_version": "0"}
    )


def test_a_judgment_that_some_stage_did_not_score_is_left_out_and_counted():
    judgments = {f"j{n}": judgment(f"j{n}") for n in range(3)}
    said = {
        "j0": assessment("j0", {"cheap": 3.0, "strong": 5.0}),
        "j1": assessment("j1", {"cheap": 3.0, "strong": None}),
    }
    data = staged_scores(judgments, said, STAGES)
    assert (data.scores.tolist(), data.left_out, data.cost_unit) == ([[3.0, 5.0]], 2, "dollars")
    assert data.costs.tolist() == [[0.01, 0.01]]


def test_replies_from_a_store_have_no_price_so_calls_are_counted():
    data = staged_scores(
        {"j0": judgment("j0")}, {"j0": assessment("j0", {"cheap": 3.0, "strong": 5.0}, cost=0.0, cached=1)}, STAGES
    )
    assert data.cost_unit == "calls"


def test_one_stage_or_an_unknown_agent_is_refused():
    said = {"j0": assessment("j0", {"cheap": 3.0})}
    with pytest.raises(InputError, match="at least two stages"):
        staged_scores({"j0": judgment("j0")}, said, [("cheap",)])
    with pytest.raises(InputError, match="no scores by strong; there are scores by cheap"):
        staged_scores({"j0": judgment("j0")}, said, STAGES)
