from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from metajudge.errors import InputError
from metajudge.stats.bootstrap import (
    Ratio,
    SharedDraws,
    bootstrap_difference,
    bootstrap_differences,
    bootstrap_mean,
    bootstrap_ratio,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def test_with_many_clusters_it_equals_scipys_percentile_interval() -> None:
    values = rng().exponential(size=3000)
    found = bootstrap_mean(values, rng=rng())
    kinds = scipy_bootstrap((values,), np.mean, n_resamples=5_000, method="percentile", rng=rng()).confidence_interval
    assert (found.low, found.high) == pytest.approx((kinds.low, kinds.high), abs=0.003)
    assert found.clusters == found.n == 3000


@pytest.mark.parametrize("clusters", [8, 20])
def test_with_few_clusters_it_covers_the_mean_nearly_as_often_as_it_says(clusters: int) -> None:
    source = np.random.default_rng(9)
    drawn = [bootstrap_mean(source.normal(size=clusters), rng=source, resamples=400) for _ in range(500)]
    assert 0.91 <= np.mean([found.low <= 0 <= found.high for found in drawn]) <= 0.98


def test_neither_copies_nor_names_nor_the_order_of_clusters_change_the_interval() -> None:
    values = rng().random(60)
    once = bootstrap_mean(values, rng=rng())
    copied = bootstrap_mean(np.repeat(values, 5), np.repeat(np.arange(60), 5).tolist(), rng=rng())
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
    assert (copied.n, copied.clusters) == (300, 60)
    naive = bootstrap_mean(np.repeat(values, 5), rng=rng())
    assert naive.high - naive.low < 0.6 * (copied.high - copied.low)
    values, clusters = rng().random(40), [f"q{i // 2}" for i in range(40)]
    one = bootstrap_mean(values, clusters, rng=rng())
    other = bootstrap_mean(values, [f"another {name}" for name in clusters], rng=rng())
    assert (one.low, one.high) == (other.low, other.high)


def test_resamples_in_which_nothing_is_kept_are_left_out_and_differences_are_paired() -> None:
    found = bootstrap_ratio([1, 0, 0, 0], [1, 0, 0, 0], rng=rng(), resamples=1000)
    assert (found.low, found.high) == (1.0, 1.0)
    correct = rng().random(300) < 0.7
    ones = np.ones(300)
    same = bootstrap_difference(Ratio(correct, ones), Ratio(correct, ones), rng=rng())
    assert (same.low, same.estimate, same.high) == (0, 0, 0)
    kept = correct | (rng().random(300) < 0.5)
    found = bootstrap_difference(Ratio(correct & kept, kept), Ratio(correct, ones), rng=rng())
    assert found.estimate == pytest.approx(correct[kept].mean() - correct.mean())
    assert found.low > 0


def test_several_differences_together_are_those_made_alone() -> None:
    correct, clusters = rng().random(300) < 0.7, [f"question {at // 3}" for at in range(300)]
    kept = [np.random.default_rng(seed).random(300) < 0.5 for seed in range(3)]
    pairs = [(Ratio(correct & one, one), Ratio(correct, np.ones(300))) for one in kept]
    alone = [bootstrap_difference(*pair, clusters, rng=rng(), resamples=500) for pair in pairs]
    for most_bytes in (0, 1 << 20):  # drawn anew every time, and kept
        draws = SharedDraws(20, 500, most_bytes)
        assert bootstrap_differences(pairs, clusters, draws=draws) == alone
        assert bootstrap_differences(pairs[1:], clusters, draws=draws) == alone[1:]
        assert bootstrap_differences([], clusters, draws=draws) == []
    parts = (Ratio(rng().random(300), np.ones(300)), pairs[0][0])  # no whole numbers
    alone = bootstrap_difference(*parts, clusters, rng=rng(), resamples=500)
    assert bootstrap_differences([parts], clusters, draws=draws) == [alone]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_mean([], rng=rng()), "values is empty"),
        (lambda: bootstrap_mean([1.0, float("nan")], rng=rng()), r"values\[1\] is nan"),
        (lambda: bootstrap_mean([[1.0]], rng=rng()), "must be a vector"),
        (lambda: bootstrap_mean([1.0, 2.0], ["a"], rng=rng()), "clusters has 1 entries for 2"),
        (lambda: bootstrap_mean([1.0, 2.0], ["a", "a"], rng=rng()), "at least two clusters"),
        (
            lambda: bootstrap_difference(Ratio([1, 0], [1, 1]), Ratio([1, 1], [1, 1]), rng=rng(), confidence=1.0),
            "confidence",
        ),
        (lambda: bootstrap_mean([1.0, 2.0], rng=rng(), resamples=10), "at least 100"),
        (lambda: bootstrap_ratio([1, 1, 1], [1, 1], rng=rng()), "numerator has 3 values, denominator has 2"),
        (lambda: bootstrap_ratio([0, 0], [0, 0], rng=rng()), "nothing was kept"),
        (lambda: bootstrap_ratio([1, 1], [1, -1], rng=rng()), "negative"),
    ],
)
def test_bad_input_is_refused_with_specifics(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
