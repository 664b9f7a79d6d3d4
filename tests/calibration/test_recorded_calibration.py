"""Recorded benchmark data, where METAJUDGE_DATA names its folder: what a calibration must at least reach."""

import os
from pathlib import Path

import numpy as np
import pytest

from metajudge.calibration.files import load_calibration, save_calibration
from metajudge.calibration.fit import fit_calibration, out_of_fold
from metajudge.calibration.quality import precision_at
from metajudge.calibration.table import build_table
from metajudge.reading import open_judgments
from metajudge.reading.rewards import find_reward_scores, read_reward_scores

DATA = os.environ.get("METAJUDGE_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data"),
]

FLOORS = {
    "openrouter/inception/mercury": 91,
    "openrouter/inception/mercury-coder": 91,
    "openrouter/minimax/minimax-m2.1": 92,
    "openrouter/z-ai/glm-4.7": 94,
    "claude-3-haiku-20240307": 74,
}
"""Precision in per cent of the best 60 %."""


@pytest.fixture(scope="module")
def claude():
    source = open_judgments([Path(DATA or "") / "judgebench"])
    return build_table(source.all(), ["order", "strength", "peers"], report=lambda one: "o1" not in one.judge)


def test_precision_at_60_percent_reaches_the_floors_over_five_seeds(claude):
    judges = np.array(claude.judges)
    runs = [out_of_fold(claude, seed=seed) for seed in range(5)]
    for judge, floor in FLOORS.items():
        mine = judges == judge
        assert 100 * np.mean([precision_at(run[mine], claude.correct[mine], 0.6) for run in runs]) >= floor, judge
    for share, floor in ((0.6, 91), (0.4, 95)):
        assert 100 * np.mean([precision_at(run, claude.correct, share) for run in runs]) >= floor


def test_order_strength_and_rewards_reach_87_for_o1_mini():
    folder = Path(DATA or "") / "judgebench"
    rewards = read_reward_scores(find_reward_scores(folder))
    table = build_table(
        open_judgments([folder]).all(),
        ["order", "strength", "rewards"],
        report=lambda one: "o1" in one.judge,
        rewards=rewards,
    )
    runs = [out_of_fold(table, seed=seed) for seed in range(5)]
    assert 100 * np.mean([precision_at(run, table.correct, 0.6) for run in runs]) >= 87


def test_a_stored_calibration_gives_the_same_bytes_twice(claude, tmp_path):
    fitted = fit_calibration(claude, repeats=1)
    save_calibration(fitted, tmp_path / "cal.json")
    assert fit_calibration(claude, repeats=1).to_json() == (tmp_path / "cal.json").read_bytes()
    assert load_calibration(tmp_path / "cal.json").to_json() == fitted.to_json()


def test_on_adversarial_items_order_agreement_is_no_evidence_for_a_weak_judge_and_the_calibration_knows():
    source = open_judgments([Path(DATA or "") / "llmbar"])
    table = build_table(
        source.all(), ["order", "strength", "peers"], report=lambda one: one.judge in ("ChatGPT/CoT", "LLaMA2/CoT")
    )
    found = out_of_fold(table)
    adversarial = np.array(["Adversarial" in name for name in table.categories])
    agree = table.columns["order.agree"].values > 0
    for judge in ("ChatGPT/CoT", "LLaMA2/CoT"):
        mine = adversarial & (np.array(table.judges) == judge)
        raw, agreeing = table.correct[mine].mean(), table.correct[mine & agree].mean()
        assert agreeing < raw
        assert precision_at(found[mine], table.correct[mine], agree[mine].mean()) > max(raw, agreeing) + 0.2
