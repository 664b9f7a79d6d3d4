"""What a rule promises on every profile.

Monotonicity is tested for the winner set of the rules that have it: raising a winner on a ballot keeps it a winner under
Borda, Copeland, Schulze, plurality and median rank. Kemeny has it too. Ranked pairs has it for each order of equal
majorities. Plackett-Luce, Bradley-Terry and the agreement weights do not promise it on partial ballots.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metajudge import voting
from tests.voting import oracles
from tests.voting.profiles import made_votes

NAMES = ("a", "b", "c", "d", "e")
BOUNDED = settings(max_examples=25, deadline=None, derandomize=True)

RULES = {
    "kemeny": voting.kemeny,
    "borda": voting.borda,
    "copeland": voting.copeland,
    "schulze": voting.schulze,
    "ranked_pairs": voting.ranked_pairs,
    "median_rank": voting.median_rank,
    "plurality": voting.plurality,
    "agreement_weighted_borda": voting.agreement_weighted_borda,
    "bradley_terry": partial(voting.bradley_terry, prior=0.1),
    "plackett_luce": partial(voting.plackett_luce, prior=0.1),
}
ORDINAL = [name for name in RULES if name not in ("bradley_terry", "plackett_luce")]
CONDORCET = ["kemeny", "copeland", "schulze", "ranked_pairs"]
MONOTONE = ["kemeny", "borda", "copeland", "schulze", "median_rank", "plurality"]

strict_ballots = st.lists(st.permutations(NAMES), min_size=1, max_size=7)


@st.composite
def weak_ballots(draw, complete=False):
    ballots = []
    for _ in range(draw(st.integers(1, 6))):
        order = draw(st.permutations(NAMES))
        kept = order if complete else order[: draw(st.integers(2, len(NAMES)))]
        cuts = draw(st.lists(st.booleans(), min_size=len(kept), max_size=len(kept)))
        ballot = [[kept[0]]]
        for name, cut in zip(kept[1:], cuts[1:], strict=True):
            if cut:
                ballot.append([name])
            else:
                ballot[-1].append(name)
        ballots.append(ballot)
    return ballots


def as_sets(ranking, names=None):
    return [{names[name] if names else name for name in group} for group in ranking]


@pytest.mark.parametrize("rule", RULES)
@BOUNDED
@given(
    ballots=weak_ballots(),
    new=st.permutations(NAMES),
    listed=st.permutations(NAMES),
    source=st.randoms(use_true_random=False),
)
def test_other_names_in_another_order_and_other_voters_first_change_nothing(rule, ballots, new, listed, source):
    names = dict(zip(NAMES, new, strict=True))
    renamed = [[[names[name] for name in reversed(group)] for group in ballot] for ballot in ballots]
    source.shuffle(renamed)
    one = RULES[rule](ballots, candidates=NAMES)
    other = RULES[rule](renamed, candidates=listed)
    assert as_sets(one.ranking, names) == as_sets(other.ranking)
    for name in NAMES:
        assert other.scores[names[name]] == pytest.approx(one.scores[name], abs=1e-7)


@pytest.mark.parametrize("rule", [name for name in RULES if name != "agreement_weighted_borda"])
@BOUNDED
@given(ballots=weak_ballots())
def test_a_weight_of_two_is_two_ballots(rule, ballots):
    weighted = RULES[rule](ballots, candidates=NAMES, weights=[2] * len(ballots))
    doubled = RULES[rule]([*ballots, *ballots], candidates=NAMES)
    assert as_sets(weighted.ranking) == as_sets(doubled.ranking)


@pytest.mark.parametrize("rule", RULES)
@BOUNDED
@given(ballot=st.permutations(NAMES), voters=st.integers(1, 5))
def test_unanimity_one_order_by_all_is_the_result(rule, ballot, voters):
    found = RULES[rule]([list(ballot)] * voters)
    if rule == "plurality":
        assert found.ranking[0] == (ballot[0],)
    else:
        assert found.ranking == tuple((name,) for name in ballot)


@pytest.mark.parametrize("rule", ["kemeny", "borda", "copeland", "agreement_weighted_borda"])
@BOUNDED
@given(ballots=strict_ballots)
def test_pareto_what_all_place_below_another_is_below_it(rule, ballots):
    found = RULES[rule](ballots).ranks
    for a in NAMES:
        for b in NAMES:
            if a != b and all(ballot.index(a) < ballot.index(b) for ballot in ballots):
                assert found[a] < found[b]


@pytest.mark.parametrize("rule", CONDORCET)
@BOUNDED
@given(ballots=strict_ballots)
def test_a_condorcet_winner_wins_alone(rule, ballots):
    counts = voting.pair_counts(voting.read_profile(ballots, NAMES))
    beats_all = [(row > 0).sum() == len(NAMES) - 1 for row in counts.margins]
    assume(any(beats_all))
    assert RULES[rule](ballots).ranking[0] == (NAMES[beats_all.index(True)],)


@pytest.mark.parametrize("rule", ["kemeny", "copeland", "borda", "median_rank"])
@BOUNDED
@given(ballots=weak_ballots(complete=True))
def test_reversal_all_ballots_upside_down_turn_the_result_upside_down(rule, ballots):
    turned = [ballot[::-1] for ballot in ballots]
    one, other = RULES[rule](ballots, candidates=NAMES), RULES[rule](turned, candidates=NAMES)
    assert as_sets(one.ranking) == as_sets(other.ranking)[::-1]


@pytest.mark.parametrize("rule", ["schulze", "ranked_pairs"])
@BOUNDED
@given(ballots=strict_ballots)
def test_reversal_a_sole_winner_does_not_win_upside_down(rule, ballots):
    found = RULES[rule](ballots).winners
    assume(len(found) == 1)
    assert found != RULES[rule]([ballot[::-1] for ballot in ballots]).winners


@BOUNDED
@given(ballots=weak_ballots(complete=True))
def test_reversal_of_kemeny_reverses_every_optimum_at_equal_cost(ballots):
    one = voting.kemeny(ballots, candidates=NAMES)
    other = voting.kemeny([ballot[::-1] for ballot in ballots], candidates=NAMES)
    assert one.exact_cost == other.exact_cost
    assert {order[::-1] for order in one.optima} == set(other.optima)


@pytest.mark.parametrize("rule", MONOTONE)
@BOUNDED
@given(ballots=strict_ballots, which=st.integers(0, 6), by=st.integers(1, 4))
def test_monotonicity_raising_a_winner_keeps_it_a_winner(rule, ballots, which, by):
    winner = sorted(winners_of(rule, ballots))[0]
    raised = [list(ballot) for ballot in ballots]
    ballot = raised[which % len(raised)]
    at = ballot.index(winner)
    ballot.insert(max(0, at - by), ballot.pop(at))
    assert winner in winners_of(rule, raised)


def winners_of(rule, ballots):
    """For Kemeny whoever is first in some optimum; the mean rank over all of them promises less."""
    found = RULES[rule](ballots, candidates=NAMES)
    return {order[0] for order in found.optima} if rule == "kemeny" else set(found.winners)


# The same answers as pref_voting and crowd-kit (recorded), choix and evalica (where installed).
RECORDED = json.loads((Path(__file__).parent / "oracles.json").read_text("utf-8"))
RULES_OF_ORACLES = ("borda", "copeland", "schulze", "ranked_pairs", "plurality")


@pytest.mark.parametrize("kind", ["strict", "tied"])
@pytest.mark.parametrize("rule", RULES_OF_ORACLES)
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


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_is_choix(seed):
    choix = pytest.importorskip("choix", reason="choix is not installed")
    first, second, outcome, _ = made_votes(seed, 7, 600)
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
    first, second, outcome, _ = made_votes(3, 6, 4000, ties=0.2)
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
