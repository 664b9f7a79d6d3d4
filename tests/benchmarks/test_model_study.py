"""The study of models: its measures and its table."""

import numpy as np
import pytest
from metajudge.benchmarks.model_study import ITEM, calibration_error, differences, figures, lines, matrix_of

from metajudge.calibration.table import build_table
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
