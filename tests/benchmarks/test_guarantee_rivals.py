"""Rivals on a population whose truth is known."""

import json

import numpy as np
import pytest
import typer
from metajudge.benchmarks.guarantee_rivals import (
    ALIKE,
    ASYMPTOTIC,
    CONDITIONAL,
    EARLIER,
    OURS,
    TARGETS,
    Population,
    gains,
    interval,
    main,
    measured,
    summary,
)
from metajudge.benchmarks.threshold_rules import RIVALS

from metajudge.calibration.starts import Reference


def population(orders):
    rng = np.random.default_rng(4)
    place = np.repeat(np.arange(150), 2)
    ease = rng.normal(size=150)[place]
    scores = np.round(1 / (1 + np.exp(-1.5 - 2 * ease)), 9)
    correct = rng.random(300) < scores
    return Population(scores, correct, place, scores if orders else None, Reference(scores, place), 90)


@pytest.fixture(scope="module")
def rows():
    return {row["procedure"]: row for row in measured(population(True), 0.85, 8, 0)}


@pytest.mark.filterwarnings("ignore")
def test_every_rule_is_measured_and_keeps_no_more_than_the_oracle_on_average(rows):
    assert set(RIVALS) - set(rows) <= {"MAPIE"}
    assert 0 < rows["ours: ranks (default)"]["coverage"] <= rows["oracle"]["coverage"]
    assert all(0 <= row["broken"] <= 1 for row in rows.values())


@pytest.mark.filterwarnings("ignore")
def test_a_rule_that_needs_orders_is_not_applicable_to_a_set_without(rows):
    assert rows["SCOPE"]["coverage"] is not None
    others = {row["procedure"]: row for row in measured(population(False), 0.85, 1, 0)}
    assert others["SCOPE"]["coverage"] is None
    assert others["MAPIE" if "MAPIE" in others else OURS]["coverage"] is not None


def test_the_truth_of_a_threshold_counts_all_kept_judgments():
    one = Population(
        np.array([0.9, 0.9, 0.9, 0.2]), np.array([True, True, False, False]), np.array([0, 0, 1, 2]), None,
        Reference(np.array([0.9]), np.array([0])), 3,
    )  # fmt: skip
    assert one.truth(one.scores, 0.5) == (0.75, pytest.approx(2 / 3), 0.5)
    assert one.truth(one.scores, None) == (0.0, 1.0, 1.0)
    assert one.oracle(0.6) == 0.75
    assert one.oracle(0.9) == 0.0  # equal scores are kept together


def test_where_one_judgment_of_each_question_is_drawn_a_question_counts_by_its_share_kept():
    scores, correct = np.array([0.9, 0.2, 0.9]), np.array([True, False, False])
    one = Population(scores, correct, np.array([0, 0, 1]), None, Reference(scores, np.arange(3)), 2)
    assert one.truth(scores, 0.5) == (pytest.approx(2 / 3), 0.5, pytest.approx(0.5 / 1.5))


def test_the_interval_of_a_difference_needs_more_than_one_value():
    low, high = interval([0.6, 0.7, 0.65], [0.5, 0.55, 0.6])
    assert low < 0.1 < high
    assert interval([1.0], [0.0]) == (-np.inf, np.inf)


def part(name, seed, coverage):
    """A line of the file of parts, with the same coverage at every target."""
    rows = [
        {"target": target, "procedure": rule, "promise": "kept", "coverage": found, "broken": 0.0, "drawn": 0.0,
         "abstained": 0.0}
        for target in TARGETS
        for rule, found in coverage.items()
    ]  # fmt: skip
    return {"set": name, "seed": seed, "redraws": 3, "of_fit": False, "rows": rows}


PARTS = [
    part("llmbar", 0, {OURS: 0.4, ALIKE: 0.5, EARLIER: 0.3, ASYMPTOTIC: 0.8, "oracle": 0.9, "SCOPE": None}),
    part("llmbar", 1, {OURS: 0.5, ALIKE: 0.5, EARLIER: 0.3, ASYMPTOTIC: 0.8, "oracle": 0.9, "SCOPE": None}),
    part("judgebench", 0, {OURS: 0.6, ALIKE: 0.5, EARLIER: 0.4, ASYMPTOTIC: 0.7, "oracle": 0.9, "MAPIE": 0.45}),
]


def test_splits_are_averaged_and_sets_compared():
    rows = summary(PARTS)
    known = {(row["set"], row["procedure"]): row for row in rows if row["target"] == 0.85}
    ours = known["llmbar", OURS]
    assert (ours["coverage"], ours["splits"]) == (pytest.approx(0.45), 2)
    assert (ours["of_oracle"], ours["of_z"]) == (pytest.approx(0.5), pytest.approx(0.5625))
    assert known["llmbar", "SCOPE"]["coverage"] is None
    first = next(iter(gains(rows)))
    assert (first["rule"], first["over"]) == (OURS, EARLIER)
    assert first["gain"] == pytest.approx((0.15 + 0.2) / 2)
    assert first["interval"] == pytest.approx(interval([0.45, 0.6], [0.3, 0.4]))
    over = {one["over"] for one in gains(rows)}
    assert over == {EARLIER, CONDITIONAL, "MAPIE"}  # the best valid rival by its mean over the sets


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys):
    stored, out = tmp_path / "parts.jsonl", tmp_path / "found.json"
    stored.write_text("".join(json.dumps(one) + "\n" for one in PARTS))
    main(tmp_path, "llmbar", splits=2, redraws=3, reference="population", stored=stored, out=out)
    shown = capsys.readouterr().out
    assert "not applicable" in shown
    assert "no interval" in shown  # one set alone has none
    assert json.loads(out.read_text())["splits"] == 2
    with pytest.raises(typer.BadParameter, match="no set 'other'"):
        main(tmp_path, "other", splits=1, redraws=1, reference="population")
