"""Marks: what is to be known of a probability, and which ones no guarantee covers."""

from metajudge.calibration.domain import (
    MEANINGS,
    NOT_COVERED,
    Mark,
    coverage_line,
    none_covered_line,
    outside_domain,
)


def test_every_mark_has_its_meaning():
    assert set(MEANINGS) == set(Mark)
    assert len(set(MEANINGS.values())) == len(Mark)


def test_every_mark_puts_a_judgment_outside_and_other_words_do_not():
    assert outside_domain(list(Mark)) == tuple(Mark)
    assert outside_domain(["checked_by_hand", "other_judge"]) == ("other_judge",)
    assert outside_domain([]) == ()


def test_marks_are_stored_by_these_words():
    assert [mark.value for mark in Mark] == [
        "seen_in_fit",
        "question_seen_in_fit",
        "unknown_category",
        "other_judge",
        "absent_signal",
        "more_judgments_than_declared",
        "promise_broken",
        "dependent_judges",
        "transferred",
        "no_better_than_base_rate",
        "free_evidence_is_better",
        "untested_kind",
    ]


def test_what_a_guarantee_does_not_cover_is_counted_with_its_reason():
    line = coverage_line(120, 150, {"absent_signal": 22, "unknown_category": 7, NOT_COVERED: 1})
    assert line == (
        "Guaranteed: 120 of 150 kept; 30 kept outside the guarantee: 22 lack a signal that was always there in the fit, "
        "1 by judges that it does not cover, 7 are of a category the fit does not know."
    )
    assert coverage_line(3, 3, {}) == "Guaranteed: 3 of 3 kept."


def test_where_nothing_is_covered_the_promise_is_not_repeated():
    line = none_covered_line({"absent_signal": 5})
    assert line.endswith("covers none of these judgments: 5 lack a signal that was always there in the fit.")
