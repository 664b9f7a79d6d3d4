"""Missing answers and early exit: one rule, checked against every completion."""

from itertools import product

import numpy as np
import pytest

from metajudge.scoring.formulas import decide_average, decide_majority, exceeds

GRID = (1.0, 3.0, 4.5, 4.6, 5.0)
T = 4.5


def average(scores, weights, valid=None, threshold=T):
    return decide_average(scores, threshold, weights, valid)


def majority(scores, _weights, valid=None, threshold=T):
    return decide_majority(scores, threshold, valid)


RULES = [pytest.param(average, id="average"), pytest.param(majority, id="majority")]
THRESHOLDS = [T, 5.0]
PANELS = [(1.0,), (1.0, 1.0), (0.7, 0.3), (1.0, 1.0, 1.0), (0.5, 0.3, 0.2)]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("weights", PANELS)
@pytest.mark.parametrize("rule", RULES)
def test_settled_means_that_no_completion_changes_the_decision(rule, weights, threshold):
    members = len(weights)
    for known in product((None, *GRID), repeat=members):
        valid = np.array([[value is not None for value in known]])
        values = np.array([[value or 0.0 for value in known]])
        decision = rule(values, weights, valid, threshold)
        outcomes = set()
        for completion in product(*[(value,) if value is not None else (1.0, 3.0, 4.5, 5.0) for value in known]):
            outcomes.add(bool(rule(np.array([completion]), weights, None, threshold).accepted[0]))
        if decision.settled[0]:
            assert outcomes == {bool(decision.accepted[0])}
        elif valid.any():
            assert outcomes == {True, False}, "the decision is certain, yet not called settled"


def test_bounds_hold_every_completion_and_a_rejection_without_a_quorum_has_no_score():
    decision = decide_majority([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 5.0, [[True, False, False], [False] * 3])
    assert decision.settled.tolist() == [True, False]  # without any answer there is no decision
    assert decision.final.tolist() == [1.0, None]
    assert [*(one[0] for one in decision.bounds), decision.status[0]] == [1.0, 1.0, "assessed"]
    decision = decide_average([[5.0, 0.0, 0.0]], T, [0.5, 0.3, 0.2], [[True, False, False]])
    assert [one[0] for one in decision.bounds] == pytest.approx([0.5 * 5 + 0.5 * 1, 5.0])
    assert decision.final.tolist() == [None]
    assert decision.accepted.tolist() == [None]
    decision = decide_average([[1.0, 0.0]], T, None, [[True, False]])
    assert decision.accepted.tolist() == [False]
    assert decision.final.tolist() == [None]
    assert [one[0] for one in decision.bounds] == [1.0, 3.0]
    assert decision.status.tolist() == ["assessed"]


def test_an_average_renormalised_over_a_majority_is_marked_and_never_contradicts_a_settled_one():
    decision = decide_average([[5.0, 4.8, 0.0]], T, None, [[True, True, False]])
    assert decision.status.tolist() == ["renormalised"]
    assert decision.accepted.tolist() == [True]
    assert decision.final[0] == pytest.approx(4.9)
    generator = np.random.default_rng(7)
    values = generator.choice(GRID, size=(4000, 3))
    valid = generator.random((4000, 3)) < 0.7
    decision = decide_average(np.where(valid, values, 0.0), T, [0.6, 0.25, 0.15], valid)
    both = decision.settled & ~decision.final.mask
    assert both.sum() > 500
    assert (exceeds(decision.final.data, T)[both] == decision.accepted.data[both]).all()


def test_one_decision_equals_a_million():
    generator = np.random.default_rng(11)
    values = generator.uniform(1, 5, size=(200, 3)).round(1)
    valid = generator.random((200, 3)) < 0.8
    for rule in (average, majority):
        together = rule(np.where(valid, values, 0.0), (0.2, 0.3, 0.5), valid)
        for i in range(len(values)):
            alone = rule(np.where(valid, values, 0.0)[i : i + 1], (0.2, 0.3, 0.5), valid[i : i + 1])
            assert alone.accepted.tolist() == together.accepted[i : i + 1].tolist()
            assert alone.final.round(9).tolist() == together.final[i : i + 1].round(9).tolist()
            assert alone.status[0] == together.status[i]
