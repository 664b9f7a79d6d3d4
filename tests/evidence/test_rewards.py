"""Margins of reward models: raw, scaled by the model, and over all models."""

import math

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.evidence.consensus import Column
from metajudge.evidence.rewards import Preference, RewardScore, margin_scales, reward_columns, reward_margins


def score(model, item, a, b=None):
    return RewardScore(item, model, {"A": a} if b is None else {"A": a, "B": b})


PREFERENCES = [Preference("q1", "A", "B"), Preference("q2", "B", "A"), Preference("q3", "A", "B")]


def test_a_margin_is_the_winners_score_less_the_losers():
    assert score("m", "q", 3.0, 1.0).margin("A", "B") == 2.0
    assert score("m", "q", 3.0, 1.0).margin("B", "A") == -2.0
    assert score("m", "q", 3.0).margin("A", "B") is None
    assert score("m", "q", 3.0).margin("B", "A") is None


def test_margins_are_by_model_and_absent_where_a_response_was_not_scored():
    found = reward_margins([score("y", "q1", 1, 0), score("x", "q1", 2, 5), score("x", "q2", 1, 4)], PREFERENCES)
    assert list(found) == ["x", "y"]
    assert found["x"].values.tolist() == [-3, 3, 0]
    assert found["x"].present.tolist() == [True, True, False]
    assert found["y"].present.tolist() == [True, False, False]


def test_the_same_scores_twice_are_one_and_others_are_refused():
    assert reward_margins([score("x", "q1", 2, 5)] * 2, PREFERENCES)["x"].values[0] == -3
    with pytest.raises(InputError, match="'x' has two different scores for item 'q1'"):
        reward_margins([score("x", "q1", 2, 5), score("x", "q1", 2, 6)], PREFERENCES)


def test_a_models_scale_is_the_root_mean_square_of_its_margins():
    scores = [score("x", "q1", 3, 0), score("x", "q2", 0, 4), score("x", "q3", 9), score("y", "q1", 1, 1)]
    assert margin_scales(scores) == {"x": pytest.approx(math.sqrt((9 + 16) / 2)), "y": 1.0}


def test_columns_are_bounded_by_the_scale_and_averaged_over_those_present():
    margins = {
        "x": Column(np.array([2.0, -4.0, 0.0]), np.array([True, True, False])),
        "y": Column(np.array([1.0, 0.0, 0.0]), np.array([True, False, False])),
        "unknown": Column(np.array([1.0, 1.0, 1.0]), np.array([True, True, True])),
    }
    found = reward_columns(margins, {"x": 2.0, "y": 1.0})
    assert sorted(found) == ["rewards.mean", "rewards.votes", "rewards.x", "rewards.y"]
    assert found["rewards.x"].values == pytest.approx([math.tanh(1), math.tanh(-2), 0])
    assert found["rewards.mean"].values == pytest.approx([math.tanh(1), math.tanh(-2), 0])
    assert found["rewards.votes"].values.tolist() == [1, -1, 0]
    assert found["rewards.mean"].present.tolist() == [True, True, False]
    assert reward_columns(margins, {}) == {}


def test_votes_are_the_mean_of_the_signs():
    margins = {name: Column(np.array([value]), np.array([True])) for name, value in (("x", 9.0), ("y", -0.1))}
    assert reward_columns(margins, {"x": 1.0, "y": 1.0})["rewards.votes"].values[0] == 0
    assert reward_columns(margins, {"x": 1.0, "y": 1.0})["rewards.mean"].values[0] > 0


def test_a_choice_among_several_is_compared_with_the_best_of_the_others():
    four = RewardScore("q1", "x", {"A": 1.0, "B": 3.0, "C": 2.0, "D": 0.0})
    chosen = [Preference("q1", "B", "A", ("C", "D")), Preference("q1", "C", "A", ("B", "D")), Preference("q1", None)]
    found = reward_margins([four], chosen)["x"]
    assert found.values.tolist() == [1.0, -1.0, 0.0]
    assert found.present.tolist() == [True, True, False]
    assert margin_scales([four])["x"] == pytest.approx(((2**2 + 1 + 1 + 3**2) / 4) ** 0.5)
