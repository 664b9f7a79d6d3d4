"""One order from rankings by any rule: options, weights, plain data, warnings."""

import json

import pytest

from metajudge import voting
from metajudge.errors import ConfigurationError, InputError, UnprovenError
from metajudge.voting.options import Rule
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


def test_candidates_that_nobody_ranked_are_counted():
    assert rank([[["a"]]], rule="borda", candidates=["a", "z"]).ranking == (("a",), ("z",))


def test_every_equally_good_order_is_counted_and_said():
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
    ],
)
def test_what_a_rule_does_not_have_is_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        rank(THREE, **options)


def test_on_the_command_line_options_are_named_as_there():
    with pytest.raises(ConfigurationError, match="borda has no --time-limit"):
        rank(THREE, rule="borda", time_limit=1.0, flags=True)
    with pytest.raises(ConfigurationError, match="kemeny takes --ties half or ignore, not davidson"):
        rank(THREE, rule="kemeny", ties="davidson", flags=True)


@pytest.mark.parametrize("wrong", [[[["a"], ["a"]]], [[]]])
def test_a_ranking_that_is_none_is_refused(wrong):
    with pytest.raises(InputError):
        rank(wrong)


def test_a_proof_that_does_not_come_in_time_is_an_error_with_the_bound():
    import numpy as np

    rng = np.random.default_rng(3)
    votes = [[[f"c{one}"] for one in rng.permutation(60)] for _ in range(7)]
    with pytest.raises(UnprovenError) as error:
        rank(votes, time_limit=0.01)
    assert error.value.bound <= error.value.cost
