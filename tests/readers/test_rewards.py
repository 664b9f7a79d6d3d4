"""Reward models' scores from files."""

import gzip
import json

import pytest

from metajudge.errors import InputError
from metajudge.readers.rewards import find_reward_scores, read_reward_scores


def test_scores_in_the_order_shown_are_turned_back(tmp_path):
    rows = [
        {"item_id": "i", "judge_model": "rm", "order": "AB", "score_a": 1.5, "score_b": -2, "label": "A>B"},
        {"item_id": "k", "judge_model": "rm", "order": "BA", "score_a": 1.5, "score_b": -2},
        {"item_id": "l", "model": "other", "scores": {"x": 1, "y": 2}},
    ]
    path = tmp_path / "reward_scores.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert find_reward_scores(tmp_path) == path
    first, second, third = read_reward_scores(path)
    assert (first.margin("A", "B"), second.margin("A", "B"), third.margin("x", "y")) == (3.5, -3.5, -1)
    assert third.margin("x", "z") is None


def test_a_folder_without_scores_has_none(tmp_path):
    assert find_reward_scores(tmp_path) is None
    assert find_reward_scores(tmp_path / "reward_scores.jsonl") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item_id": "i", "judge_model": "rm", "score_a": 1}', "field 'score_b' is missing"),
        ('{"item_id": "i", "judge_model": "rm", "score_a": "high", "score_b": 1}', "finite number, not 'high'"),
        ('{"item_id": "i", "judge_model": "rm", "order": "BC", "score_a": 2, "score_b": 1}', "order must be"),
        ('{"item_id": "", "model": "rm", "scores": {"A": 1}}', "item_id must be a text"),
        ("{half", ":1"),
        ("", "is empty"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "reward_scores.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_reward_scores(path)
