import math
import time
from fractions import Fraction

import numpy as np
import pytest

from metajudge import voting
from metajudge.errors import InputError, UnprovenError
from metajudge.voting import kemeny, kemeny_batch, read_profile
from tests.voting.profiles import TENNESSEE, brute_force, random_profile, rank, shuffled_ballots


@pytest.mark.parametrize("start", range(0, 500, 50))
def test_equals_brute_force_in_cost_number_and_set_of_optima(start):
    for seed in range(start, start + 50):
        names, ballots, weights = random_profile(seed)
        ties, unranked = ("half", "ignore")[seed // 4 % 2], ("below", "ignore")[seed // 8 % 2]
        least, optima = brute_force(names, ballots, weights, ties, unranked)
        found = kemeny(ballots, candidates=names, weights=weights, ties=ties, unranked=unranked)
        assert found.exact_cost == least, seed
        assert set(found.optima) == optima, seed
        assert found.n_optima == found.n_optima_at_least == len(found.optima) == len(optima), seed
        for name in names:
            ranks = [order.index(name) + 1 for order in optima]
            assert found.mean_rank[name] == pytest.approx(sum(ranks) / len(ranks)), seed
            assert (found.span[name].best, found.span[name].worst) == (min(ranks), max(ranks)), seed
        assert found.proven
        assert found.over_all_optima


def circles(count, voters=(0, 1, 2)):
    """Ballots over ``count`` circles of three one after the other: 3 ** count optima."""
    names = [[f"{block}{i}" for i in range(3)] for block in range(count)]
    return [[name for block in names for name in block[turn:] + block[:turn]] for turn in voters]


def test_optima_of_separate_blocks_multiply_and_are_counted_exactly_beyond_a_machine_word():
    found = kemeny(circles(12), max_optima=100)
    assert found.n_optima == 3**12
    assert len(set(found.optima)) == 100
    assert found.over_all_optima
    assert set(found.mean_rank.values()) == {3 * block + 2.0 for block in range(12)}
    found = kemeny(circles(50), max_optima=2)
    assert found.n_optima == 3**50
    assert len(found.optima) == 2


@pytest.mark.parametrize("size", [13, 20, 21, 40])
def test_nothing_preferred_over_anything_is_every_order_however_many(size):
    names = [f"m{i}" for i in range(size)]
    for ballots in ([names, names[::-1]], [[names]]):
        found = kemeny(ballots, max_optima=5)
        assert found.n_optima == math.factorial(size)
        assert len(set(found.optima)) == 5
        assert len(found.ranking) == 1
        assert set(found.mean_rank.values()) == {(size + 1) / 2}


def test_level_pairs_between_blocks_are_counted_not_cut():
    """A pair that is level lets candidates of two strict components interleave."""
    ballots = [["a", "b", "x", "y"], ["x", "y", "a", "b"]]
    assert kemeny(ballots).n_optima == 6


def test_one_optimum_of_many_is_not_the_ranking_and_a_time_limit_says_how_far_the_bound_is():
    names = [f"m{i}" for i in range(30)]
    found = kemeny([names, names[::-1], ["m7", "m3"]], unranked="ignore", max_optima=3)
    assert found.proven
    assert (found.n_optima, found.n_optima_at_least, len(set(found.optima))) == (None, 3, 3)
    assert not found.over_all_optima
    assert [set(group) for group in found.ranking] == [set(names)]
    assert all(order.index("m7") < order.index("m3") for order in found.optima)
    names = [f"m{i}" for i in range(60)]
    with pytest.raises(
        UnprovenError, match=r"60 candidates .* 1e-09 s: the best .* costs \d+, and no order costs less"
    ) as e:
        kemeny(shuffled_ballots(7, names, 7), time_limit=1e-9, clock=time.monotonic)
    assert e.value.bound < e.value.cost
    assert sorted(e.value.best) == sorted(names)
    proven = kemeny(shuffled_ballots(7, names, 7), max_optima=1)
    assert e.value.bound <= proven.cost <= e.value.cost


def test_weights_that_are_not_exact_in_binary_tie_and_unranked_below_is_not_uncompared():
    found = kemeny([["a", "b"], ["a", "b"], ["b", "a"]], weights=[0.1, 0.2, 0.3])
    assert (found.n_optima, found.exact_cost) == (2, Fraction(3, 10))
    thirds = kemeny([["a", "b"]] * 3 + [["b", "a"]], weights=[1 / 3, 1 / 3, 1 / 3, 1])
    assert thirds.n_optima == 2
    ballots = [[["a", "b"], "c"], ["b", ["a", "c"]]]
    half, ignore = (kemeny(ballots, ties=ties) for ties in ("half", "ignore"))
    assert half.optima == ignore.optima
    assert (half.cost, ignore.cost) == (1.0, 0.0)
    ballots = [["a"], ["b", "a"], ["c", "b"]]
    below = kemeny(ballots, candidates=["a", "b", "c"])
    ignored = kemeny(ballots, candidates=["a", "b", "c"], unranked="ignore")
    assert ignored.optima == (("c", "b", "a"),)
    assert ignored.cost == 0
    assert below.cost > 0


@pytest.mark.parametrize("unranked", ["below", "ignore"])
def test_one_candidate_and_no_common_candidate_have_answers(unranked):
    alone = kemeny([["a"], ["a"]], unranked=unranked)
    assert (alone.optima, alone.cost, alone.n_optima) == ((("a",),), 0.0, 1)
    apart = kemeny([["a", "b"], ["c", "d"]], unranked=unranked)
    assert apart.n_optima == {"ignore": 6, "below": 6}[unranked]


def test_kemeny_scores_393_on_tennessee():
    found = rank(voting.kemeny, TENNESSEE)
    assert found.is_unique
    assert found.cost == 600 - 393  # the published score counts agreements


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 8])
@pytest.mark.parametrize(("ties", "unranked"), [("half", "below"), ("ignore", "ignore")])
def test_equals_one_vote_at_a_time(size, ties, unranked):
    source = np.random.default_rng(size)
    places = source.integers(0, size, (40, 4, size))
    ranked = source.random(places.shape) < 0.8 if unranked == "ignore" else None
    batch = kemeny_batch(places, ties=ties, ranked=ranked, positions=True)
    for vote in range(len(places)):
        seen = np.ones((4, size), dtype=bool) if ranked is None else ranked[vote]
        kept = [voter for voter in range(4) if seen[voter].any()]
        if not kept:
            continue
        ballots = [grouped(places[vote, voter], seen[voter]) for voter in kept]
        single = kemeny(ballots, candidates=list(range(size)), ties=ties, unranked=unranked)
        assert batch.cost[vote] == pytest.approx(single.cost, abs=1e-12)
        assert batch.n_optima[vote] == single.n_optima
        assert batch.mean_rank[vote].tolist() == pytest.approx(list(single.mean_rank.values()))
        assert batch.span[vote].tolist() == [[span.best, span.worst] for span in single.span.values()]


def grouped(places, seen):
    return [
        [i for i in range(len(places)) if seen[i] and places[i] == place]
        for place in sorted({places[i] for i in range(len(places)) if seen[i]})
    ]


def test_a_batch_takes_places_of_profiles_and_has_no_mean_rank_without_positions():
    _, ballots, _ = random_profile(12)
    profile = read_profile(ballots)
    assert kemeny_batch(profile.places[None]).cost[0] == kemeny(profile).cost
    with pytest.raises(InputError, match="positions=True"):
        _ = kemeny_batch([[[0, 1]]]).mean_rank


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[0, 1]], "array \\[votes, voters, candidates\\]"),
        ([[[0.5, 1.0]]], "whole numbers"),
        ([[[float("nan"), 1.0]]], "whole numbers"),
        ([[[-1, 0]]], "a place is 0 or more"),
        (np.zeros((1, 1, 13), dtype=int), "up to 12 candidates"),
        (np.zeros((0, 1, 3), dtype=int), "none of them empty"),
    ],
)
def test_bad_places_are_refused(places, message):
    with pytest.raises(InputError, match=message):
        kemeny_batch(places)
