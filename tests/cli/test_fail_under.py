"""``--fail-under``: bars that mean nothing are refused, and a missed one is told."""

import pytest

from metajudge.cli.fail_under import parse_fail_under, tell_missed
from metajudge.errors import ConfigurationError
from metajudge.vetting.bars import Bar, Reached


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.9", "write --fail-under precision=0.9"),
        ("recall=0.9", "write --fail-under precision=0.9"),
        ("precision=high", "'high' is not a number"),
        ("precision=90", "for 90 % write 0.9"),
        ("precision=nan", "between 0 and 1"),
        ("kept=-0.1", "between 0 and 1"),
    ],
)
def test_a_bar_that_means_nothing_is_the_users_mistake(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_fail_under([text])


def test_one_measure_twice_is_refused():
    with pytest.raises(ConfigurationError, match="twice"):
        parse_fail_under(["kept=.8", "kept=.9"])


def test_a_missed_bar_is_told(capsys):
    assert tell_missed([Reached(Bar("kept", 0.9), 1, 2)])
    assert not tell_missed([Reached(Bar("kept", 0.5), 1, 2)])
    assert "kept 0.5 (1 of 2 kept) is below 0.9" in capsys.readouterr().err
