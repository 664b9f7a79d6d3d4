"""What prompts can say about candidates, and what they cannot."""

import numpy as np
import pytest

from metajudge.clashes.pareto import (
    FEWEST,
    CandidateFigures,
    Limits,
    Observed,
    choose,
    draws_of,
    front_by_prompts,
    lead_of,
)
from metajudge.errors import ConfigurationError

COSTS = (0.001, 0.002, 0.003, 0.004)


def observed(quality, costs=COSTS):
    """Prompts in rows, candidates a, b, ... in columns; dearer candidates are slower, too."""
    ones = np.ones_like(quality)
    cost = ones * np.array(costs[: quality.shape[1]])
    return Observed(tuple("abcdefgh"[: quality.shape[1]]), (quality, ones), (cost, ones), (1000 * cost, ones))


def figures(found):
    means = [sums.sum(axis=0) / counts.sum(axis=0) for sums, counts in (found.quality, found.cost, found.latency)]
    return [CandidateFigures(name, *(float(m[n]) for m in means)) for n, name in enumerate(found.names)]


def random_shares(rng, prompts, candidates=4):
    """Random judges: every order equally likely, as shares of Borda points."""
    return np.array([rng.permutation(candidates) / (candidates - 1) for _ in range(prompts)])


class TestFront:
    def test_random_judges_rarely_make_anybody_dominated(self):
        rng = np.random.default_rng(3)
        said = 0
        for seed in range(120):
            found = observed(random_shares(rng, 60))
            front = front_by_prompts(figures(found), draws_of(found, resamples=1000, seed=seed))
            said += any(one.standing == "dominated" for one in front)
        assert said <= 12  # 5 % of 120 are 6; 12 or more have a chance of .02

    def test_a_clearly_worse_and_dearer_one_is_dominated_and_few_prompts_decide_nothing(self):
        quality = np.tile([[1.0, 0.0]], (30, 1))
        quality[:2] = [0.0, 1.0]
        found = observed(quality)
        first, second = front_by_prompts(figures(found), draws_of(found))
        assert (first.standing, second.standing, second.dominated_by) == ("front", "dominated", ("a",))
        assert second.probability > 0.99
        found = observed(np.tile([[1.0, 0.0]], (FEWEST - 1, 1)))
        assert draws_of(found) is None
        assert {one.standing for one in front_by_prompts(figures(found), None)} == {"undecided"}


class TestBest:
    def test_probabilities_sum_to_one_and_equal_candidates_share(self):
        rng = np.random.default_rng(5)
        quality = random_shares(rng, 40)
        quality[:, 1] = quality[:, 0]
        best = draws_of(observed(quality)).best()
        assert sum(best.values()) == pytest.approx(1)
        assert best["a"] == pytest.approx(best["b"])


class TestLead:
    def test_how_many_more_prompts_follows_the_usual_formula(self):
        rng = np.random.default_rng(1)
        gaps = rng.choice([-1.0, 1.0], size=400, p=[0.47, 0.53])
        shares = {"a": {str(n): (1 + g) / 2 for n, g in enumerate(gaps)}, "b": {str(n): 0.5 for n in range(400)}}
        lead = lead_of(["a", "b"], shares)
        sd = float(np.std(gaps / 2, ddof=1))
        assert lead.needed == pytest.approx((2.8016 * sd / lead.difference.estimate) ** 2, abs=2)
        assert lead.detectable == pytest.approx(2.8016 * sd / 20, rel=1e-3)
        assert f"about {lead.needed - 400:,} more prompts are needed" in lead.sentence()

    def test_ahead_equal_and_too_few(self):
        def lead(one, two, n=20):
            return lead_of(["a", "b"], {"a": {str(i): one for i in range(n)}, "b": {str(i): two for i in range(n)}})

        assert lead(1.0, 0.0).ahead
        assert "is ahead of" in lead(1.0, 0.0).sentence()
        assert lead(0.5, 0.5).needed is None
        assert "the same mean" in lead(0.5, 0.5).sentence()
        assert lead(1.0, 0.0, n=FEWEST - 1) is None


class TestChoice:
    ROWS = (
        CandidateFigures("big", 0.80, 0.010, 3.0),
        CandidateFigures("mid", 0.79, 0.002, 1.0),
        CandidateFigures("tiny", 0.40, 0.001, 0.5),
        CandidateFigures("own", 0.90, None, 1.0),
    )

    def test_the_cheapest_near_the_best_within_the_limits_or_both_of_equal_costs(self):
        found = choose(self.ROWS, Limits())
        assert (found.chosen, found.best) == (("mid",), "big")
        assert found.excluded == {"own": "its cost is not known"}
        assert choose(self.ROWS, Limits(within=0.5)).chosen == ("big",)
        assert choose(self.ROWS, Limits(cost_usd=0.0015)).chosen == ("tiny",)
        slow = choose(self.ROWS, Limits(latency_s=0.1))
        assert slow.chosen == ()
        assert "no candidate is eligible" in slow.sentence()
        assert "big: 3 s an answer" in slow.sentence()
        rows = (CandidateFigures("a", 0.5, 0.001, 1.0), CandidateFigures("b", 0.5, 0.001, 1.0))
        assert choose(rows, Limits()).chosen == ("a", "b")
        found = observed(np.tile([[0.0, 1.0]], (30, 1)))
        choice = choose(figures(found), Limits(), draws_of(found))
        assert (choice.chosen, choice.probability) == (("b",), 1.0)

    @pytest.mark.parametrize("wrong", [{"cost_usd": 0}, {"latency_s": -1}, {"within": 101}])
    def test_limits_that_make_no_sense(self, wrong):
        with pytest.raises(ConfigurationError):
            Limits(**wrong)
