import math
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from metajudge.errors import InputError, UnprovenError
from metajudge.voting import borda, kemeny, read_profile
from tests.voting.profiles import brute_force, random_profile, shuffled_ballots


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


def test_optima_of_separate_blocks_multiply_and_are_listed_up_to_the_cap():
    found = kemeny(circles(12), max_optima=100)
    assert found.n_optima == 3**12
    assert len(set(found.optima)) == 100
    assert found.over_all_optima
    assert set(found.mean_rank.values()) == {3 * block + 2.0 for block in range(12)}


def test_more_optima_than_a_machine_word_are_counted_exactly():
    found = kemeny(circles(50), max_optima=2)
    assert found.n_optima == 3**50
    assert len(found.optima) == 2


def test_all_ties_leave_every_order_and_one_group():
    found = kemeny([list("abcde"), list("edcba")])
    assert found.n_optima == 120
    assert [set(group) for group in found.ranking] == [set("abcde")]
    assert (found.cost, found.ties) == (10.0, found.ranking)


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


@pytest.mark.parametrize("max_optima", [1, 1000])
def test_a_component_of_14_equals_the_full_subset_search(max_optima):
    from metajudge.voting import pair_counts, read_profile
    from metajudge.voting.kemeny import scaled_excess
    from metajudge.voting.linear_order.subsets import fill_table, optimal_paths

    ballots = shuffled_ballots(5, [f"m{i}" for i in range(14)], 7)
    counts = pair_counts(read_profile(ballots))
    filled = fill_table(scaled_excess(counts)[0])
    found = kemeny(ballots, max_optima=max_optima)
    upper = [(a, b) for a in range(14) for b in range(a)]
    least = sum(min(counts.prefer[a, b], counts.prefer[b, a]) for a, b in upper)
    assert found.cost == least + filled.cost * scaled_excess(counts)[1]
    if max_optima > 1:
        assert found.n_optima == int(optimal_paths(filled).positions()[0].sum())


def test_one_optimum_of_many_is_not_passed_off_as_the_ranking():
    names = [f"m{i}" for i in range(30)]
    found = kemeny([names, names[::-1], ["m7", "m3"]], unranked="ignore", max_optima=3)
    assert found.proven
    assert (found.n_optima, found.n_optima_at_least, len(set(found.optima))) == (None, 3, 3)
    assert not found.over_all_optima
    assert [set(group) for group in found.ranking] == [set(names)]
    assert all(order.index("m7") < order.index("m3") for order in found.optima)


def test_sixty_nearly_random_candidates_are_proven():
    found = kemeny(shuffled_ballots(7, [f"m{i}" for i in range(60)], 6), max_optima=1)
    assert found.proven
    assert len(found.optima[0]) == 60


def test_time_limit_says_how_far_the_bound_is():
    names = [f"m{i}" for i in range(60)]
    with pytest.raises(
        UnprovenError, match=r"60 candidates .* 1e-09 s: the best .* costs \d+, and no order costs less"
    ) as e:
        kemeny(shuffled_ballots(7, names, 7), time_limit=1e-9, clock=time.monotonic)
    assert e.value.bound < e.value.cost
    assert sorted(e.value.best) == sorted(names)
    proven = kemeny(shuffled_ballots(7, names, 7), max_optima=1)
    assert e.value.bound <= proven.cost <= e.value.cost


def test_weights_that_are_not_exact_in_binary_still_tie():
    found = kemeny([["a", "b"], ["a", "b"], ["b", "a"]], weights=[0.1, 0.2, 0.3])
    assert (found.n_optima, found.exact_cost) == (2, Fraction(3, 10))
    thirds = kemeny([["a", "b"]] * 3 + [["b", "a"]], weights=[1 / 3, 1 / 3, 1 / 3, 1])
    assert thirds.n_optima == 2


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint32, np.float64])
def test_weights_may_be_an_array_of_numpy(kind):
    ballots = [["a", "b", "c"], ["c", "b", "a"]]
    found = kemeny(ballots, weights=np.array([100, 27], dtype=kind))
    assert found.exact_cost == kemeny(ballots, weights=[100, 27]).exact_cost == 81
    assert borda(ballots, weights=np.array([2, 1], dtype=kind)).scores == borda(ballots, weights=[2, 1]).scores


def test_learned_weights_of_many_digits_are_accepted_and_marked():
    profile = read_profile([["a", "b"], ["b", "a"]], weights=[0.123456789012345, 1.0000001234567891])
    assert not profile.exact
    assert kemeny(profile).optima == (("b", "a"),)


