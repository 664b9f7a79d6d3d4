"""The same answers as pref_voting and crowd-kit (recorded), choix and evalica (where installed)."""

import json
from pathlib import Path

import numpy as np
import pytest

from metajudge import voting
from tests.voting import oracles

RECORDED = json.loads((Path(__file__).parent / "oracles.json").read_text("utf-8"))
RULES = ("borda", "copeland", "schulze", "ranked_pairs", "plurality")


@pytest.mark.parametrize("kind", ["strict", "tied"])
@pytest.mark.parametrize("rule", RULES)
def test_winners_are_pref_votings(rule, kind):
    compared = 0
    for seed, recorded in enumerate(RECORDED["pref_voting"][kind]):
        if rule not in recorded["winners"]:
            continue
        size, ballots, weights = getattr(oracles, f"{kind}_profile")(seed)
        found = getattr(voting, rule)(ballots, candidates=range(size), weights=weights)
        assert sorted(found.winners) == recorded["winners"][rule], seed
        compared += 1
    assert compared > 80 or (rule, kind) == ("plurality", "tied")


def test_all_kemeny_rankings_are_pref_votings():
    for seed, recorded in enumerate(RECORDED["pref_voting"]["strict"]):
        size, ballots, weights = oracles.strict_profile(seed)
        found = voting.kemeny(ballots, candidates=range(size), weights=weights)
        assert sorted(map(list, found.optima)) == recorded["winners"]["kemeny"], seed
        assert found.cost == recorded["distance"], seed


@pytest.mark.parametrize("model", ["full", "one_coin"])
@pytest.mark.parametrize("number", range(len(oracles.CROWDS)))
def test_dawid_skene_posteriors_are_crowd_kits(model, number):
    """Step by step: with full matrices crowd-kit may stop a little early, as clipping makes its bound fall."""
    recorded = RECORDED["crowd_kit"]["posteriors"][number][model]
    # Ours takes a first step before it counts.
    found = voting.dawid_skene(*oracles.crowd(number), model=model, iterations=recorded["steps"] - 1, tolerance=0.0)
    order = np.argsort(found.classes)
    for item, row in zip(found.items, found.posterior[:, order], strict=True):
        assert row.tolist() == pytest.approx(recorded["posterior"][item], abs=2e-6), item
    settled = voting.dawid_skene(*oracles.crowd(number), model=model, iterations=2000)
    assert settled.converged
    assert settled.log_likelihood >= found.log_likelihood - 1e-3


def votes(seed, size, count, ties=0.0):
    source = np.random.default_rng(seed)
    strengths = source.normal(size=size)
    first = source.integers(0, size, count)
    second = (first + source.integers(1, size, count)) % size
    outcome = np.where(source.random(count) < 1 / (1 + np.exp(strengths[second] - strengths[first])), 1, -1)
    outcome[source.random(count) < ties] = 0
    return first, second, outcome


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_is_choix(seed):
    choix = pytest.importorskip("choix", reason="choix is not installed")
    first, second, outcome = votes(seed, 7, 600)
    won = [(int(a), int(b)) if o == 1 else (int(b), int(a)) for a, b, o in zip(first, second, outcome, strict=True)]
    expected = choix.ilsr_pairwise(7, won, alpha=0.0)
    found = voting.bradley_terry(voting.count_votes(first, second, outcome, candidates=list("abcdefg")))
    assert list(found.scores.values()) == pytest.approx(expected - expected.mean(), abs=1e-6)
    ballots = [[str(a), str(b)] for a, b in won]
    assert voting.bradley_terry(ballots, candidates=list("0123456")).scores["3"] == pytest.approx(found.scores["d"])


@pytest.mark.parametrize("seed", range(5))
def test_plackett_luce_is_choix_on_full_and_partial_rankings(seed):
    choix = pytest.importorskip("choix", reason="choix is not installed")
    source = np.random.default_rng(seed)
    strengths = source.normal(size=6)
    rankings = []
    for _ in range(200):
        order = np.argsort(-(strengths + source.gumbel(size=6)))
        kept = order[np.sort(source.choice(6, source.integers(2, 7), replace=False))]
        rankings.append([int(i) for i in kept])
    expected = choix.ilsr_rankings(6, rankings, alpha=0.0)
    found = voting.plackett_luce(rankings, candidates=range(6))
    assert [found.scores[i] for i in range(6)] == pytest.approx(expected - expected.mean(), abs=1e-6)


def test_half_wins_for_draws_are_evalicas():
    evalica = pytest.importorskip("evalica", reason="evalica is not installed")
    first, second, outcome = votes(3, 6, 4000, ties=0.2)
    names = [f"m{i}" for i in range(6)]
    winner = {1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}
    expected = evalica.bradley_terry(
        [names[i] for i in first],
        [names[i] for i in second],
        [winner[int(o)] for o in outcome],
        win_weight=1.0,
        tie_weight=0.5,
        tolerance=1e-12,
        limit=100_000,
    )
    found = voting.bradley_terry(voting.count_votes(first, second, outcome, candidates=names))
    logs = np.log([expected.scores[name] for name in names])
    assert list(found.scores.values()) == pytest.approx((logs - logs.mean()).tolist(), abs=1e-5)
