"""One order from rankings by any rule: options, weights, plain data, warnings."""

import json

import numpy as np
import pytest

from metajudge import voting
from metajudge.errors import ConfigurationError, InputError, UnprovenError
from metajudge.voting import (
    borda,
    bradley_terry,
    count_votes,
    kemeny,
    median_rank,
    pairwise,
    plackett_luce,
    plurality,
    read_profile,
)
from metajudge.voting.options import Rule
from metajudge.voting.pairwise import pair_counts
from metajudge.voting.rank import rank

THREE = [[["a"], ["b"], ["c"]], [["a"], ["c"], ["b"]], [["b"], ["a", "c"]]]
CYCLE = [[["a"], ["b"], ["c"]], [["b"], ["c"], ["a"]], [["c"], ["a"], ["b"]]]


@pytest.mark.parametrize("rule", list(Rule))
def test_every_rule_counts_as_its_own_function_does(rule):
    found = rank(THREE, rule=rule)
    options = {name: value for name, value in found.options.items() if name != "time_limit"}
    assert found.ranking == tuple(map(tuple, getattr(voting, rule)(THREE, **options).ranking))
    unranked = {Rule.PLURALITY: None, Rule.BRADLEY_TERRY: "ignore", Rule.PLACKETT_LUCE: "ignore"}
    assert options.get("unranked") == unranked.get(rule, "below")
    assert (found.to_json()["rule"], found.ballots) == (rule, 3)
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


def test_candidates_that_nobody_ranked_are_counted_and_every_equally_good_order_is_said():
    assert rank([[["a"]]], rule="borda", candidates=["a", "z"]).ranking == (("a",), ("z",))
    found = rank(CYCLE)
    assert found.to_json()["n_optima"] == 3
    assert found.warnings == tuple(found.to_json()["warnings"])
    assert found.warnings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "loudest"}, "rule 'loudest' is unknown: choose one of kemeny, borda"),
        ({"ties": "maybe"}, "ties 'maybe' is unknown"),
        ({"unranked": "above"}, "unranked 'above' is unknown"),
        ({"rule": "borda", "ties": "half"}, "borda has no ties"),
        ({"rule": "borda", "time_limit": 1.0}, "borda has no time_limit"),
        ({"rule": "borda", "max_optima": 3}, "borda has no max_optima"),
        ({"rule": "borda", "prior": 1.0}, "borda has no prior"),
        ({"rule": "plackett_luce", "ties": "half"}, "plackett_luce takes ties breslow or refuse, not half"),
        ({"rule": "plurality", "unranked": "below"}, "has no unranked"),
        ({"weights": [1.0]}, "1 weights for 3 rankings: give one each, or none"),
        ({"rule": "borda", "time_limit": 1.0, "flags": True}, "borda has no --time-limit"),
        ({"ties": "davidson", "flags": True}, "kemeny takes --ties half or ignore, not davidson"),
    ],
)
def test_what_a_rule_does_not_have_is_refused_in_the_words_of_the_command_line_there(options, message):
    with pytest.raises(ConfigurationError, match=message):
        rank(THREE, **options)
    for wrong in ([[["a"], ["a"]]], [[]]):
        with pytest.raises(InputError):
            rank(wrong)


def test_a_proof_that_does_not_come_in_time_is_an_error_with_the_bound():
    import numpy as np

    rng = np.random.default_rng(3)
    votes = [[[f"c{one}"] for one in rng.permutation(60)] for _ in range(7)]
    with pytest.raises(UnprovenError) as error:
        rank(votes, time_limit=0.01)
    assert error.value.bound <= error.value.cost


# Counts of pairs by hand.
BALLOTS = [["a", "b", "c"], [["a", "b"], "c"], ["c"]]


def counts(unranked="below", weights=(2, 1, 1)):
    return pair_counts(read_profile(BALLOTS, ["a", "b", "c"], list(weights)), unranked)


