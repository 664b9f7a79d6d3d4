"""The cells of a row, and the text by which it is looked up."""

import pytest

from metajudge.readers.cells import cell, key_of

ROW = {"a": {"b": [10, {"c": 7}]}, "a.b": "first", "n": None, "l": [[1, 2]]}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("a.b", "first"),
        ("a.b.0", 10),
        ("a.b.1.c", 7),
        ("l.0.1", 2),
        ("l.1", None),
        ("l.-1", None),
        ("l.x", None),
        ("a.x", None),
        ("a.x.y", None),
        ("n", None),
        ("none", None),
        ("l.99999999999999", None),
        ("l.²", None),
    ],
)
def test_a_name_goes_first_and_then_the_dotted_path(column, value):
    assert cell(ROW, column) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (False, "false"), (1.0, "1"), (1.5, "1.5"), (1, "1"), (" x ", "x"), ("True", "True")],
)
def test_values_are_looked_up_as_they_print(value, text):
    assert key_of(value) == text
