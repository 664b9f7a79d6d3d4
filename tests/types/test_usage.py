"""Tokens add up kind by kind."""

from metajudge.types.usage import Usage


def test_sums_are_kind_by_kind():
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert Usage() + Usage(5, 0, 0, 1) == Usage(input_tokens=5, output_tokens=1)
