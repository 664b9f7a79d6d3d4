"""What a policy decides on for a vetted judgment, and how far the agents agree."""

import math

import pytest
from pydantic import ValidationError

from metajudge.decision import Policy, load_policy
from metajudge.decision.deciding import agreement_of, criteria_of, decide_verdict, value_of
from metajudge.decision.policy import Adjustment, Recalibration
from metajudge.types import AgentResult, Assessment, CriterionScore, Failure
from metajudge.types.decision import Absent
from metajudge.types.interval import UNIT, Range

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


def test_values_absences_criteria_means_and_learned_offsets():
    found = assessment(probability=0.7)
    assert (value_of(SCORE, found), value_of(PROBABILITY, found)) == (4.8, 0.7)
    assert "without a calibration" in value_of(PROBABILITY, assessment()).reason
    marked = assessment(probability_marks=("other_judge", "absent_signal"))
    assert value_of(PROBABILITY, marked).reason == "other_judge, absent_signal"
    failed = assessment(final_score=None, failure=Failure(kind="no_verdict", message="cut"))
    assert value_of(SCORE, failed).reason == "no_verdict: cut"
    assert "stopped early" in value_of(SCORE, assessment(final_score=None)).reason
    found = assessment(agent("a", 4, accuracy=4, clarity=2), agent("b", 5, accuracy=5), agent("c", 3))
    assert criteria_of(found) == {"accuracy": 4.5, "clarity": 2}
    data = {**SCORE.model_dump(mode="json"), "adjustment": {"offsets": {"clarity": -2.0}}}
    found = assessment(agent("a", 4.8, accuracy=5, clarity=4), agent("b", 4.8, accuracy=5, clarity=4))
    decided = decide_verdict(Policy.model_validate(data), found, {"accuracy": 3, "clarity": 1})
    assert (decided.inputs.value, decided.inputs.unadjusted) == (pytest.approx(4.3), 4.8)
    assert "unadjusted" not in decide_verdict(SCORE, found).inputs.model_dump()
    assert decide_verdict(Policy.model_validate(data), found).inputs.value == 4.8, "no weights: nothing to move by"


# Corrections learned from people: of a probability, of criteria's scores, of their weights.
FIVE = Range(low=1, high=5)
SCORES = {"accuracy": 4.0, "clarity": 2.0}
WEIGHTS = {"accuracy": 3.0, "clarity": 1.0}
FOUND = 3.5
"""Their weighted mean."""


def logit(p):
    return math.log(p / (1 - p))


@pytest.mark.parametrize("p", [0.02, 0.5, 0.93])
def test_a_probability_is_moved_on_its_log_odds(p):
    moved = Recalibration(intercept=-0.4, slope=0.8).apply(p)
    assert logit(moved) == pytest.approx(-0.4 + 0.8 * logit(p), abs=1e-7)


def test_certainty_is_one_in_a_billion_and_a_slope_that_turns_the_order_around_is_refused():
    one = Recalibration(intercept=0, slope=0.5)
    assert one.apply(1.0) == pytest.approx(1 / (1 + math.exp(-0.5 * math.log(1e9))))
    assert one.apply(0.0) == pytest.approx(1 - one.apply(1.0))
    assert one.apply(1 - 1e-12) == one.apply(1.0)
    assert one.apply(1e-12) == one.apply(0.0)
    assert Recalibration(intercept=0, slope=1e6).apply(1.0) == 1.0
    assert Recalibration(intercept=0, slope=1e6).apply(0.0) == 0.0
    with pytest.raises(ValidationError):
        Recalibration(intercept=0, slope=0)


@pytest.mark.parametrize(
    ("offsets", "value", "moved"),
    [
        ({"clarity": 1.0}, FOUND, FOUND + 1.0 / 4),
        ({"accuracy": -1.0}, FOUND, FOUND - 3.0 / 4),
        ({"accuracy": 9.0}, FOUND, FOUND + 3.0 / 4),  # each criterion stays on the scale
        ({"clarity": -9.0}, FOUND, FOUND - 1.0 / 4),
        ({"clarity": 3.0}, 4.9, 5.0),  # so does the sum, although the value is another mean
        ({"accuracy": -3.0}, 1.2, 1.0),
    ],
)
def test_an_offset_moves_the_score_by_its_criterions_share(offsets, value, moved):
    assert Adjustment(offsets=offsets).apply(value, FIVE, SCORES, WEIGHTS) == moved


def test_learned_weights_take_the_place_of_the_rubrics():
    weights = {"accuracy": 1.0, "clarity": 3.0}
    assert Adjustment(weights=weights).apply(FOUND, FIVE, SCORES, WEIGHTS) == 2.5
    both = Adjustment(weights=weights, offsets={"clarity": 2.0})
    assert both.apply(FOUND, FIVE, SCORES, WEIGHTS) == 4.0
    assert both.apply(FOUND, FIVE, {"accuracy": 4.0}, {}) == 4.0, "normalised over the criteria scored"


@pytest.mark.parametrize("criteria", [{}, {"other": 3.0}])
def test_without_scores_of_known_criteria_offsets_change_nothing(criteria):
    moved = Adjustment(offsets={"clarity": 1.0, "other": 1.0}).apply(FOUND, FIVE, criteria, WEIGHTS)
    assert moved == FOUND
    assert Adjustment().apply(FOUND, FIVE, SCORES, WEIGHTS) == FOUND


def test_the_recalibration_comes_first():
    halved = Recalibration(intercept=0, slope=0.5)
    assert Adjustment(recalibration=halved).apply(0.9, UNIT, {}, {}) == halved.apply(0.9) != 0.9
