"""Metrics against people's decisions: denominators, absence, weights."""

import pytest

from metajudge.feedback.metrics import metrics, metrics_by
from metajudge.stats.intervals import wilson
from tests.doubles.decided_cases import case

CASES = [
    *[case(f"a{i}", "APPROVE", right=i != 0) for i in range(20)],  # 1 of 20 wrongly approved
    *[case(f"r{i}", "REJECT", right=i < 2) for i in range(10)],  # 2 of 10 wrongly rejected
    *[case(f"v{i}", "REVIEW", right=i < 1) for i in range(4)],  # 3 of 4 reviews were needed
    *[case(f"p{i}", "REVIEW_PRIORITY", right=False) for i in range(2)],
]


def test_every_rate_has_its_own_denominator():
    found = metrics(CASES)
    assert (found["false_approve_rate"].value, found["false_approve_rate"].n) == (1 / 20, 20)
    assert (found["false_reject_rate"].value, found["false_reject_rate"].n) == (2 / 10, 10)
    assert (found["review_efficiency"].value, found["review_efficiency"].n) == (5 / 6, 6)
    assert (found["accuracy"].value, found["accuracy"].n) == ((19 + 8 + 5) / 36, 36)
    interval = wilson(1, 20)
    assert (found["false_approve_rate"].low, found["false_approve_rate"].high) == (interval.low, interval.high)
    assert (found["false_approve_rate"].met, found["false_reject_rate"].met) == (True, False)


def test_no_data_is_absent_and_not_perfect():
    for one in metrics([]).values():
        assert (one.value, one.low, one.high, one.n, one.met) == (None, None, None, 0, None)
    assert metrics([case(action="APPROVE")])["false_reject_rate"].value is None


def test_what_people_cannot_tell_counts_nowhere():
    found = metrics([*CASES, case("x", "APPROVE", right=None), case("y", "REVIEW", right=None)])
    assert found == metrics(CASES)


def test_true_labels_measure_reliability_apart_from_people():
    cases = [case("a", "APPROVE", right=True, truth=False), case("b", "REJECT", right=True, truth=False)]
    assert metrics(cases)["ground_truth_reliability"].value == 0.5
    assert metrics(CASES)["ground_truth_reliability"].value is None


def test_an_audited_share_counts_with_the_inverse_of_its_probability():
    cases = [
        *[case(f"a{i}", "APPROVE", right=i > 0, inclusion=0.1) for i in range(10)],
        *[case(f"v{i}", "REVIEW", right=False) for i in range(100)],
    ]
    found = metrics(cases)["accuracy"]
    assert found.value == pytest.approx((9 * 10 + 100) / (10 * 10 + 100))
    assert "inverse" in found.method
    assert found.low < found.value < found.high


def test_repeated_questions_are_resampled_together():
    apart = metrics([case(f"a{i}", right=i % 4 > 0) for i in range(80)])["false_approve_rate"]
    together = metrics([case(f"a{i}", right=i % 4 > 0, question=f"q{i % 4}") for i in range(80)])["false_approve_rate"]
    assert apart.value == together.value
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_groups():
    found = metrics_by([case("a", judge="owl"), case("b", judge="wren", right=False), case("c")], lambda one: one.judge)
    assert {name: one["false_approve_rate"].value for name, one in found.items()} == {"owl": 0.0, "wren": 1.0}


def test_no_error_among_a_few_audited_approvals_is_not_certainty():
    cases = [case(f"a{i}", "APPROVE", right=True, inclusion=0.5 if i % 2 else 0.1) for i in range(12)]
    found = metrics(cases)["false_approve_rate"]
    assert found.value == 0.0
    assert found.high > 0.2
    repeated = metrics([case(f"a{i}", "APPROVE", right=True, question=f"q{i % 3}") for i in range(60)])
    assert repeated["false_approve_rate"].high > 0.5, "three questions, however often they are asked"
