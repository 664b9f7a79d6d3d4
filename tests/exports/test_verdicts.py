"""Verdicts in SQL say what the Python types say."""

import duckdb
import pytest

from metajudge.exports.verdicts import define
from metajudge.types import parse_verdict

VERDICTS = ["A>>B", "A>B", "A=B", "B>A", "B>>A", '[["A"],["B","C"]]', '[["A","B"],["C"]]', '[["A","B"]]']


@pytest.fixture(scope="module")
def work():
    with duckdb.connect() as connection:
        define(connection)
        yield connection


def value(work, expression, *given):
    return work.execute(f"SELECT {expression}", list(given)).fetchone()[0]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_winner_is_the_verdicts_own(work, verdict):
    import json

    parsed = parse_verdict(json.loads(verdict) if verdict.startswith("[") else verdict)
    assert value(work, "winner(?)", verdict) == parsed.winner


@pytest.mark.parametrize(
    ("verdict", "label", "right"),
    [
        ("A>>B", "A>B", True),
        ("B>A", "A>B", False),
        ("A=B", "A>B", False),
        ("A=B", "A=B", None),
        ("A>B", "A=B", None),
        ("4", "A>B", None),
        ("A>B", "4", None),
    ],
)
def test_right_by_a_label(work, verdict, label, right):
    assert value(work, "right_by_label(?, ?)", verdict, label) is right


def test_texts_are_compared_without_case_space_and_composition(work):
    assert value(work, "normal(?)", "É  X\n\tY\u00a0") == value(work, "normal(?)", "e\u0301xy")
    assert value(work, "normal(?) = normal(?)", "one", "two") is False
