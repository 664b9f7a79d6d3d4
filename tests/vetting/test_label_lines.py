"""What vet prints of labels: by question, and what a guarantee covers apart from what it does not."""

import pytest

from metajudge.calibration.domain import Mark
from metajudge.cli.vet_report import _by_labels
from metajudge.evidence.counting import Counts
from metajudge.stats.intervals import wilson
from metajudge.types import GuaranteedThreshold
from metajudge.vetting.sentences import label_lines
from metajudge.vetting.summary import VetSummary
from tests.preferences.vetted import assessment, judgment

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


def test_copies_of_one_question_do_not_make_the_interval_narrow(counted):
    labels, _ = counted
    independent, found = wilson(90, 120), labels.rows()["kept"].share
    assert (found.successes, found.n, found.clusters) == (90, 120, 20)
    assert found.high - found.low > 2 * (independent.high - independent.low)
    (_, _, covered, other, *_) = label_lines(labels, guaranteed=True)
    assert covered.startswith(
        "  kept under the guarantee   60 of 60 right, precision 100.0 % (72.2 to 100.0, 10 questions)"
    )
    assert "30 of 60 right" in other


def test_plain_data_keep_their_old_names_and_say_intervals_by_question(counted):
    labels, summary = counted
    data = _by_labels(labels)
    assert (data["all"], data["all_correct"], data["kept"], data["kept_correct"]) == (120, 90, 120, 90)
    assert data["precision"]["kept_under_guarantee"]["clusters"] == 10
    assert summary.to_json()["kept"] == 120
    assert summary.to_json()["kept_without_guarantee"] == {"absent_signal": 60}
    assert _by_labels(Counts()) is None
