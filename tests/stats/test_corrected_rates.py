"""Rates corrected for a judge's errors.

The reference values of prediction-powered inference were made with ppi-python 0.2.3 (``ppi_mean_pointestimate`` and
``ppi_mean_ci(alpha=.05)``) on the data of :func:`drawn`.
"""

import numpy as np
import pytest
from scipy.stats import norm

from metajudge.errors import InputError
from metajudge.stats.clustered import BOOTSTRAP, WILSON, WILSON_EFFECTIVE, clustered_proportion, counted_proportion
from metajudge.stats.corrected_rates import Confused, prediction_powered_mean, rogan_gladen
from metajudge.stats.intervals import wilson

REFERENCE = [
    (0, 50, 400, None, 0.48392539454806316, 0.3781726450084391, 0.5896781440876872),
    (0, 50, 400, 1.0, 0.46, 0.340892874164375, 0.579107125835625),
    (0, 50, 400, 0.0, 0.52, 0.38152053425541727, 0.6584794657445827),
    (1, 200, 1000, None, 0.5866033649177032, 0.5333628155531294, 0.6398439142822769),
    (1, 200, 1000, 1.0, 0.5800000000000001, 0.5174390671467872, 0.6425609328532129),
    (1, 200, 1000, 0.0, 0.595, 0.5269670837271851, 0.6630329162728148),
    (2, 120, 150, None, 0.5919429807532308, 0.5121321885615326, 0.671753772944929),
    (2, 120, 150, 1.0, 0.5733333333333334, 0.4581732097702828, 0.6884934568963839),
    (2, 120, 150, 0.0, 0.6, 0.5123477459423418, 0.6876522540576582),
]


def drawn(seed, labelled, unlabelled):
    rng = np.random.default_rng(seed)
    truth = (rng.random(labelled + unlabelled) < 0.6).astype(float)
    said = np.where(rng.random(labelled + unlabelled) < 0.8, truth, 1 - truth)
    return truth[:labelled], said[:labelled], said[labelled:]


@pytest.mark.parametrize(("seed", "labelled", "unlabelled", "weight", "estimate", "low", "high"), REFERENCE)
def test_equals_the_public_implementation(seed, labelled, unlabelled, weight, estimate, low, high):
    found = prediction_powered_mean(*drawn(seed, labelled, unlabelled), weight=weight)
    assert found.estimate == pytest.approx(estimate, abs=1e-12)
    # Theirs divides by n, ours has k / (k - 1) over labelled clusters for the whole sum.
    theirs = (high - low) / 2 / norm.ppf(0.975)
    assert found.error * np.sqrt((labelled - 1) / labelled) == pytest.approx(theirs, rel=1e-9)


def test_interval_stays_within_zero_and_one_and_near_the_normal_one():
    found = prediction_powered_mean(*drawn(1, 200, 1000))
    assert found.low == pytest.approx(0.5333628, abs=0.003)
    assert found.high == pytest.approx(0.6398439, abs=0.003)
    ends = prediction_powered_mean(np.ones(30), np.ones(30), np.ones(100))
    assert (ends.estimate, ends.high) == (1.0, 1.0)
    assert 0.8 < ends.low < 1


def test_without_other_items_it_is_the_labels_alone_and_a_useless_judge_gets_no_weight():
    truth, said, _ = drawn(0, 50, 400)
    found = prediction_powered_mean(truth, said, [])
    assert (found.estimate, found.weight) == (pytest.approx(truth.mean()), 0.0)
    rng = np.random.default_rng(4)
    truth = (rng.random(300) < 0.5).astype(float)
    found = prediction_powered_mean(truth, 1 - truth, rng.integers(0, 2, 1000).astype(float))
    assert found.weight == 0.0


