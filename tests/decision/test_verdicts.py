"""What a policy decides on for a vetted judgment, and how far the agents agree."""

import pytest

from metajudge.decision import Policy, load_policy
from metajudge.decision.verdicts import agreement_of, criteria_of, decide_verdict, value_of
from metajudge.types import AgentResult, Assessment, CriterionScore, Failure
from metajudge.types.decision import Absent

SCORE = load_policy("verdict_score")
PROBABILITY = load_policy("verdict")


def agent(name, score, **criteria):
    given = {key: CriterionScore(score=value, explanation="e") for key, value in criteria.items()} or None
    failure = None if score is not None else Failure(kind="timeout", message="no answer")
    return AgentResult(agent=name, model="m", role="r", weight=1.0, score=score, failure=failure, criteria=given)


def assessment(*agents, **more):
    return Assessment(
        judgment_id="j",
        item_id="i",
        judge="owl",
        status="assessed",
        panel_digest="p",
        metajudge_version="1",
        judgment_digest="d",
        strategy="weighted_average",
        threshold=4.5,
        agents=agents,
        **{"final_score": 4.8, **more},
    )


def ranged():
    data = {**SCORE.model_dump(mode="json"), "agreement": "range"}
    return Policy.model_validate(data)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        *(((5, 4.6, 4.6), 1.0), ((5, 4.6, 4.5), 2 / 3), ((5, 4, 4), 2 / 3), ((4, 4), 1.0), ((5, 4), 0.5)),
        *(((4.5, 4.5), 1.0), ((1, 1, 1, 5), 0.75), ((5, 5, None), 1.0)),
    ],
)
def test_agents_agree_by_the_side_of_the_threshold_they_are_on(scores, expected):
    found = agreement_of(SCORE, assessment(*(agent(f"a{i}", score) for i, score in enumerate(scores))))
    assert found == pytest.approx(expected)


def test_by_range_the_distance_of_the_extremes_counts():
    found = agreement_of(ranged(), assessment(agent("a", 5), agent("b", 4), agent("c", 4.5)))
    assert found == pytest.approx(1 - 1 / ranged().scale.width)
    assert agreement_of(ranged(), assessment(agent("a", 5), agent("b", 1))) == 0
    assert agreement_of(ranged(), assessment(agent("a", 4), agent("b", 5), agent("c", 3))) == 0.5


@pytest.mark.parametrize(("agents", "reason"), [((), "there are 0"), ((5, None), "there is 1")])
def test_fewer_than_two_scores_have_no_agreement(agents, reason):
    found = agreement_of(SCORE, assessment(*(agent(f"a{i}", score) for i, score in enumerate(agents))))
    assert isinstance(found, Absent)
    assert reason in found.reason


def test_the_value_is_the_final_score_or_the_probability():
    found = assessment(probability=0.7)
    assert (value_of(SCORE, found), value_of(PROBABILITY, found)) == (4.8, 0.7)


def test_an_absent_value_says_why():
    assert "without a calibration" in value_of(PROBABILITY, assessment()).reason
    marked = assessment(probability_marks=("other_judge", "absent_signal"))
    assert value_of(PROBABILITY, marked).reason == "other_judge, absent_signal"
    failed = assessment(final_score=None, failure=Failure(kind="no_verdict", message="cut"))
    assert value_of(SCORE, failed).reason == "no_verdict: cut"
    assert "stopped early" in value_of(SCORE, assessment(final_score=None)).reason


def test_criteria_are_means_over_the_agents_that_scored_them():
    found = assessment(agent("a", 4, accuracy=4, clarity=2), agent("b", 5, accuracy=5), agent("c", 3))
    assert criteria_of(found) == {"accuracy": 4.5, "clarity": 2}


def test_learned_offsets_are_weighed_by_the_panels_rubric():
    data = {**SCORE.model_dump(mode="json"), "adjustment": {"offsets": {"clarity": -2.0}}}
    found = assessment(agent("a", 4.8, accuracy=5, clarity=4), agent("b", 4.8, accuracy=5, clarity=4))
    decided = decide_verdict(Policy.model_validate(data), found, {"accuracy": 3, "clarity": 1})
    assert (decided.inputs.value, decided.inputs.unadjusted) == (pytest.approx(4.3), 4.8)
    assert "unadjusted" not in decide_verdict(SCORE, found).inputs.model_dump()
    assert decide_verdict(Policy.model_validate(data), found).inputs.value == 4.8, "no weights: nothing to move by"
