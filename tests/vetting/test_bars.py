"""Bars: what counts as reached, and of what the share is."""

from types import SimpleNamespace

import pytest

from metajudge.errors import ConfigurationError
from metajudge.evidence.counting import Counts
from metajudge.types import Category, Grade, Item, Judgment, Label, parse_right
from metajudge.vetting.bars import Bar, Reached, check_labels, reached_by
from metajudge.vetting.summary import VetSummary


def test_the_bar_itself_is_enough_despite_float_noise():
    assert Reached(Bar("precision", 0.1 + 0.2), 3, 10).passed
    assert not Reached(Bar("precision", 0.31), 3, 10).passed


def test_nothing_kept_is_not_a_precision_of_one():
    missed = Reached(Bar("precision", 0.0), 0, 0)
    assert not missed.passed
    assert missed.to_json()["value"] is None
    assert "no labelled judgment was kept" in missed.sentence()


def test_kept_counts_unscored_and_failed_judgments_as_not_kept_and_a_precision_says_its_interval():
    summary, labels = VetSummary(accepted=3, judgments=10), Counts()
    for question in ("a", "b"):
        labels.count(question, ord(question), "decided", "kept_without_guarantee", 1)
    precision, kept = reached_by([Bar("precision", 0.9), Bar("kept", 0.31)], summary, labels)
    assert precision.passed
    assert precision.unsure, "two judgments say little"
    assert "95 % interval by question 34.2 to 100.0 %" in precision.sentence()
    assert precision.to_json()["interval"] == pytest.approx([0.342380, 1.0], abs=1e-5)
    assert (kept.share, kept.passed, kept.unsure, kept.to_json()["interval"]) == (0.3, False, False, None)


def test_unlabelled_input_is_refused_before_anything_is_asked():
    unlabelled = [SimpleNamespace(correct=None)] * 2
    with pytest.raises(ConfigurationError, match="no judgment of the input has one"):
        check_labels([Bar("precision", 0.5)], unlabelled)
    check_labels([Bar("kept", 0.5)], unlabelled)
    check_labels([Bar("precision", 0.5)], [*unlabelled, SimpleNamespace(correct=False)])


def test_labels_in_words_count_for_grades_by_the_rule_of_the_input():
    item = Item(id="q", question="?", responses={"A": "x"}, labels=(Label(value=Category("pass")),))
    graded = Judgment(id="j", item=item, judge="g", verdict=Grade(4.0))
    with pytest.raises(ConfigurationError, match="no judgment of the input has one"):
        check_labels([Bar("precision", 0.5)], [graded])
    check_labels([Bar("precision", 0.5)], [graded], {"grade": parse_right("side:3")})
