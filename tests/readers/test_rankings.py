from fractions import Fraction

import pytest

from metajudge.errors import InputError
from metajudge.readers.rankings import ranking_from_text, weight_of


def test_weights_are_exact():
    assert weight_of(0.1) == Fraction(1, 10)
    assert weight_of("2/6") == Fraction(1, 3)
    for bad in (True, None, "nan", float("inf"), -1, "1/0", []):
        with pytest.raises(InputError, match="weight"):
            weight_of(bad)


def test_strength_of_a_verdict_does_not_split_places():
    assert ranking_from_text("a>>b = c") == (("a",), ("b", "c"))


@pytest.mark.parametrize("weight", ["1e999999999", "1e-999999999", "1e400"])
def test_a_weight_with_a_wild_exponent_is_refused_before_it_is_expanded(weight):
    with pytest.raises(InputError, match="between 1e-100 and 1e100"):
        weight_of(weight)
