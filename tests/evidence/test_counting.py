"""Counting: each judgment in its rows, ties by one rule, intervals by question; against figures worked out by hand."""

import itertools

import pytest

from metajudge.evidence.counting import FATES, ROWS, SAID, Counts, compared, fate_of, places_of, said_by
from metajudge.types import Category, Grade, Right, parse_verdict

TOP1, EQUAL = Right("top1"), Right("equal")


@pytest.mark.parametrize(
    ("verdict", "label", "rule", "found"),
    [
        ("A>B", "A>>B", TOP1, True),
        ("A=B", "A>B", TOP1, False),
        ("A=B", "A>B", EQUAL, False),
        ("A=B", "A=B", TOP1, "tied label"),
        ("A>B", "A=B", TOP1, "tied label"),
        ("A=B", "A=B", EQUAL, True),
        ("A>B", "A=B", EQUAL, False),
        ("A=B", "A>B", Right("kendall", 0.5), False),
        ([["A", "B"], ["C"]], [["A"], ["B"], ["C"]], TOP1, False),
        ([["A"], ["B"], ["C"]], [["A", "B"], ["C"]], TOP1, "tied label"),
        (None, "A>B", TOP1, "no verdict"),
        (None, None, TOP1, "no verdict"),
        ("A>B", None, TOP1, "no label"),
        ("A>B", "A>B", None, "not comparable"),
        ([["A"], ["B"]], [["A"], ["B"], ["C"]], EQUAL, "not comparable"),
    ],
)
def test_ties_are_wrong_where_people_name_a_winner_and_never_guessed(verdict, label, rule, found):
    said, true = (None if one is None else parse_verdict(one) for one in (verdict, label))
    assert compared(said, true, rule) is found or compared(said, true, rule) == found


def test_grades_and_categories_are_never_ties():
    assert [said_by(one) for one in (Grade(3.0), Category("pass"), None)] == ["decided", "decided", "no_verdict"]
    assert compared(Grade(3.0), Category("pass"), EQUAL) == "not comparable"


def test_every_judgment_stands_in_all_in_one_row_by_its_verdict_and_in_one_by_what_becomes_of_it():
    for cell in places_of(SAID, FATES).ravel():
        rows = {name for name, cells in ROWS.items() if cell in cells}
        assert "all" in rows
        assert len(rows & {"decided", "undecided", "no_verdict"}) == 1
        assert len(rows & {"kept", "discarded", "asked"}) == 1
        assert ("kept" in rows) == bool(rows & {"kept_under_guarantee", "kept_without_guarantee"})
    for kept, covered, failed in itertools.product((True, False, None), (True, False), (True, False)):
        fate = fate_of(kept, covered=covered, failed=failed)
        assert fate.startswith("kept") == (kept is True)
        assert (fate in ("asked", "failed")) == (kept is None)


def test_rows_by_hand():
    """Four questions: 1 twice right and kept, 2 a tie and wrong, 3 right but undecided, 4 without label."""
    counts = Counts()
    for name, question, said, fate, code in (
        ("a", 1, "decided", "kept_without_guarantee", 1),
        ("b", 1, "decided", "kept_without_guarantee", 1),
        ("c", 2, "undecided", "discarded", 0),
        ("d", 2, "decided", "kept_under_guarantee", 0),
        ("e", 3, "decided", "asked", 1),
        ("f", 4, "decided", "asked", -2),
        ("g", 4, "no_verdict", "asked", -1),
        ("h", 3, "decided", "failed", 1),
    ):
        counts.count(name, question, said, fate, code)
    rows = counts.rows()
    assert {name: (row.n, row.compared, row.right) for name, row in rows.items()} == {
        "all": (8, 6, 4),
        "decided": (6, 5, 4),
        "undecided": (1, 1, 0),
        "no_verdict": (1, 0, 0),
        "kept": (3, 3, 2),
        "kept_under_guarantee": (1, 1, 0),
        "kept_without_guarantee": (2, 2, 2),
        "discarded": (1, 1, 0),
        "asked": (4, 2, 2),
        "failed": (1, 1, 1),
    }
    # Two right of one question are one observation: Wilson's interval of 1 of 1.
    assert (rows["kept_without_guarantee"].share.low, rows["kept_without_guarantee"].share.high) == pytest.approx(
        (0.206549, 1.0), abs=1e-6
    )
    assert rows["all"].share.clusters == 3
    assert counts.wrongly_kept == ["d"]
    assert counts.why == {"no label": 1, "no verdict": 1}
    twice = Counts()
    twice.extend(counts)
    twice.extend(counts)
    assert (twice.rows()["all"].n, twice.rows()["all"].compared, twice.rows()["all"].share.clusters) == (16, 12, 3)


def test_nothing_has_no_share():
    assert all((row.n, row.share) == (0, None) for row in Counts().rows().values())
    assert Counts().rows()["all"].to_json() == {
        "n": 0,
        "compared": 0,
        "right": 0,
        "share": None,
        "low": None,
        "high": None,
        "clusters": 0,
    }
