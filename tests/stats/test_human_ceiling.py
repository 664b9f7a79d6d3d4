"""Leave-one-out agreement of people."""

from functools import partial

import pytest

from metajudge.errors import InputError
from metajudge.stats.human_ceiling import human_ceiling
from metajudge.types import AnyVerdict, Category, Grade, Pairwise, is_right, majority, parse_right

A, B, TIE = Pairwise("A", "B", 1), Pairwise("B", "A", 1), Pairwise("A", "B", 0)


def ceiling(*items: list[tuple[str | None, AnyVerdict]], right: str = "equal"):
    return human_ceiling(items, majority, lambda one, other: is_right(one, other, parse_right(right)))


def test_each_person_is_compared_with_the_others():
    found = ceiling([("a", Grade(1)), ("b", Grade(1)), ("c", Grade(2))], [("a", Grade(3)), ("b", Grade(3))])
    # On the first item the others of a and of b have the median 1.5, and c is not 1.
    assert found.agreement is not None
    assert (found.compared, found.agreement.successes) == (5, 2)
    assert (found.items, found.alone, found.annotators) == (2, 0, 3)


def test_one_person_alone_says_nothing_of_agreement():
    found = ceiling([("a", A)], [])
    assert found.agreement is None
    assert (found.compared, found.items, found.alone, found.undecided) == (0, 0, 1, 0)


def test_a_tie_of_the_others_is_a_tie_and_not_a_winner_by_place():
    votes = [("a", A), ("b", A), ("c", B)]
    by_top = ceiling(votes, right="top1")
    assert (by_top.compared, by_top.undecided) == (1, 2)  # a: b against c is a tie, and so is b: a against c
    assert by_top.agreement is not None
    assert by_top.agreement.estimate == 0  # c against a and b
    by_equal = ceiling(votes)
    assert (by_equal.compared, by_equal.undecided) == (3, 0)
    assert ceiling([("a", TIE), ("b", TIE)]).agreement.estimate == 1  # type: ignore[union-attr]


def test_answers_of_one_person_are_one_person_and_those_without_a_name_are_many():
    same = ceiling([("a", Category("x")), ("a", Category("x")), ("b", Category("y"))])
    assert (same.compared, same.annotators) == (2, 2)
    nameless = ceiling([(None, Category("x")), (None, Category("x")), (None, Category("y"))])
    assert nameless.compared + nameless.undecided == 3
    assert nameless.undecided == 2  # x and y of the others are undecided for two of three


def test_the_interval_is_by_item():
    items = [[("a", Grade(n % 2)), ("b", Grade(n % 2)), ("c", Grade(n % 2))] for n in range(30)]
    items += [[("a", Grade(0)), ("b", Grade(1)), ("c", Grade(1))] for _ in range(30)]
    found = human_ceiling(items, majority, partial(_near))
    assert found.agreement is not None
    assert found.agreement.clusters == 60
    assert found.agreement.n == found.compared == 180
    assert found.agreement.low < found.agreement.estimate < found.agreement.high
    assert found.agreement.effective_n < found.agreement.n


def _near(one: AnyVerdict, other: AnyVerdict) -> bool | None:
    return is_right(one, other, parse_right("within:0.4"))


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_out_of_range_is_refused(confidence: float):
    with pytest.raises(InputError, match="confidence"):
        human_ceiling([[("a", A), ("b", A)]], majority, lambda a, b: True, confidence)
