"""Which judgments to label, with known probabilities, and the precision estimated from them."""

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.monitor.drift import Decision
from metajudge.monitor.sampling import Purpose, pick, precision_estimate
from metajudge.stats.corrected_rates import prediction_powered_mean


def candidates(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Decision(
            f"j{k}", f"content{seed}-{k}", "ab"[k % 2], "math", "?", 0.0, kept=bool(p >= 0.7), probability=float(p)
        )
        for k, p in enumerate(rng.random(n))
    ]


@pytest.mark.parametrize("purpose", Purpose)
def test_the_expected_number_is_the_budget_and_the_draw_depends_on_content_alone(purpose):
    given = candidates()
    numbers = [len(pick(given, purpose, 40, at_least=0.5, seed=seed)) for seed in range(60)]
    assert np.mean(numbers) == pytest.approx(40, abs=3)
    first = pick(given, purpose, 40, at_least=0.5)
    assert pick(given[::-1], purpose, 40, at_least=0.5) == first
    assert all(0 < one.inclusion <= 1 for one in first)


def test_each_purpose_draws_what_it_gains_from():
    given = candidates()
    certify = pick(given, Purpose.CERTIFY, 60, at_least=0.5)
    assert len({one.inclusion for one in certify}) == 1
    assert all(one.candidate.probability >= 0.5 for one in certify)
    drift = pick(given, Purpose.DRIFT, 60)
    assert all(one.candidate.kept for one in drift)
    by_probability = sorted(drift, key=lambda one: one.candidate.probability)
    assert by_probability[0].inclusion > by_probability[-1].inclusion
    refit = pick(given, Purpose.REFIT, 60, labelled=[("a", "math")] * 99)
    assert sum(one.candidate.judge == "b" for one in refit) > 0.7 * len(refit)


def test_a_large_budget_draws_everything_and_none_is_refused():
    given = candidates(5)
    assert [one.inclusion for one in pick(given, Purpose.REFIT, 50)] == [1.0] * 5
    assert pick([], Purpose.REFIT, 5) == []
    with pytest.raises(InputError, match="at least 1"):
        pick(given, Purpose.REFIT, 0)


def test_unequal_draws_do_not_bias_the_estimate():
    """The likelier wrong ones are drawn more often: unweighted, the precision would come out far too low."""
    rng = np.random.default_rng(2)
    found, naive, hits = [], [], 0
    for _ in range(150):
        p = rng.beta(8, 2, 600)
        right = (rng.random(600) < p).astype(float)
        chance = np.clip(0.02 + 0.6 * (1 - p), 0, 1)
        drawn = rng.random(600) < chance
        order = [str(one) for one in (*np.flatnonzero(drawn), *np.flatnonzero(~drawn))]
        one = precision_estimate(right[drawn], p[drawn], chance[drawn], p[~drawn], order)
        found.append(one.estimate)
        naive.append(right[drawn].mean())
        hits += one.low <= 0.8 <= one.high
    assert np.mean(found) == pytest.approx(0.8, abs=0.01)
    assert np.mean(naive) < 0.74
    assert hits >= 134  # 95 % of 150, less 3.2 standard errors


def test_with_equal_chances_it_is_the_prediction_powered_mean():
    rng = np.random.default_rng(4)
    p = rng.random(500)
    right = (rng.random(500) < p).astype(float)
    mine = precision_estimate(right[:100], p[:100], np.full(100, 0.2), p[100:], [str(one) for one in range(500)])
    known = prediction_powered_mean(right[:100], p[:100], p[100:])
    assert mine.estimate == pytest.approx(known.estimate, abs=0.005)
    assert (mine.low, mine.high) == pytest.approx((known.low, known.high), abs=0.01)


def test_judgments_of_one_question_widen_the_interval():
    rng = np.random.default_rng(6)
    right = np.repeat((rng.random(50) < 0.8).astype(float), 4)
    given = (right, np.full(200, 0.8), np.full(200, 0.5), np.full(100, 0.8))
    own = [f"rest{one}" for one in range(100)]
    alone = precision_estimate(*given, [*map(str, range(200)), *own])
    together = precision_estimate(*given, [*(str(one // 4) for one in range(200)), *own])
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    assert together.clusters == 50


@pytest.mark.parametrize("inclusion", [[0.5, 0.0], [0.5]])
def test_impossible_inclusion_probabilities_are_refused(inclusion):
    with pytest.raises(InputError):
        precision_estimate([1, 0], [0.5, 0.5], inclusion, [], ["a", "b"])