def test_ties_option_changes_the_cost_never_the_optima():
    ballots = [[["a", "b"], "c"], ["b", ["a", "c"]]]
    half, ignore = (kemeny(ballots, ties=ties) for ties in ("half", "ignore"))
    assert half.optima == ignore.optima
    assert (half.cost, ignore.cost) == (1.0, 0.0)


def test_unranked_below_is_not_the_same_as_not_compared():
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ballots": []}, "there are no ballots"),
        ({"ballots": [[]]}, "ballot 0 is empty"),
        ({"ballots": [["a"], [["b"], []]]}, "ballot 1 has an empty group at place 2"),
        ({"ballots": [["a", "b", "a"]]}, "ballot 0 names 'a' twice"),
        ({"ballots": [[["a", "b"], "b"]]}, "ballot 0 names 'b' twice"),
        ({"ballots": [["a", "Claud"]], "candidates": ["a", "Claude"]}, "'Claud'.*did you mean 'Claude'"),
        ({"ballots": [["a", float("nan")]]}, "ballot 0 holds nan at place 2"),
        ({"ballots": [["a", [float("nan")]]]}, "nan, which is no name"),
        ({"ballots": [["a", None]]}, "ballot 0 holds None"),
        ({"ballots": ["abc"]}, "ballot 0 is 'abc'"),
        ({"ballots": "abc"}, "ballots must be a sequence"),
        ({"ballots": [["a"]], "weights": [0]}, r"weights\[0\] is 0: a weight is above 0"),
        ({"ballots": [["a"]], "weights": [-1.5]}, r"weights\[0\] is -3/2"),
        ({"ballots": [["a"]], "weights": [float("nan")]}, r"weights\[0\] is nan"),
        ({"ballots": [["a"]], "weights": [float("inf")]}, r"weights\[0\] is inf"),
        ({"ballots": [["a"]], "weights": ["2"]}, r"weights\[0\] is '2'"),
        ({"ballots": [["a"]], "weights": [1, 1]}, "1 ballots and 2 weights"),
        ({"ballots": [["a"]], "weights": 2}, "weights must be a sequence"),
        ({"ballots": [["a"]], "candidates": ["a", "a"]}, "names 'a' twice"),
        ({"ballots": [["a"]], "candidates": []}, "candidates is empty"),
        ({"ballots": [["a"]], "candidates": ["a", 0.5]}, "0.5, which is no name"),
        ({"ballots": [["a"]], "ties": "third"}, "ties must be 'half' or 'ignore', not 'third'"),
        ({"ballots": [["a"]], "unranked": "last"}, "unranked must be"),
        ({"ballots": [["a"]], "max_optima": 0}, "max_optima must be at least 1"),
        ({"ballots": [["a"]], "max_optima": 2.5}, "max_optima must be at least 1 and whole"),
        ({"ballots": [["a"]], "max_optima": None}, "max_optima must be at least 1 and whole"),
        ({"ballots": [["a"]], "time_limit": 1}, "time_limit needs clock"),
        ({"ballots": [["a"]], "time_limit": 0}, "time_limit must be above 0"),
        ({"ballots": [["a"]], "time_limit": "x"}, "time_limit must be above 0"),
        ({"ballots": [["a"]], "time_limit": float("nan")}, "time_limit must be above 0"),
    ],
)
def test_bad_input_is_refused_with_the_place(arguments, message):
    ballots = arguments.pop("ballots")
    with pytest.raises(InputError, match=message):
        kemeny(ballots, **arguments)


def test_arrays_sets_and_numbers_are_ballots_too():
    assert kemeny(np.array([[2, 0, 1], [2, 1, 0], [2, 1, 0]])).optima == ((2, 1, 0),)
    assert kemeny([np.array(["a", "b"]), ({"b", "a"},)], weights=np.array([0.5, 1.0])).optima == (("a", "b"),)


def test_a_profile_is_read_once():
    profile = read_profile([["a", "b"], ["b", "a"], ["a", "b"]])
    assert kemeny(profile).optima == (("a", "b"),)
    with pytest.raises(InputError, match="has its candidates and weights already"):
        kemeny(profile, weights=[1, 1, 1])


def test_importing_the_rules_does_not_load_scipy():
    code = "import sys, metajudge.voting as v; v.kemeny([['a','b'],['b','a']]); print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
