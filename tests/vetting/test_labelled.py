"""Labelled judgments: whose are rows, whose labels count, which rows a guarantee is based on."""

import numpy as np
import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.errors import InputError
from metajudge.feedback.labels import ReviewLabels
from metajudge.readers import open_judgments, write_jsonl
from metajudge.types import Right
from metajudge.vetting.labelled import LabelledRecords, threshold_rows
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded

SIGNALS = ["order", "strength", "peers"]
RECORDS = crowd(40)
JUDGES = sorted({one.judge for one in RECORDS})


def test_rows_are_by_the_judges_asked_for_and_peers_are_all():
    records = LabelledRecords(RECORDS)
    alone = records.table(SIGNALS, JUDGES[:1])
    assert set(alone.judges) == {JUDGES[0]}
    assert set(alone.known_judges) == set(JUDGES)
    assert set(records.table(SIGNALS).judges) == set(JUDGES)


def test_every_judge_asked_for_must_be_there_and_of_known_ones_some():
    records = LabelledRecords(RECORDS)
    with pytest.raises(InputError, match="no judgment by 'nobody'; the judges here are"):
        records.table(SIGNALS, [JUDGES[0], "nobody"])
    assert set(records.table(SIGNALS, known=[JUDGES[0], "nobody"]).judges) == {JUDGES[0]}
    with pytest.raises(InputError, match="no judgment by 'nobody'"):
        records.table(SIGNALS, known=["nobody"])


def test_labels_of_people_replace_those_of_the_records():
    one, other = RECORDS[:2]
    people = ReviewLabels({one.digest: False, other.digest: True}, {one.digest: 2.0, other.digest: 1.0}, "reviewed")
    table = LabelledRecords(RECORDS).table(SIGNALS, people=people)
    labelled = table.select(table.labelled)
    assert dict(zip(labelled.judgment_ids, labelled.correct.tolist(), strict=True)) == {one.id: False, other.id: True}


def test_people_who_decided_other_judgments_are_an_error():
    people = ReviewLabels({"another digest": True}, {"another digest": 1.0}, "reviewed")
    with pytest.raises(InputError, match="none of the 1 judgments that people decided is among these records"):
        LabelledRecords(RECORDS).table(SIGNALS, people=people)


@pytest.mark.parametrize("judges", [None, JUDGES[:1]])
def test_records_of_a_file_give_the_fit_of_records_at_hand(tmp_path, judges):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, RECORDS)
    of_file, at_hand = (LabelledRecords(records).table(None, judges) for records in (open_judgments([path]), RECORDS))
    assert (of_file.judgment_ids, of_file.questions) == (at_hand.judgment_ids, at_hand.questions)
    assert fit_calibration(of_file, seed=0, folds=2) == fit_calibration(at_hand, seed=0, folds=2)


def test_labels_of_people_are_found_by_the_records_of_a_file(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, RECORDS)
    people = ReviewLabels({RECORDS[0].digest: True, RECORDS[1].digest: False}, {}, "reviewed")
    of_file, at_hand = (
        LabelledRecords(given).table(SIGNALS, people=people) for given in (open_judgments([path]), RECORDS)
    )
    assert of_file.labelled.sum() == 2
    assert np.array_equal(of_file.labelled, at_hand.labelled)


def test_a_bad_line_is_reported_once_with_its_place(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, RECORDS)
    path.write_text(path.read_text() + "no json\n" * 2)
    notices = []
    LabelledRecords(open_judgments([path]), [path], notify=notices.append).table(SIGNALS)
    (notice,) = notices
    assert "2 bad lines were left out, the first at" in notice
    assert f":{len(RECORDS) + 1}" in notice


@pytest.fixture(scope="module")
def fitted():
    questions = sorted({one.item.id for one in RECORDS})
    half = [one for one in RECORDS if one.item.id in questions[: len(questions) // 2]]
    return fit_calibration(LabelledRecords(half).table(SIGNALS), seed=0, folds=2)


class TestThresholdRows:
    def test_new_questions_are_taken_where_there_are_any(self, fitted):
        rows = threshold_rows(fitted, LabelledRecords(RECORDS).table(SIGNALS))
        assert not rows.approximate
        assert set(rows.table.questions).isdisjoint(fitted.provenance.questions)
        assert len(rows.probabilities) == len(rows.table.questions)
        assert "questions that were not fitted on" in rows.notes[0]

    def test_all_questions_make_it_approximate(self, fitted):
        rows = threshold_rows(fitted, LabelledRecords(RECORDS).table(SIGNALS), only_new=False)
        assert rows.approximate
        assert set(rows.table.questions) & set(fitted.provenance.questions)

    def test_without_new_ones_asking_for_them_is_an_error(self, fitted):
        table = LabelledRecords(RECORDS).table(SIGNALS)
        table = table.select(np.array([question in fitted.provenance.questions for question in table.questions]))
        with pytest.raises(InputError, match="every question was fitted on"):
            threshold_rows(fitted, table, only_new=True)
        assert threshold_rows(fitted, table).approximate


def test_the_kind_and_the_rule_are_passed_on():
    records = LabelledRecords([*RECORDS[:6], *graded(4, kind="grade")])
    with pytest.raises(InputError, match="verdicts of several kinds"):
        records.table(None)
    table = records.table(None, kind="grade", right=Right("within", 1))
    assert (table.kind, str(table.right), len(table)) == ("grade", "within:1", 12)
    assert "peers" in table.signals
