"""Bars and lines about labels: what counts as reached, and of what the share is."""

import pytest

from metajudge.calibration.domain import Mark
from metajudge.cli.vet_report import _by_labels
from metajudge.errors import ConfigurationError
from metajudge.evidence.counting import Counts
from metajudge.stats.intervals import wilson
from metajudge.types import GuaranteedThreshold
from metajudge.vetting.bars import Bar, Reached, check_labelled, reached_by
from metajudge.vetting.sentences import label_lines
from metajudge.vetting.summary import VetSummary
from tests.exports.vetted import assessment, judgment


def test_the_bar_itself_is_enough_despite_float_noise_and_nothing_kept_is_no_precision_of_one():
    assert Reached(Bar("precision", 0.1 + 0.2), 3, 10).passed
    assert not Reached(Bar("precision", 0.31), 3, 10).passed
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


def test_input_without_labels_is_refused_for_a_precision_alone():
    with pytest.raises(ConfigurationError, match="no judgment of the input has one"):
        check_labelled([Bar("precision", 0.5)], labelled=False)
    check_labelled([Bar("kept", 0.5)], labelled=False)
    check_labelled([Bar("precision", 0.5)], labelled=True)


PROMISED = GuaranteedThreshold(threshold=0.5, target=0.9, delta=0.1)


def vetted(questions=20, copies=6):
    """Copies of a judgment of every question, of which one in four is wrong; every second question is guaranteed."""
    for number in range(questions):
        for copy in range(copies):
            said = judgment(number, id=f"{number}/{copy}", label="A>B" if number % 4 else "B>A")
            marks = () if number % 2 else (Mark.ABSENT_SIGNAL.value,)
            stamp = PROMISED if number % 2 else None
            found = assessment(said, probability=0.9, probability_marks=marks, guarantee=stamp, outside_guarantee=marks)
            yield said, found


@pytest.fixture
def counted():
    labels, summary = Counts(), VetSummary(guarantees=["a promise"], calibrated=True)
    for said, found in vetted():
        labels.add(said, found)
        summary.add(found, reused=False)
    return labels, summary


def test_copies_of_one_question_make_no_interval_narrow_also_in_plain_data(counted):
    labels, _ = counted
    independent, found = wilson(90, 120), labels.rows()["kept"].share
    assert (found.successes, found.n, found.clusters) == (90, 120, 20)
    assert found.high - found.low > 2 * (independent.high - independent.low)
    (_, _, covered, other, *_) = label_lines(labels, guaranteed=True)
    assert covered.startswith(
        "  kept under the guarantee   60 of 60 right, precision 100.0 % (72.2 to 100.0, 10 questions)"
    )
    assert "30 of 60 right" in other
    labels, summary = counted
    data = _by_labels(labels)
    assert (data["all"], data["all_correct"], data["kept"], data["kept_correct"]) == (120, 90, 120, 90)
    assert data["precision"]["kept_under_guarantee"]["clusters"] == 10
    assert summary.to_json()["kept"] == 120
    assert summary.to_json()["kept_without_guarantee"] == {"absent_signal": 60}
    assert _by_labels(Counts()) is None
