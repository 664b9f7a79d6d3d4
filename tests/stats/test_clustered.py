"""Proportions by cluster: never narrower than the clusters allow, and never certain of what was hardly seen."""

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.stats.clustered import BOOTSTRAP, WILSON, WILSON_EFFECTIVE, clustered_proportion, counted_proportion
from metajudge.stats.intervals import wilson

SIZES = (1, 2, 2, 4, 6, 8, 12)


def draw(rng, clusters, share, alike):
    """Clusters of unequal sizes with beta-binomial successes; ``alike`` is their intraclass correlation."""
    sizes = rng.choice(SIZES, size=clusters)
    right = rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, size=clusters)
    return rng.random(sizes.sum()) < np.repeat(right, sizes), np.repeat(np.arange(clusters), sizes)


@pytest.mark.parametrize("clusters", [1, 2, 4, 10, 60, 500])
@pytest.mark.parametrize("size", [1, 2, 12])
def test_perfect_agreement_is_never_certainty(clusters, size):
    names = np.repeat(np.arange(clusters), size)
    found = clustered_proportion(np.ones(len(names)), names)
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(wilson(clusters, clusters).low)  # as many observations as clusters, no more
    none = clustered_proportion(np.zeros(len(names)), names)
    assert (none.low, none.high) == (0.0, pytest.approx(1 - found.low))


def test_where_every_cluster_has_one_observation_it_is_wilsons():
    success = np.arange(60) % 3 > 0
    found, expected = clustered_proportion(success, np.arange(60)), wilson(40, 60)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert (found.method, found.effective_n) == (WILSON, 60)


@pytest.mark.parametrize(("clusters", "method"), [(20, WILSON_EFFECTIVE), (200, BOOTSTRAP)])
def test_copies_of_every_observation_do_not_narrow_the_interval(clusters, method):
    """Eight judges that say the same of a question know no more of it than one."""
    success, names = np.arange(clusters) % 4 > 0, np.arange(clusters)
    once = clustered_proportion(np.repeat(success, 2), np.repeat(names, 2))
    often = clustered_proportion(np.repeat(success, 8), np.repeat(names, 8))
    assert (once.method, often.n, often.clusters) == (method, 8 * clusters, clusters)
    assert (often.low, often.high) == (pytest.approx(once.low), pytest.approx(once.high))
    assert often.effective_n <= clusters


def test_counts_of_clusters_know_as_much_as_the_observations():
    success, names = draw(np.random.default_rng(8), 300, 0.7, 0.3)
    kinds, often = np.unique(
        [(success[names == n].sum(), (names == n).sum()) for n in range(300)], axis=0, return_counts=True
    )
    mixed = np.random.default_rng(1).permutation(len(kinds))
    assert counted_proportion(kinds[mixed], often[mixed]) == clustered_proportion(success, names)
    with pytest.raises(InputError, match="at least one"):
        counted_proportion([], [])


def test_observations_that_are_alike_in_nothing_count_in_full():
    rng = np.random.default_rng(4)
    success, names = rng.random(4_000) < 0.7, np.repeat(np.arange(1_000), 4)
    assert clustered_proportion(success, names).effective_n > 3_500


def test_neither_order_nor_names_of_clusters_change_anything():
    success, names = draw(np.random.default_rng(8), 120, 0.8, 0.5)
    order = np.random.default_rng(9).permutation(len(names))
    plain = clustered_proportion(success, names)
    assert clustered_proportion(success[order], names[order]) == plain
    assert clustered_proportion(success, [f"q{999 - name}" for name in names]) == plain


@pytest.mark.parametrize(
    ("success", "clusters"), [([], []), ([0.5], ["q"]), ([1, float("nan")], ["q", "r"]), ([1, 0], ["q"])]
)
def test_what_is_no_proportion_is_refused(success, clusters):
    with pytest.raises(InputError):
        clustered_proportion(success, clusters)


def covered(clusters, share, alike, repetitions):
    rng, inside, naive = np.random.default_rng([clusters, int(100 * share), int(100 * alike)]), 0, 0
    for _ in range(repetitions):
        success, names = draw(rng, clusters, share, alike)
        found, independent = clustered_proportion(success, names), wilson(int(success.sum()), len(success))
        inside += found.low <= share <= found.high
        naive += independent.low <= share <= independent.high
    return inside / repetitions, naive / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [20, 136])
@pytest.mark.parametrize("share", [0.9, 0.97])
@pytest.mark.parametrize("alike", [0.1, 0.9])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(clusters, share, alike):
    found, _ = covered(clusters, share, alike, 150)
    assert found >= 0.90


def test_few_questions_with_few_errors_are_covered_where_a_plain_bootstrap_covers_half():
    """20 questions at .97: the percentile interval covers the truth in about half of the draws."""
    found, naive = covered(20, 0.97, 0.9, 150)
    assert found >= 0.92
    assert naive < 0.85
