"""Two games become one verdict by a named rule."""

import itertools

import pytest

from metajudge.judging.combining import combine
from metajudge.types import parse_verdict

PAIR = ("A", "B")


def combined(rule, *marks):
    found = combine(PAIR, [None if mark is None else parse_verdict(mark) for mark in marks], rule)
    return None if found.verdict is None else str(found.verdict)


@pytest.mark.parametrize(
    ("marks", "agree", "total", "strength"),
    [
        (("A>B", "A>B"), "A>B", "A>B", "A>B"),
        (("A>>B", "A>B"), "A>B", "A>B", "A>>B"),
        (("A>>B", "A>>B"), "A>>B", "A>B", "A>>B"),
        (("A>B", "B>A"), "A=B", "A=B", "A=B"),
        (("A>>B", "B>A"), "A=B", "A=B", "A>B"),
        (("A>B", "A=B"), "A=B", "A>B", "A>B"),
        (("B>A", "B=A"), "A=B", "B>A", "B>A"),
        (("A=B", "A=B"), "A=B", "A=B", "A=B"),
        (("A>B", None), None, "A>B", None),
        ((None, None), None, None, None),
    ],
)
def test_each_rule_by_hand(marks, agree, total, strength):
    assert combined("agree", *marks) == agree
    assert combined("sum", *marks) == total
    assert combined("strength", *marks) == strength


def test_the_order_of_games_and_the_names_change_nothing():
    marks = ["A>>B", "A>B", "A=B", "B>A", "B>>A", None]
    turned = {"A": "B", "B": "A"}
    for rule, one, two in itertools.product(("agree", "sum", "strength"), marks, marks):
        assert combined(rule, one, two) == combined(rule, two, one)
        mirror = [None if mark is None else str(parse_verdict(mark).relabelled(turned)) for mark in (one, two)]
        found, other = combined(rule, one, two), combined(rule, *mirror)
        if found is None or other is None:
            assert found is other
            continue
        assert parse_verdict(other).support("B", "A") == parse_verdict(found).support("A", "B")
