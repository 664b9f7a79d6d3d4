"""Associations, panels and components of variance."""

import math

import numpy as np
import pytest
from scipy.stats import linregress, ttest_1samp

from metajudge.errors import InputError
from metajudge.stats.association import associate, mean_of, score_interval, share_of
from metajudge.stats.intervals import wilson
from metajudge.stats.panels import MOST_JUDGES, Unity, majority, panel_ablation, panel_result, unity
from metajudge.stats.stability import split_variance

RNG = np.random.default_rng(5)


def test_two_groups_are_a_difference_of_means_and_a_slope_is_that_of_least_squares():
    outcome, exposure = RNG.random(60), (np.arange(60) % 3 == 0).astype(float)
    found = associate(outcome, exposure, range(60))
    assert found.estimate == pytest.approx(outcome[exposure == 1].mean() - outcome[exposure == 0].mean())
    x = RNG.random(80)
    y = 2 * x + RNG.normal(0, 0.1, 80)
    assert associate(y, x, range(80)).estimate == pytest.approx(linregress(x, y).slope)


def test_strata_take_out_what_differs_between_them_and_leave_nothing_where_all_does():
    strata = np.arange(200) % 4
    x = RNG.random(200) + strata
    y = 0.5 * x - 3 * strata
    assert associate(y, x, range(200), strata).estimate == pytest.approx(0.5)
    assert associate(y, x, range(200)).estimate < 0
    assert associate([0, 1, 0, 1], [0, 0, 1, 1], range(4), [0, 0, 1, 1]) is None


def test_a_mean_is_the_t_test_of_cluster_means_whatever_is_repeated():
    values = RNG.random(40)
    found = mean_of(values, range(40))
    expected = ttest_1samp(values, 0.4)
    assert found.p_value(0.4) == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    values, clusters = RNG.integers(0, 2, 30).astype(float), np.arange(30)
    once, five = mean_of(values, clusters), mean_of(np.repeat(values, 5), np.repeat(clusters, 5))
    assert five.error == pytest.approx(once.error)
    assert five.df == pytest.approx(once.df)


def test_an_exposure_of_few_questions_is_not_usable():
    exposure = np.zeros(300)
    exposure[:3] = 1
    found = associate(RNG.random(300), exposure, range(300))
    assert not found.usable
    assert found.df < 4
    assert associate(RNG.random(300), np.arange(300) % 2, range(300)).usable


def test_level_is_kept_with_clusters_and_rare_exposure_and_p_values_are_one_sided_if_asked():
    hits = []
    for _ in range(400):
        effect = np.repeat(RNG.normal(0, 1, 40), 5)
        exposure = np.repeat((RNG.random(40) < 0.25).astype(float), 5)
        found = associate(effect + RNG.normal(0, 1, 200), exposure, np.repeat(np.arange(40), 5))
        hits.append(found is not None and found.usable and found.p_value() <= 0.05)
    assert np.mean(hits) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5
    found = mean_of([1.0, 1.2, 0.8, 1.1, 0.9], range(5))
    assert found.p_value(0.5, sides=1) < 0.01
    assert found.p_value(1.5, sides=1) > 0.99


