"""Findings: figures, correlations, what they say, and domains."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import kendalltau, pearsonr, rankdata

from metajudge.peers import Options, analyse
from metajudge.peers.figures import (
    CONSTANT,
    CONSTANT_REFERENCE,
    REASONS,
    TOO_FEW,
    Figure,
    Resamples,
    correlate,
    distribution,
)
from metajudge.peers.protocol import ALIASES, DOMAINS, criteria_for
from tests.peers.elections import HUMAN, ballot, ballots, quick, standing


def test_resampled_medians_and_means_equal_those_computed_one_by_one():
    rng = np.random.default_rng(0)
    values, defined = rng.normal(size=17), rng.random(17) < 0.7
    resamples = Resamples(17, 300, np.random.default_rng(1))
    medians, some = resamples.medians(values, defined)
    means, _ = resamples.means(values, defined)
    for drawn, median, mean, there in zip(resamples.drawn, medians, means, some, strict=True):
        kept = values[drawn][defined[drawn]]
        assert there == bool(len(kept))
        assert median == pytest.approx(np.median(kept))
        assert mean == pytest.approx(kept.mean())


def test_means_of_several_models_are_resampled_together_and_without_a_value_absent_with_the_reason():
    rng = np.random.default_rng(0)
    values, defined = rng.normal(size=(9, 3)), rng.random((9, 3)) < 0.8
    resamples = Resamples(9, 100, np.random.default_rng(1))
    means, some = resamples.means(values, defined)
    for k in range(3):
        alone, there = resamples.means(values[:, k], defined[:, k])
        assert np.allclose(means[:, k], alone)
        assert np.array_equal(some[:, k], there)
    found = distribution(np.zeros(3), np.zeros(3, bool), {"constant": 2, "few": 1}, None)
    assert found.median.absent == "constant"
    assert found.undefined == {"constant": 2, "few": 1}
    assert found.n == 0


@pytest.mark.parametrize("wrong", [{}, {"value": 1.0, "absent": "why"}, {"value": float("nan")}])
def test_a_figure_is_a_number_or_a_reason(wrong):
    with pytest.raises(ValidationError):
        Figure(**wrong)


def test_the_interval_of_a_median_covers_it_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        values = rng.normal(size=40)
        resamples = Resamples(40, 200, rng)
        low, high = resamples.interval(*resamples.medians(values, np.ones(40, bool)))
        covered += low <= 0 <= high
    assert 0.90 <= covered / 300 <= 0.99


# Correlations of places equal scipy's, and what is undefined has a reason and no number.
def random_places(rng, count, size):
    return np.array([rankdata(rng.integers(0, size, size)) for _ in range(count)], dtype=float)


@pytest.mark.parametrize("size", [2, 3, 6, 11])
def test_equal_to_scipy_with_ties_and_missing_models(size):
    rng = np.random.default_rng(size)
    places, references = random_places(rng, 200, size), random_places(rng, 200, size)
    there, known = rng.random((200, size)) < 0.8, rng.random((200, size)) < 0.8
    checked = 0
    for measure, expected in (("pearson", pearsonr), ("kendall", kendalltau)):
        found = correlate(places, there, references, measure, known)
        for n in range(200):
            both = there[n] & known[n]
            x, y = places[n][both], references[n][both]
            undefined = len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0
            assert found.defined[n] == (not undefined)
            if not undefined:
                assert found.values[n] == pytest.approx(expected(x, y).statistic, abs=1e-12)
                checked += 1
    assert checked > 30


def test_a_constant_ranking_has_no_correlation_and_float_noise_makes_no_order_out_of_a_tie():
    places = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    there = np.array([[True] * 3, [True] * 3, [True, False, False]])
    for measure in ("pearson", "kendall"):
        found = correlate(places, there, np.array([1.0, 2.0, 3.0]), measure)
        assert found.states.tolist() == [CONSTANT, 0, TOO_FEW]
        assert found.why() == {REASONS[CONSTANT]: 1, REASONS[TOO_FEW]: 1}
        flat = correlate(places[1:2], there[1:2], np.array([2.0, 2.0, 2.0]), measure)
        assert flat.states.tolist() == [CONSTANT_REFERENCE]
    noisy = np.array([[1.5, 1.5 + 1e-13, 3.0]])
    found = correlate(noisy, np.ones((1, 3), bool), np.array([1.0, 2.0, 3.0]), "kendall")
    assert found.values[0] == pytest.approx(kendalltau([1.5, 1.5, 3], [1, 2, 3]).statistic)


# All findings together: neutrality, degenerate cases, cautions.
class TestFigures:
    def test_self_places_peer_places_and_their_difference(self):
        given = [ballot(name, ["b", "a", "c"], "q2") for name in "abc"]
        given += [ballot("a", ["a", "b", "c"]), ballot("b", ["c", "a", "b"]), ballot("c", ["c", ["a", "b"]])]
        one = standing(quick(given), "a")
        assert one.se.value == pytest.approx((1 + 2) / 2)
        assert one.pe.value == pytest.approx(((2 + 2.5) / 2 + 2) / 2)
        assert one.se_less_pe.value == pytest.approx(one.se.value - one.pe.value)
        assert one.sie.value == pytest.approx(2)
        assert one.sfe.value == pytest.approx(2)

    def test_the_order_of_ballots_changes_no_finding_and_the_seed_decides_every_interval(self):
        given = ballots(8, phi=0.7, seed=3)
        by_evaluator = sorted(given, key=lambda one: one.evaluator)
        options = Options(resamples=100)
        backwards = given[::-1]  # the questions too, over which intervals are resampled
        assert analyse(given, options, [HUMAN]) == analyse(by_evaluator, options, [HUMAN])
        assert analyse(given, options, [HUMAN]) == analyse(backwards, options, [HUMAN])
        given = ballots(12, phi=0.7, seed=3)
        one, same, other = (analyse(given, Options(seed=seed, resamples=100), [HUMAN]) for seed in (1, 1, 2))
        assert one == same
        assert one.standings != other.standings

    def test_domains_are_figured_apart_and_only_where_there_are_several(self):
        given = [
            one.model_copy(update={"domain": "math" if one.question_id < "q4" else "code"})
            for one in ballots(8, phi=0.6)
        ]
        found = quick(given, HUMAN)
        assert [(one.domain, one.questions) for one in found.domains] == [("code", 4), ("math", 4)]
        alone = quick([one for one in given if one.domain == "math"], HUMAN)
        assert alone.domains == ()
        math = found.domains[1]
        assert math.places["ant"].value == standing(alone, "ant").sie.value
        assert math.references[0].rows[0].micro == alone.references[0].rows[0].micro


class TestDomains:
    @pytest.mark.parametrize(
        ("given", "name"), [("Creative Writing", "writing"), ("IFEval", "instruction"), ("MATH", "math")]
    )
    def test_other_names(self, given, name):
        assert criteria_for(given) == (name, DOMAINS[name])

    @pytest.mark.parametrize("given", [None, "astrology", ""])
    def test_no_criteria_for_no_domain_or_another_one(self, given):
        assert criteria_for(given) == (None, ())

    def test_every_alias_leads_somewhere_and_weights_sum_to_one(self):
        assert set(ALIASES.values()) <= set(DOMAINS)
        for criteria in DOMAINS.values():
            assert sum(one.weight for one in criteria) == pytest.approx(1)
