"""The rule of what is right that an input calls for."""

import pytest

from metajudge.errors import InputError
from metajudge.readers.right_rules import right_of, rules_of
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Label, Pairwise, Right, parse_right


def judgment(verdict: AnyVerdict | None, *labels: AnyVerdict, label: AnyVerdict | None = None) -> Judgment:
    texts = {"A": "x", "B": "y"} if isinstance(verdict, Pairwise) else {"A": "x"}
    item = Item(id="q", question="?", responses=texts, label=label, labels=tuple(Label(value=one) for one in labels))
    return Judgment(id="j", item=item, judge="g", verdict=verdict, no_verdict=None if verdict else "none")


def test_whole_numbers_are_equal_and_others_within_a_tenth_of_their_range() -> None:
    assert rules_of([judgment(Grade(1.0), Grade(5.0))]) == {"grade": Right("equal")}
    # The one number that is not whole may stand anywhere, between the ends too.
    mixed = [judgment(Grade(value)) for value in (1.0, 5.0, 3.5, 2.0)]
    assert rules_of(mixed) == rules_of(mixed[::-1]) == {"grade": Right("within", 0.4)}


def test_grades_against_words_are_compared_by_side_and_kinds_apart() -> None:
    given = [judgment(Grade(0.0)), judgment(Grade(10.0), Category("pass")), judgment(Pairwise("A", "B", 1))]
    rules = rules_of(given)
    assert rules == {"grade": Right("side", 5.0), "pairwise": Right("top1")}
    assert right_of(given[1], rules) is True
    assert right_of(given[0], rules) is None


def test_a_rule_given_is_taken_where_it_applies() -> None:
    given = [judgment(Grade(4.0), Grade(5.0)), judgment(Category("pass"), label=Category("pass"))]
    rules = rules_of(given, parse_right("within:1"))
    assert rules == {"grade": Right("within", 1.0)}
    assert [right_of(one, rules) for one in given] == [True, None]
    with pytest.raises(InputError, match="the rule top1 does not apply to the verdicts here, which are grade and cat"):
        rules_of(given, parse_right("top1"))


def test_nothing_calls_for_no_rule() -> None:
    assert rules_of([judgment(None)], parse_right("top1")) == {}