def test_preferences_ties_margins_and_what_a_ballot_does_not_name():
    found = counts()
    assert (found.prefer * float(found.unit)).tolist() == [[0, 2, 3], [0, 0, 3], [1, 1, 0]]
    assert (found.tied * float(found.unit)).tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]], "unranked ones tie below"
    assert found.total * found.unit == 4
    assert found.candidates == ("a", "b", "c")
    found = counts("ignore")
    assert (found.prefer * float(found.unit)).tolist() == [[0, 2, 3], [0, 0, 3], [0, 0, 0]]
    assert (found.tied * float(found.unit)).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    found = counts(weights=(2, 1, 1))
    assert (found.margins * float(found.unit)).tolist() == [[0, 2, 2], [-2, 0, 2], [-2, -2, 0]]
    assert (found.doubled("half") * float(found.unit)).tolist() == [[0, 6, 6], [2, 0, 6], [2, 2, 0]]
    assert (found.doubled("ignore") * float(found.unit)).tolist() == [[0, 4, 6], [0, 0, 6], [2, 2, 0]]


def test_ballots_counted_in_parts_are_the_same(monkeypatch):
    whole = counts()
    monkeypatch.setattr(pairwise, "_CHUNK", 9)
    assert (counts().prefer == whole.prefer).all()
    assert (counts().tied == whole.tied).all()


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


def test_arrays_sets_and_numbers_are_ballots_too_and_a_profile_is_read_once():
    assert kemeny(np.array([[2, 0, 1], [2, 1, 0], [2, 1, 0]])).optima == ((2, 1, 0),)
    assert kemeny([np.array(["a", "b"]), ({"b", "a"},)], weights=np.array([0.5, 1.0])).optima == (("a", "b"),)
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


def test_votes_on_pairs_are_no_top_two_lists():
    ballots = [["a", "b"], ["b", "c"], ["c", "a"]]
    assert bradley_terry(ballots).comparisons == 3
    assert bradley_terry(ballots, unranked="below").comparisons == 9
    first, second, outcome = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]), np.array([1, 0, -1, 1])
    found = count_votes(first, second, outcome, candidates=["x", "y", "z"])
    assert found.prefer.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 0]]
    assert found.tied.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert found.total == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "there are no votes"),
        ((["a"], ["b", "c"], [1]), "1 firsts, 2 seconds and 1 outcomes"),
        ((["a"], ["a"], [1]), "'a' is compared with itself"),
        ((["a"], ["b"], [2]), "an outcome is 1"),
        ((["a"], ["b"], [0.5]), "an outcome is 1"),
        ((["a"], ["b"], [float("nan")]), "an outcome is 1"),
        ((np.array([0]), np.array([1]), [1]), "need candidates"),
        ((["a"], ["q"], [1], "ab"), "names 'q', which is not among"),
        ((np.array([0]), np.array([2]), [1], "ab"), "index outside 0 to 1"),
        ((["a", "b"], ["b", "a"], [1, 1], "aab"), "candidates names 'a' twice"),
        ((np.array([0]), np.array([2]), [1], "aab"), "candidates names 'a' twice"),
        ((["a", "b"], ["b", "a"], [True, False]), "not true or false"),
        *(((["a", one], ["b", "b"], [1, 1]), "which is no name") for one in (None, float("nan"), ["a"])),
        ((["a", "z"], ["b", "b"], [1, 1], "ab"), "'z', which is not among"),
    ],
)
def test_bad_votes_are_refused(arguments, message):
    first, second, outcome, *candidates = arguments
    with pytest.raises(InputError, match=message):
        count_votes(first, second, outcome, candidates=list(*candidates) or None)


def test_votes_by_name_are_counted_as_by_index():
    size = 300
    source = np.random.default_rng(size)
    first = source.integers(0, size, 20_001)
    second = (first + source.integers(1, size, len(first))) % size
    outcome = source.integers(-1, 2, len(first))
    names = [f"m{i}" for i in range(size)]
    by_index = count_votes(first, second, outcome, candidates=names)
    given = count_votes([names[i] for i in first], [names[i] for i in second], outcome, candidates=names)
    assert np.array_equal(given.prefer, by_index.prefer)
    assert np.array_equal(given.tied, by_index.tied)
    found = count_votes([names[i] for i in first], [names[i] for i in second], outcome)
    order = [found.candidates.index(name) for name in names]
    assert np.array_equal(found.prefer[np.ix_(order, order)], by_index.prefer)
    small = (first % 200).astype(np.uint8), (second % 200).astype(np.uint8)
    apart = small[0] != small[1]
    named = [f"n{i}" for i in range(200)]
    assert count_votes(small[0][apart], small[1][apart], outcome[apart], candidates=named).total == apart.sum()
