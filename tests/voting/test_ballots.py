import numpy as np
import pytest

from metajudge import voting
from metajudge.errors import InputError
from metajudge.voting import borda, bradley_terry, kemeny, median_rank, plackett_luce, plurality, read_profile


@pytest.mark.parametrize("rule", ["borda", "copeland", "schulze", "ranked_pairs", "median_rank", "plurality"])
def test_every_rule_refuses_bad_ballots_alike(rule):
    for ballots, message in [([], "no ballots"), ([["a", "a"]], "twice"), ([[]], "empty"), ([[float("nan")]], "nan")]:
        with pytest.raises(InputError, match=message):
            getattr(voting, rule)(ballots)
    with pytest.raises(InputError, match="not among the candidates"):
        getattr(voting, rule)([["a", "x"]], candidates=["a", "b"])
    assert getattr(voting, rule)([["a"]]).ranking == (("a",),)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([10**400, 1], "outside 1e-100 to 1e100"),
        ([1, 1e-200], "outside 1e-100 to 1e100"),
        ([1e13, 1], "less than 1e-12 of the sum"),
    ],
)
def test_weights_that_could_not_be_counted_are_refused_not_rounded_up(weights, words):
    with pytest.raises(InputError, match=words):
        voting.borda([["a", "b"], ["b", "a"]], weights=weights)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ballots": []}, "there are no ballots"),
        ({"ballots": [[]]}, "ballot 0 is empty"),
        ({"ballots": [["a"], [["b"], []]]}, "ballot 1 has an empty group at place 2"),
        ({"ballots": [["a", "b", "a"]]}, "ballot 0 names 'a' twice"),
        ({"ballots": [[["a", "b"], "b"]]}, "ballot 0 names 'b' twice"),
        ({"ballots": [["a", "Claud"]], "candidates": ["a", "Claude"]}, "'Claud'.*did you mean 'Claude'"),
        ({"ballots": [["a", float("nan")]]}, "ballot 0 contains nan at place 2"),
        ({"ballots": [["a", [float("nan")]]]}, "nan, which is not a name"),
        ({"ballots": [["a", None]]}, "ballot 0 contains None"),
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
        ({"ballots": [["a"]], "candidates": ["a", 0.5]}, "0.5, which is not a name"),
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
    with pytest.raises(InputError, match="already has candidates and weights"):
        kemeny(profile, weights=[1, 1, 1])


def test_many_like_ballots_are_counted_once_and_mean_the_same():
    source = np.random.default_rng(3)
    names = [f"m{i}" for i in range(6)]
    kinds = [[names[i] for i in source.permutation(6)[: source.integers(2, 7)]] for _ in range(40)]
    kinds += [[["m0", "m1"], "m2"], [{"m3"}, "m0"], ("m5", "m4")]
    ballots = [kinds[i] for i in source.integers(0, len(kinds), 1500)]
    for rule in (bradley_terry, plackett_luce, borda, median_rank, plurality, kemeny):
        options = {"prior": 0.5} if rule in (bradley_terry, plackett_luce) else {}
        counted = rule(ballots, **options)
        each = rule(read_profile(ballots), **options)
        assert counted.ranking == each.ranking
        assert counted.scores == pytest.approx(each.scores)


def test_a_fault_among_many_ballots_is_named_by_its_own_number():
    for fault, words in (
        (["a", "a"], "ballot 1200 names 'a' twice"),
        ("ab", "ballot 1200 is 'ab'"),
        ([], "1200 is empty"),
    ):
        ballots = [["a", "b"], ["b", "a"]] * 600 + [fault] + [["a", "b"]] * 5
        with pytest.raises(InputError, match=words):
            borda(ballots)
    with pytest.raises(InputError, match="ballot 1200 has a tie"):
        plackett_luce([["a", "b"], ["b", "a"]] * 600 + [[["a", "b"]]], ties="refuse")
