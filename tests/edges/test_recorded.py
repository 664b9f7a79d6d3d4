"""The lock itself: it compares what it says it compares, and what is known to be wrong is named."""

import json
from pathlib import Path

import pytest

from tests.edges.recorded import RECORDINGS, differences, numbers, steady

WRONG = json.loads(Path(__file__).with_name("wrong.json").read_text("utf-8"))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_known_to_be_wrong_is_recorded_and_said(name):
    assert (RECORDINGS / f"{name}.json").exists()
    assert WRONG[name].strip()


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ([1], [1, 2]),
        ([1, 2], [2, 1]),
        ("a", "b"),
        (True, 1),
        (0.5, 0.5000001),
        (None, 0),
        ({"a": [{"b": 0.1}]}, {"a": [{"b": 0.2}]}),
    ],
)
def test_a_difference_is_seen(recorded, found):
    assert differences(recorded, found, 1e-9)


def test_floats_within_the_tolerance_are_alike():
    assert differences({"a": [0.1]}, {"a": [0.1 + 1e-12]}, 1e-9) == []


def test_words_may_change_around_numbers_and_numbers_may_not():
    assert numbers("kept 3 of 4 (75.0 %)") == numbers("of 3, and of 4, 75.0 are kept")
    assert numbers("kept 3 of 4") != numbers("kept 4 of 3")


def test_what_differs_from_run_to_run_is_named_by_its_kind(tmp_path):
    found = steady(
        {"run_id": "x", "file": f"{tmp_path}/a.json", "said": "at 2026-11-23T10:00:00Z", "none": None}, tmp_path
    )
    assert found == {"run_id": "*", "file": "FOLDER/a.json", "said": "at TIME", "none": None}
