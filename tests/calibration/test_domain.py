"""Marks: what is to be known of a probability, and which ones no guarantee covers."""

from metajudge.calibration.domain import MEANINGS, Mark, outside_domain


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
