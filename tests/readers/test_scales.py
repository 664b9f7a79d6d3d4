"""Scales as a mapping declares them."""

from typing import Any

import pytest

from metajudge.readers.lines import BadLine
from metajudge.readers.scales import on_scale, parse_scale, scale_text
from metajudge.types import Category, Grade
from metajudge.types.judgment import Scale


@pytest.mark.parametrize(
    ("given", "scale"),
    [
        ("1..5", (1.0, 5.0)),
        ("-1.5 .. 1", (-1.5, 1.0)),
        ("0-10", (0.0, 10.0)),
        ([0, 1], (0.0, 1.0)),
        ("[0, 1]", (0.0, 1.0)),
        ("poor < fair<good", ("poor", "fair", "good")),
        (["a<b", "c"], ("a<b", "c")),
        ("", None),
        (None, None),
    ],
)
def test_ranges_and_ordered_categories(given: Any, scale: Scale | None) -> None:
    assert parse_scale(given) == scale
    if scale is not None:
        assert parse_scale(scale_text(scale)) == scale


@pytest.mark.parametrize("given", ["5..1", "good", "a<a", "a<", 5, ["a"], [1, 2, 3], "[1", [1, "a"]])
def test_what_is_no_scale_is_refused(given: Any) -> None:
    with pytest.raises(BadLine, match="is no scale: give the lowest and the highest grade"):
        parse_scale(given)


def test_a_category_takes_the_spelling_of_its_scale() -> None:
    assert on_scale(Category("GOOD"), ("poor", "good")) == Category("good")
    assert on_scale(Category("other"), ("poor", "good")) == Category("other")
    assert on_scale(Grade(1.0), (0.0, 1.0)) == Grade(1.0)