def test_a_share_equals_wilson_for_many_independent_observations_and_keeps_a_width_at_its_ends():
    values = (np.arange(4000) % 5 == 0).astype(float)
    found, expected = share_of(values, range(4000)), wilson(800, 4000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=2e-4)
    found = share_of(np.ones(20), range(20))
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert 0.75 < found.low < 0.9
    clustered = share_of(np.ones(20), np.arange(20) // 10)
    assert clustered.low < found.low


def test_a_share_covers_and_one_question_knows_nothing_of_its_variance():
    inside = []
    for _ in range(400):
        chance = np.repeat(RNG.beta(8, 2, 40), 3)
        found = share_of((RNG.random(120) < chance).astype(float), np.repeat(np.arange(40), 3))
        inside.append(found.low <= 0.8 <= found.high)
    assert np.mean(inside) >= 0.93
    assert score_interval(0.5, float("inf"), 1.0, 1.0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("votes", "size", "winner", "kind"),
    [
        ("AAA", 3, "A", Unity.UNANIMOUS),
        ("AAB", 3, "A", Unity.SPLIT),
        ("AA", 3, "A", Unity.INCOMPLETE),
        ("AB", 3, None, Unity.INCOMPLETE),
        ("A", 3, None, Unity.INCOMPLETE),
        ("AB", 2, None, Unity.SPLIT),
        ("ABC", 3, None, Unity.SPLIT),
        ("", 3, None, Unity.INCOMPLETE),
    ],
)
def test_a_majority_is_of_the_configured_panel_and_a_lost_judge_no_unanimity(votes, size, winner, kind):
    assert majority(list(votes), size) == winner
    assert unity(list(votes), size) is kind


def test_ablation_counts_every_panel_without_ties():
    votes = [{"x": "A", "y": "A", "z": "B"}, {"x": "B", "y": "A", "z": "B"}, {"x": "A", "y": None}]
    found = {result.judges: result for result in panel_ablation(votes, ["A", "A", "A"], ["x", "y", "z"])}
    assert len(found) == 7
    assert (found[("x",)].right, found[("x",)].wrong, found[("x",)].undecided) == (2, 1, 0)
    pair = found[("x", "y")]
    assert (pair.right, pair.wrong, pair.undecided, pair.n) == (1, 0, 2, 3)
    assert pair.concordance is not None
    assert pair.concordance.estimate == 1
    assert pair.of_all.estimate == pytest.approx(1 / 3)
    whole = found[("x", "y", "z")]
    assert (whole.right, whole.wrong, whole.undecided) == (1, 1, 1)


def test_a_panel_without_votes_and_components_by_hand():
    found = panel_result([{"x": "A"}], ["A"], ["ghost"])
    assert (found.concordance, found.undecided) == (None, 1)
    # cycles (0, 2), (4, 6): within ss 4 on 2 df, ms 2; between ss 2 (1-3)^2 + 2 (5-3)^2 = 16 on 1 df; (16 - 2) / 2 = 7
    found = split_variance({"p": [[0, 2], [4, 6]]})
    assert (found.judgment, found.generation) == pytest.approx((2, 7))
    assert found.generation_share == pytest.approx(7 / 9)
    assert found.n == 4


def test_components_are_recovered_from_unequal_cycles() -> None:
    rng = np.random.default_rng(5)
    values = {
        str(p): [(p + c + rng.normal(0, 1, rng.integers(1, 5))).tolist() for c in rng.normal(0, 2, 4)]
        for p in range(600)
    }
    found = split_variance(values)
    assert found.generation == pytest.approx(4, rel=0.1)
    assert found.judgment == pytest.approx(1, rel=0.1)


def test_one_judgment_a_cycle_cannot_be_split_and_no_variance_has_no_share() -> None:
    found = split_variance({"p": [[0], [1], [0]]})
    assert (found.generation, found.judgment, found.generation_share) == (None, None, None)
    assert "no cycle was judged twice" in found.reason
    alone = split_variance({"p": [[0, 1]]})
    assert alone.judgment == pytest.approx(0.5)
    assert alone.generation is None
    assert "two cycles" in alone.reason
    constant = split_variance({"p": [[1, 1], [1, 1]]})
    assert (constant.generation, constant.judgment, constant.generation_share) == (0, 0, None)
    assert constant.reason
    assert split_variance({"p": [[0, 1], [0, 1]]}).generation == 0
    assert split_variance({}).reason


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: associate([], [], []), "match one to one"),
        (lambda: mean_of([1.0], [0, 1]), "match one to one"),
        (lambda: share_of([2.0, 1.0], [0, 1]), "use mean_of"),
        (lambda: majority("AAAB", 3), "4 votes of a panel of 3"),
        (lambda: panel_result([{}], [], ["x"]), "1 evaluations, 0 human choices"),
        (lambda: panel_ablation([{}], ["A"], [str(n) for n in range(MOST_JUDGES + 1)]), "at most 12"),
        (lambda: split_variance({"p": [[math.nan, 1]]}), "prompt p"),
    ],
)
def test_refuses_unfit_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
