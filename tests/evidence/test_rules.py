"""Scores, margins of reward models, stated confidence and the rules over them."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.evidence.consensus import Column
from metajudge.evidence.format import stated_confidence, stated_strength
from metajudge.evidence.rewards import Preference, RewardScore, margin_scales, reward_columns, reward_margins
from metajudge.evidence.rules import Rules
from metajudge.evidence.score import signal_score
from metajudge.evidence.verdicts import collected
from metajudge.types import Item, Judgment, Right, SignalValue, default_right, parse_right, parse_verdict
from tests.evidence.verdicts import judged


def graded(verdict: Any, label: Any = None) -> Judgment:
    return Judgment(
        id="j", item=Item(id="i", question="?", responses={"A": "a"}, label=label), judge="x", verdict=verdict
    )


@pytest.mark.parametrize("grades", [[1, 5, 3], [0.5, 0.25, 1], [7, 7.5, 2], [3], [True, False], [1, 5, True]], ids=str)
@pytest.mark.parametrize("labels", [[], [2, 4], ["pass"], [0.1]], ids=str)
def test_the_rule_of_an_input_is_that_of_its_graded_verdicts_and_their_labels(
    grades: list[Any], labels: list[Any]
) -> None:
    given = [graded(grade, labels[n % len(labels)] if labels else None) for n, grade in enumerate(grades * 3)]
    judgments = [one.model_copy(update={"id": f"j{n}"}) for n, one in enumerate(given)]
    verdicts, truths = map(parse_verdict, grades), map(parse_verdict, labels)
    assert collected(judgments).rules().of("grade") == default_right("grade", list(verdicts), list(truths))


def test_a_given_rule_holds_for_the_kinds_it_applies_to_and_the_kinds_are_those_of_the_verdicts() -> None:
    rules = Rules(parse_right("within:0.5"))
    assert rules.of("grade") == Right("within", 0.5)
    assert rules.of("pairwise") == Right("top1")
    assert rules.of("category") == Right("equal")
    assert Rules(None, [parse_verdict(3), parse_verdict("pass")]).kinds == {"grade", "category"}


def given(**values: float | None) -> dict[str, SignalValue]:
    return {name: SignalValue(value=value, state="test") for name, value in values.items()}


def score(**values: float | None) -> float:
    value = signal_score(given(**values))
    assert value is not None
    return value


def test_golden_values_and_no_evidence_is_no_score_and_never_the_middle() -> None:
    # z = 1 + 0.5 + 3 * 0.5 = 3: 1 + 4 / (1 + e^-3)
    assert score(order=1, strength=2, peers=0.5, rationale=1) == pytest.approx(4.8102965)
    assert score(strength=1) == 3.0
    assert score(order=-1, strength=1, peers=-1) == pytest.approx(1.0719448)
    for signals in ({}, given(order=None, peers=None, strength=None, rationale=None), given(length_ratio=1.0)):
        assert signal_score(signals) is None


def test_signals_move_the_score_their_way_symmetrically_and_an_absent_one_adds_nothing() -> None:
    assert score(order=1, peers=None) == score(order=1)
    for order, peers in itertools.product((-1, 0, 1), (-1, -0.25, 0, 0.5, 1)):
        assert score(order=order, peers=peers) + score(order=-order, peers=-peers) == pytest.approx(6)
    assert score(order=-1, peers=0) < score(order=0, peers=0) < score(order=1, peers=0)
    assert score(peers=-0.5) < score(peers=0.5)
    assert score(strength=0) < score(strength=1) < score(strength=2)
    assert score(peers=0.5, rationale=-1) < score(peers=0.5) == score(peers=0.5, rationale=1)


def test_what_it_takes_to_pass_and_never_the_own_word_a_contradiction_or_own_consistency() -> None:
    assert score(order=1, strength=2, rationale=1) < 4.5
    assert score(order=1, strength=2, peers=1, rationale=-1) < 4.5
    assert score(order=1, strength=1, peers=1 / 3) > 4.5
    assert score(order=1, strength=1, peers=1 / 6) < 4.5
    assert score(order=None, strength=1, peers=0.5) < 4.5
    assert score(order=None, strength=1, peers=0.75) > 4.5
    for order, strength, peers, rationale in itertools.product((-1, 1), (0, 2), (-1, 1), (-1, 1)):
        assert 1 <= score(order=order, strength=strength, peers=peers, rationale=rationale) <= 5
    assert score(order=1, repeats=1, variants=1) < 4.5
    assert score(peers=2 / 3) > 4.5 > score(peers=1 / 2, repeats=1)


class TestStrength:
    def test_strengths_and_absent_where_nothing_is_stated(self) -> None:
        assert [stated_strength(judged(v).verdict).value for v in ("A>>B", "B>A", "A=B")] == [2, 1, 0]
        assert stated_strength(judged("A=B").verdict).state == "tied"
        assert stated_strength(judged([["A"], ["B"]]).verdict).state == "not_stated"
        assert stated_strength(judged(None).verdict).state == "no_verdict"
        assert stated_strength(judged(2.5, order=("A",)).verdict).state == "grade"


# Stated confidence.
@pytest.mark.parametrize(
    ("given", "value"), [(0.8, 0.8), (4, 4.0), (None, None), ("high", None), (True, None), (float("nan"), None)]
)
def test_a_number_is_read_and_nothing_else(given: Any, value: float | None) -> None:
    assert stated_confidence(given) == value


# Margins of reward models: raw, scaled by the model, and over all models.
def score_rewards(model, item, a, b=None):
    return RewardScore(item, model, {"A": a} if b is None else {"A": a, "B": b})


PREFERENCES = [Preference("q1", "A", ("B",)), Preference("q2", "B", ("A",)), Preference("q3", "A", ("B",))]


def test_margins_are_the_winners_score_less_the_losers_by_model_absent_or_given_once():
    assert score_rewards("m", "q", 3.0, 1.0).margin("A", "B") == 2.0
    assert score_rewards("m", "q", 3.0, 1.0).margin("B", "A") == -2.0
    assert score_rewards("m", "q", 3.0).margin("A", "B") is None
    assert score_rewards("m", "q", 3.0).margin("B", "A") is None
    found = reward_margins(
        [score_rewards("y", "q1", 1, 0), score_rewards("x", "q1", 2, 5), score_rewards("x", "q2", 1, 4)], PREFERENCES
    )
    assert list(found) == ["x", "y"]
    assert found["x"].values.tolist() == [-3, 3, 0]
    assert found["x"].present.tolist() == [True, True, False]
    assert found["y"].present.tolist() == [True, False, False]
    assert reward_margins([score_rewards("x", "q1", 2, 5)] * 2, PREFERENCES)["x"].values[0] == -3
    with pytest.raises(InputError, match="'x' has two different scores for item 'q1'"):
        reward_margins([score_rewards("x", "q1", 2, 5), score_rewards("x", "q1", 2, 6)], PREFERENCES)


def test_a_models_scale_is_the_root_mean_square_of_its_margins():
    scores = [
        score_rewards("x", "q1", 3, 0),
        score_rewards("x", "q2", 0, 4),
        score_rewards("x", "q3", 9),
        score_rewards("y", "q1", 1, 1),
    ]
    assert margin_scales(scores) == {"x": pytest.approx(math.sqrt((9 + 16) / 2)), "y": 1.0}


def test_columns_of_rewards_are_bounded_and_votes_the_mean_of_signs():
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
    margins = {name: Column(np.array([value]), np.array([True])) for name, value in (("x", 9.0), ("y", -0.1))}
    assert reward_columns(margins, {"x": 1.0, "y": 1.0})["rewards.votes"].values[0] == 0
    assert reward_columns(margins, {"x": 1.0, "y": 1.0})["rewards.mean"].values[0] > 0
    four = RewardScore("q1", "x", {"A": 1.0, "B": 3.0, "C": 2.0, "D": 0.0})
    chosen = [Preference("q1", "B", ("A", "C", "D")), Preference("q1", "C", ("A", "B", "D")), Preference("q1", None)]
    found = reward_margins([four], chosen)["x"]
    assert found.values.tolist() == [1.0, -1.0, 0.0]
    assert found.present.tolist() == [True, True, False]
    assert margin_scales([four])["x"] == pytest.approx(((2**2 + 1 + 1 + 3**2) / 4) ** 0.5)
