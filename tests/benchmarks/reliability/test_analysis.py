"""The reliability of a panel from its evaluations: nothing undecided becomes a mismatch."""

import json
import random

import pytest
from metajudge.benchmarks.figure import to_json
from metajudge.benchmarks.reliability.analysis import analyse, third_run
from metajudge.benchmarks.reliability.report import report_of, terminal_table

from metajudge.report.html import to_html
from metajudge.report.tables import table_to_text
from tests.doubles.reliability import JUDGES, evaluation


def made(seed=1, items=30, runs=2):
    rng = random.Random(seed)
    models = ("gpt-4", "claude-3-opus", "llama-3-70b")
    found = []
    for number in range(items):
        one, other = rng.sample(models, 2)
        skill = rng.random()
        for run in range(1, runs + 1):
            votes = "".join(
                "-" if rng.random() < 0.05 else "a" if rng.random() < 0.3 + 0.6 * skill else "b" for _ in JUDGES
            )
            found.append(evaluation(f"q{number}", votes, run=run, models={"a": one, "b": other}))
    return found


def test_ties_lost_verdicts_and_errors_are_in_no_share_of_the_decided():
    rows = [
        evaluation("q1"),
        evaluation("q2", "bbb"),
        evaluation("q3", "ab-"),
        evaluation("q4", "---"),
        evaluation("q5", "---", status="error"),
    ]
    found = analyse(rows, JUDGES, repeats=1)
    assert found["run1.status"].value == {"ok": 2, "tie": 1, "no_verdict": 1, "error": 1}
    assert (found["run1.concordance"].value, found["run1.concordance"].n) == (50, 2)
    assert (found["run1.concordance_of_all"].value, found["run1.concordance_of_all"].n) == (20, 5)
    assert found["run1.kappa"].n == 2
    assert (found["combined.clustered"].value, found["combined.clustered"].n) == (50, 2)
    assert found["stability.classes"].value["undetermined"] == 5
    assert (found["majority.concordance"].value, found["majority.concordance"].n) == (50, 2)
    assert "3 items have no decided run" in found["majority.concordance"].why


def test_runs_are_compared_by_verdict_not_by_match():
    rows = [evaluation("q1"), evaluation("q1", "bbb", run=2), evaluation("q2"), evaluation("q2", run=2)]
    rows += [evaluation("q3", "ab-"), evaluation("q3", "ab-", run=2), evaluation("q4"), evaluation("q4", "---", run=2)]
    found = analyse(rows, JUDGES, repeats=2)
    same = found["retest.run1_run2.same"]
    assert (same.value, same.n) == (pytest.approx(200 / 3), 3)
    assert "1 items lack a verdict" in same.why
    assert found["retest.run1_run2.matrix"].value == {
        "both_right": 1, "only_run1_right": 1, "only_run2_right": 0, "neither_right": 0
    }  # fmt: skip
    classes = found["stability.classes"].value
    assert classes == {"stable_right": 1, "stable_wrong": 0, "stable_tie": 1, "unstable": 1, "undetermined": 1}


def test_the_third_run_follows_its_rule_and_its_figures_their_groups():
    rows = [evaluation(f"w{n}", "bbb", run=run) for n in range(3) for run in (1, 2)]
    rows += [evaluation("u", "aaa"), evaluation("u", "bbb", run=2)]
    rows += [evaluation(f"r{n}", "aab" if n == 0 else "aaa", run=run) for n in range(4) for run in (1, 2)]
    third = third_run(rows, 5)
    assert third.stable_wrong == ("w0", "w1", "w2")
    assert third.unstable == ("u",)
    assert third.low_confidence == ("r0",)
    again = [evaluation("w0", "bbb", run=3), evaluation("w1", "aaa", run=3), evaluation("w2", "ab-", run=3)]
    again += [evaluation("u", run=3), evaluation("r0", "bbb", run=3)]
    found = analyse([*rows, *again], JUDGES, repeats=2, third=third)
    assert (found["third.still_wrong"].value, found["third.still_wrong"].n) == (50, 2)
    assert "1 of its 5 evaluations came to no winner" in found["third.chosen"].why
    assert found["third.still_wrong_p"].value == 0.75
    assert (found["third.unstable"].value, found["third.lowconf"].value) == (100, 100)
    assert found["run1.n"].value == 8
    assert "run3.n" not in found


def test_a_judge_is_held_against_its_own_votes_and_a_panel_of_fewer_ties():
    rows = [evaluation("q1", "aab"), evaluation("q2", "ab-"), evaluation("q3", "bbb")]
    found = analyse(rows, JUDGES, repeats=1)
    assert (found["judge.owl"].value, found["judge.owl"].n) == (pytest.approx(200 / 3), 3)
    assert found["judge.wren"].n == 2
    assert "1 evaluations have no first choice" in found["judge.wren"].why
    panels = {tuple(one["judges"]): one for one in found["panels"].value}
    assert len(panels) == 7
    assert panels[("owl", "hawk")]["undecided"] == 1
    assert found["unanimity.unanimous"].n == 1
    assert found["unanimity.split"].n == 1
    assert "1 evaluations lack" in found["unanimity.split"].why


def test_random_panels_give_a_complete_report_without_numbers_for_nothing():
    for seed in range(8):
        rows = made(seed, items=random.Random(seed).randrange(1, 25), runs=1 + seed % 3)
        found = analyse(rows, JUDGES, repeats=max(one.run for one in rows), third=None)
        for entry in json.loads(to_json(found)).values():
            assert entry["value"] is not None or entry["why"]
        page = to_html(report_of(found, title="Panel", summary=("s",), provenance={}))
        assert " nan" not in table_to_text(terminal_table(found))
        assert "Concordance with humans" in page
