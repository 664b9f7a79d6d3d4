"""The study of models: its measures and its table."""

import numpy as np
import pytest
from metajudge.benchmarks.model_study import (
    ITEM,
    Choices,
    by_softmax,
    calibration_error,
    differences,
    figures,
    lines,
    matrix_of,
)

from metajudge.calibration.table import build_table
from metajudge.types import Judgment
from tests.doubles.crowds import crowd


def test_calibration_error_is_nothing_where_each_bin_is_right_as_often_as_it_says_and_the_gap_elsewhere():
    correct = np.arange(100) % 2 == 0
    assert calibration_error(np.full(100, 0.5), correct) == pytest.approx(0)
    assert calibration_error(np.full(100, 0.8), correct) == pytest.approx(30)


def test_a_model_is_compared_with_the_item_model_by_question():
    table = build_table(crowd(30), ["order", "strength", "peers"]).sorted()
    good, coin = np.where(table.correct, 0.8, 0.2), np.full(len(table), 0.5)
    apart = differences(coin, good, table)
    assert apart["log loss"][0] > 0.3
    assert differences(good, good, table)["ECE"] == (0, 0)
    assert matrix_of(table).std(axis=0) == pytest.approx(1)
    rows = [
        {"model": ITEM, **figures(good, table.correct), "intervals": None, "cpu_s": 1.0},
        {"model": "coin", **figures(coin, table.correct), "intervals": apart, "cpu_s": 1.0},
    ]
    text = list(lines({"set": "made", "n": len(table), "questions": 30, "models": rows}))
    assert text[3].startswith("| item model | 0.223 |")
    assert "0.693 (+" in text[4]


def rankings(items=60):
    """Three judges choose the best of four; each is right by chance of its own."""
    rng, made = np.random.default_rng(3), []
    for number in range(items):
        item = {
            "id": f"q{number}", "question": f"Question {number}?", "label": [["A"], ["B", "C", "D"]],
            "responses": {name: f"{name} {number}" for name in "ABCD"},
        }  # fmt: skip
        for judge, skill in (("owl", 0.9), ("wren", 0.6), ("jay", 0.4)):
            first = "A" if rng.random() < skill else str(rng.choice(list("BCD")))
            verdict = [[first], sorted(set("ABCD") - {first})]
            one = {"id": f"q{number}/{judge}", "item": item, "judge": judge, "order": list("ABCD"), "verdict": verdict}
            made.append(Judgment.model_validate(one))
    return made


def test_the_model_of_the_choice_gives_each_item_one_right_candidate_and_knows_the_good_judge():
    table = build_table(rankings(), None).sorted()
    choices = Choices.of(table, 4)
    assert np.bincount(choices.item, choices.often).tolist() == [4.0] * 60
    assert np.bincount(choices.item, choices.right).tolist() == [1.0] * 60
    assert choices.right[choices.of_row].tolist() == table.correct.tolist()
    weights = choices.fitted(1.0, np.ones(60, dtype=bool))
    assert np.bincount(choices.item, choices.often * choices.shares(weights)) == pytest.approx(1)
    votes = [name for name in sorted(table.columns) if name.startswith("voices.")]
    assert votes[int(np.argmax(weights[: len(votes)]))] == "voices.owl"
    assert (
        figures(by_softmax(table), table.correct)["log loss"]
        < 0.55
        < figures(np.full(180, 0.5), table.correct)["log loss"]
    )