def test_labels_of_one_question_are_not_independent():
    truth, said, rest = drawn(1, 200, 1000)
    apart = prediction_powered_mean(truth, said, rest)
    order = np.argsort(truth, kind="stable")
    clusters = np.concatenate((np.arange(200) // 10, 1000 + np.arange(1000)))
    together = prediction_powered_mean(truth[order], said[order], rest, clusters)
    assert together.error > 2 * apart.error
    assert together.clusters == 20


def test_rogan_gladen_by_hand_and_the_interval_by_lang_and_reiczigels_formula():
    found = rogan_gladen(0.6, 1000, Confused(100, 0.9, 100, 0.8))
    assert found.estimate == pytest.approx((0.6 + 0.8 - 1) / 0.7)
    assert found.low < found.estimate < found.high
    # p' = (n p + z^2/2) / (n + z^2), Se' = (n Se + 1) / (n + 2), Sp' likewise; section 2 of the paper
    z = norm.ppf(0.975)
    n, se, sp = 1000 + z**2, 91 / 102, 81 / 102
    p = (600 + z**2 / 2) / n
    centre = (p + sp - 1) / (se + sp - 1)
    shift = 2 * z**2 * (centre * se * (1 - se) / 102 - (1 - centre) * sp * (1 - sp) / 102)
    half = z * np.sqrt(p * (1 - p) / n + centre**2 * se * (1 - se) / 102 + (1 - centre) ** 2 * sp * (1 - sp) / 102)
    half /= se + sp - 1
    found = rogan_gladen(0.6, 1000, Confused(100, 0.9, 100, 0.8))
    assert (found.low, found.high) == pytest.approx((centre + shift - half, centre + shift + half))


def test_a_judge_without_errors_changes_nothing_and_one_that_tells_nothing_apart_gives_no_rate():
    assert rogan_gladen(0.3, 500, Confused(1e6, 1.0, 1e6, 1.0)).estimate == pytest.approx(0.3)
    assert rogan_gladen(0.6, 1000, Confused(100, 0.55, 100, 0.5)) is None
    assert rogan_gladen(0.6, 1000, Confused(0, 0.9, 100, 0.9)) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: prediction_powered_mean([1.0], [1.0], []),
        lambda: prediction_powered_mean([1.0, 0.0], [1.0], []),
        lambda: prediction_powered_mean([2.0, 0.0], [1.0, 0.0], []),
        lambda: prediction_powered_mean([1.0, 0.0], [1.0, 0.0], [1.0], [0, 1]),
        lambda: rogan_gladen(1.2, 10, Confused(10, 0.9, 10, 0.9)),
        lambda: clustered_proportion([], []),
        lambda: clustered_proportion([0.5], ["q"]),
        lambda: clustered_proportion([1, float("nan")], ["q", "r"]),
        lambda: clustered_proportion([1, 0], ["q"]),
        lambda: counted_proportion([], []),
    ],
)
def test_refuses_unfit_arguments(call):
    with pytest.raises(InputError):
        call()


# Proportions by cluster: never narrower than the clusters allow, and never certain of what was hardly seen.
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


def test_counts_and_clusters_alike_in_nothing_know_as_much_as_the_observations_in_any_order():
    success, names = draw(np.random.default_rng(8), 300, 0.7, 0.3)
    kinds, often = np.unique(
        [(success[names == n].sum(), (names == n).sum()) for n in range(300)], axis=0, return_counts=True
    )
    mixed = np.random.default_rng(1).permutation(len(kinds))
    assert counted_proportion(kinds[mixed], often[mixed]) == clustered_proportion(success, names)
    rng = np.random.default_rng(4)
    success, names = rng.random(4_000) < 0.7, np.repeat(np.arange(1_000), 4)
    assert clustered_proportion(success, names).effective_n > 3_500
    success, names = draw(np.random.default_rng(8), 120, 0.8, 0.5)
    order = np.random.default_rng(9).permutation(len(names))
    plain = clustered_proportion(success, names)
    assert clustered_proportion(success[order], names[order]) == plain
    assert clustered_proportion(success, [f"q{999 - name}" for name in names]) == plain


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
