"""The test that a mean has not risen: an e-process, false alarms, delays, and the confidence sequence."""

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.monitor.change import ChangeTest, bets_on_errors, expected_delay, hold, precision_sequence


def test_by_hand_each_start_has_its_own_product_and_the_weights_sum_to_one():
    x, bet = np.array([0.5, -0.5, 0.5]), 0.4
    weights = (np.arange(200_000) + 30.0) ** -1.2
    total = weights.sum() + (200_030 - 0.5) ** -0.2 / 0.2
    weights = weights / total
    for n in (1, 2, 3):
        started = sum(weights[k] * np.prod(1 + bet * x[k:n]) for k in range(n))
        expected = started + 1 - weights[:n].sum()
        assert ChangeTest([bet]).extend(x)[n - 1] == pytest.approx(expected, rel=1e-6)


def test_taken_in_parts_it_is_the_same():
    x = np.random.default_rng(1).random((200, 3)) - 0.5
    whole = ChangeTest([0.2, 0.9], runs=3).extend(x)
    test = ChangeTest([0.2, 0.9], runs=3)
    assert np.concatenate([test.extend(part) for part in (x[:1], x[1:1], x[1:150], x[150:])]) == pytest.approx(whole)


def test_its_mean_stays_one_where_the_mean_is_zero():
    """Over all 2^6 sequences of fair steps, weighed by their probability: a martingale."""
    steps = np.array([[(code >> bit & 1) * 1.0 for code in range(64)] for bit in range(6)])
    values = ChangeTest([0.3, 0.8], runs=64).extend(np.where(steps > 0, 0.75, -0.25))
    probability = np.prod(np.where(steps > 0, 0.25, 0.75), axis=0)
    assert values @ probability == pytest.approx(np.ones(6))


def test_false_alarms_at_the_boundary_stay_below_delta():
    rng = np.random.default_rng(7)
    test = ChangeTest(bets_on_errors(0.9, 1), runs=300)
    alarms = np.zeros(300, dtype=bool)
    for _ in range(8):
        alarms |= (test.extend((rng.random((250, 300)) > 0.9) - 0.1) >= 10).any(axis=0)
    assert 0 < alarms.mean() < 0.1


@pytest.mark.parametrize(("good", "least", "most"), [(0, 80, 130), (500, 120, 185)])
def test_a_late_drop_costs_little_more_than_an_early_one(good, least, most):
    found = expected_delay(0.9, 0.8, 0.1, good=good)
    assert least < found < most


def test_delays_without_an_end_are_not_a_number():
    assert expected_delay(0.9, 0.899, 0.1, cap=500, runs=50) is None


def test_errors_of_one_question_are_one_observation():
    """Four judgments that fail together weigh as one question, not as four."""
    rng = np.random.default_rng(3)
    wrong = rng.random(400) > 0.85
    together = hold(4 * wrong, np.full(400, 4), target=0.9, delta=0.1, most=4)
    alone = hold(wrong, np.ones(400), target=0.9, delta=0.1)
    assert together.largest == pytest.approx(alone.largest)
    assert together.alarm == alone.alarm
    assert (together.precision.low, together.precision.high) == pytest.approx(
        (alone.precision.low, alone.precision.high), abs=0.03
    )


def test_what_waits_for_a_person_counts_as_right_and_never_raises_the_evidence():
    rng = np.random.default_rng(5)
    wrong = rng.random(300) > 0.75
    full = hold(wrong, np.ones(300), target=0.9, delta=0.1)
    for share in (0.2, 0.6):
        known = rng.random(300) < share
        part = hold(wrong & known, np.ones(300), known, target=0.9, delta=0.1)
        assert part.largest <= full.largest
        assert part.audits == known.sum()
        assert part.precision.estimate == pytest.approx(1 - wrong[known].mean())


def test_without_audits_nothing_is_known():
    found = hold([], [], target=0.9, delta=0.1)
    assert (found.audits, found.e_value, found.largest, found.alarm, found.precision) == (0, 1, 1, None, None)


@pytest.mark.parametrize(
    ("errors", "kept", "options", "words"),
    [
        ([1], [0], {}, "between 0 and the judgments kept"),
        ([0], [3], {"most": 2}, "may be 2 at most"),
        ([0], [1], {"target": 1.0}, "strictly between"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(errors, kept, options, words):
    with pytest.raises(InputError, match=words):
        hold(errors, kept, **{"target": 0.9, "delta": 0.1, **options})


def test_an_increment_that_loses_everything_is_refused():
    with pytest.raises(InputError, match="larger than declared"):
        ChangeTest([2.0]).extend([-0.5])


def test_the_confidence_sequence_covers_at_all_looks_and_narrows():
    rng = np.random.default_rng(11)
    misses = 0
    for _ in range(25):
        wrong = (rng.random(1_000) > 0.85).astype(float)
        looks = [precision_sequence(wrong[:n], np.ones(n)) for n in (5, 20, 60, 200, 1_000)]
        misses += any(not one.low <= 0.85 <= one.high for one in looks)
        assert looks[-1].high - looks[-1].low < 0.12
    assert misses <= 2
    few = precision_sequence([0, 0, 0], [1, 1, 1])
    assert few.estimate == few.high == 1
    assert few.low < 0.5


def test_the_confidence_sequence_by_hand():
    errors, kept, most = np.array([0, 1, 0, 2, 0] * 12), np.array([1, 2, 1, 3, 1] * 12), 3
    scales = np.geomspace(0.003, 0.75, 14)
    inside = []
    for p in np.linspace(0, 1, 2_001):
        total = spread = wrong = all_kept = 0.0
        for place, (e, k) in enumerate(zip(errors, kept, strict=True), 1):
            guess = ((wrong + 0.1) / place - (1 - p) * (all_kept + 1) / place) / most
            x = (e - (1 - p) * k) / most
            total, spread = total + x, spread + (x - guess) ** 2
            wrong, all_kept = wrong + e, all_kept + k
        bounds = [np.mean(np.exp(sign * scales * total - (-np.log(1 - scales) - scales) * spread)) for sign in (-1, 1)]
        if max(bounds) <= 2 / 0.05:
            inside.append(p)
    found = precision_sequence(errors, kept, most=most)
    assert found.estimate == pytest.approx(1 - errors.sum() / kept.sum())
    assert (found.low, found.high) == pytest.approx((inside[0], inside[-1]), abs=0.0011)


def test_the_last_e_value_alone_is_that_of_all():
    x = np.random.default_rng(0).uniform(-1, 1, 200)
    one, other = ChangeTest((-0.6, 0.3)), ChangeTest((-0.6, 0.3))
    for part in (x[:50], x[50:]):
        assert one.after(part) == pytest.approx(other.extend(part)[-1], rel=1e-12)
