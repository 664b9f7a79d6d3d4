"""Options of voting rules: defaults, and refusals of what a rule does not have."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.voting.options import MODELS, Rule, TieOption, UnrankedOption, rule_options

NONE = (None, None, None, None, None)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule.KEMENY, {"ties": "half", "unranked": "below", "max_optima": 10, "time_limit": 60.0}),
        (Rule.BORDA, {"unranked": "below"}),
        (Rule.PLURALITY, {}),
        (Rule.BRADLEY_TERRY, {"ties": "half", "unranked": "ignore", "prior": 0.0}),
        (Rule.PLACKETT_LUCE, {"ties": "breslow", "unranked": "ignore", "prior": 0.0}),
    ],
)
def test_defaults(rule, expected):
    assert rule_options(rule, *NONE) == expected


def test_what_is_given_is_taken():
    given = rule_options(Rule.BRADLEY_TERRY, TieOption.DAVIDSON, UnrankedOption.BELOW, None, None, 0.5)
    assert given == {"ties": "davidson", "unranked": "below", "prior": 0.5}
    assert rule_options(Rule.KEMENY, None, None, 3, 0.0, None)["time_limit"] == 0.0


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule not in MODELS])
def test_a_prior_is_for_rules_that_estimate_strengths(rule):
    with pytest.raises(ConfigurationError, match=f"{rule} has no prior"):
        rule_options(rule, None, None, None, None, 1.0)


def test_a_tie_option_of_another_rule_names_those_there_are():
    with pytest.raises(ConfigurationError, match="plackett_luce takes ties breslow or refuse, not half"):
        rule_options(Rule.PLACKETT_LUCE, TieOption.HALF, None, None, None, None)
    with pytest.raises(ConfigurationError, match="kemeny takes --ties half or ignore, not davidson"):
        rule_options(Rule.KEMENY, TieOption.DAVIDSON, None, None, None, None, flags=True)
