"""Labelled judgments: whose are rows, whose labels count, which rows a guarantee is based on."""

import json
from pathlib import Path

import numpy as np
import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.errors import InputError
from metajudge.feedback.labels import ReviewLabels
from metajudge.reading import open_judgments, write_jsonl
from metajudge.store import RunRecord, open_store
from metajudge.store.run_results import RunResult
from metajudge.types import Judgment, Right
from metajudge.vetting.comparison import Labelled
from metajudge.vetting.labelled import LabelledRecords, threshold_rows
from metajudge.vetting.recorded_sides import labelled_by, load_side, load_sides
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import assessed, judgment

SIGNALS = ["order", "strength", "peers"]
RECORDS = crowd(40)
JUDGES = sorted({one.judge for one in RECORDS})


def test_rows_are_by_the_judges_asked_for_who_must_be_there():
    records = LabelledRecords(RECORDS)
    alone = records.table(SIGNALS, JUDGES[:1])
    assert set(alone.judges) == {JUDGES[0]}
    assert set(alone.known_judges) == set(JUDGES)
    assert set(records.table(SIGNALS).judges) == set(JUDGES)
    records = LabelledRecords(RECORDS)
    with pytest.raises(InputError, match="no judgment by 'nobody'; the judges here are"):
        records.table(SIGNALS, [JUDGES[0], "nobody"])
    assert set(records.table(SIGNALS, known=[JUDGES[0], "nobody"]).judges) == {JUDGES[0]}
    with pytest.raises(InputError, match="no judgment by 'nobody'"):
        records.table(SIGNALS, known=["nobody"])


def test_labels_of_people_replace_those_of_the_records_and_those_of_other_judgments_are_an_error():
    one, other = RECORDS[:2]
    people = ReviewLabels({one.digest: False, other.digest: True}, {one.digest: 2.0, other.digest: 1.0}, "reviewed")
    table = LabelledRecords(RECORDS).table(SIGNALS, people=people)
    labelled = table.select(table.labelled)
    assert dict(zip(labelled.judgment_ids, labelled.correct.tolist(), strict=True)) == {one.id: False, other.id: True}
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
    def test_new_questions_are_taken_where_there_are_any_else_it_is_approximate_or_an_error(self, fitted):
        rows = threshold_rows(fitted, LabelledRecords(RECORDS).table(SIGNALS), stated_random=True)
        assert not rows.approximate
        assert set(rows.table.questions).isdisjoint(fitted.provenance.questions)
        assert len(rows.probabilities) == len(rows.table.questions)
        assert "questions that were not fitted on" in rows.notes[0]
        rows = threshold_rows(fitted, LabelledRecords(RECORDS).table(SIGNALS), only_new=False, stated_random=True)
        assert rows.approximate
        assert set(rows.table.questions) & set(fitted.provenance.questions)
        table = LabelledRecords(RECORDS).table(SIGNALS)
        table = table.select(np.array([question in fitted.provenance.questions for question in table.questions]))
        with pytest.raises(InputError, match="every question was fitted on"):
            threshold_rows(fitted, table, only_new=True, stated_random=True)
        assert threshold_rows(fitted, table, stated_random=True).approximate


def test_the_kind_and_the_rule_are_passed_on():
    records = LabelledRecords([*RECORDS[:6], *graded(4, kind="grade")])
    with pytest.raises(InputError, match="verdicts of several kinds"):
        records.table(None)
    table = records.table(None, kind="grade", right=Right("within", 1))
    assert (table.kind, str(table.right), len(table)) == ("grade", "within:1", 12)
    assert "peers" in table.signals


# Sides of a comparison: files, runs in a store, and stores of one panel.
def assessment(name, accepted, score=None, item=None, digest="d"):
    status = "unscored" if accepted is None else "assessed"
    changes = {"accepted": accepted, "status": status, "judgment_digest": f"{digest}-{name}"}
    return assessed(judgment(name, item_id=item or name), score, **changes)


async def test_two_contents_of_one_id_in_a_file_cannot_be_paired(tmp_path):
    path = tmp_path / "out.jsonl"
    lines = [assessment("a", True), assessment("a", True, digest="other")]
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in lines))
    with pytest.raises(InputError, match="two different judgments"):
        await load_side(str(path), tmp_path / "none.duckdb")


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "there is no store"), (".", "is a folder"), ("x.jsonl", "no assessment")]
)
async def test_what_is_no_run_is_named(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text('{"id": "j"}\n')
    with pytest.raises(InputError, match=said):
        await load_side(name, Path("none.duckdb"))


async def kept(path, *runs):
    """A store with some runs, each of which kept one assessment by a panel of its own."""
    store = await open_store(path)
    for number, name in enumerate(runs):
        await store.start_run(RunRecord(name, "vet", float(number), "running", {"panel_digest": name}))
        one = judgment(f"j{number}")
        said = assessment(one.id, True).model_copy(update={"panel_digest": name, "judgment_digest": one.digest})
        await store.save_assessment(f"k{number}", one, said, name)
        await store.finish_run(name, "finished", float(number), {"judgments": 1})
    await store.close()


async def test_labels_given_later_count_and_other_contents_do_not(tmp_path):
    path = tmp_path / "out.jsonl"
    bare = judgment("j1", label=None)
    said = assessment("j1", True).model_copy(update={"judgment_digest": bare.digest})
    path.write_text(f"{said.model_dump_json()}\n")
    for given, there in ((judgment("j1"), True), (bare, False), (judgment("j1", verdict="B>A"), False)):
        side = await load_side(str(path), tmp_path / "none.duckdb")
        one, other = labelled_by((side, side), iter([given]))
        assert bool(one.labelled) is bool(other.labelled) is there


async def test_a_line_is_read_as_far_as_it_is_compared(tmp_path):
    path, known = tmp_path / "out.jsonl", assessment("a", True, 4.75).model_dump(mode="json")
    path.write_text(json.dumps(known | {"of a later version": 1}) + "\n")
    found = (await load_side(str(path), tmp_path / "none.duckdb")).results["a"]
    assert found == RunResult(0, 0, "a", "a", "d-a", "p", True, 4.75)
    path.write_text(json.dumps(known) + "\n" + json.dumps(known | {"accepted": "perhaps"}) + "\n")
    with pytest.raises(InputError, match=r"out.jsonl:2: no assessment: accepted: .*boolean"):
        await load_side(str(path), tmp_path / "none.duckdb")


async def test_a_run_is_found_by_the_beginning_of_its_id_where_that_is_enough(tmp_path):
    path = tmp_path / "store.duckdb"
    await kept(path, "aa1", "aa2", "b")
    assert list((await load_side("aa2", path)).results) == ["j1"]
    assert {name: one.truth.to_json() for name, one in (await load_side("b", path)).labelled.items()} == {"j2": "A>B"}
    with pytest.raises(InputError, match=r"2 runs in .* begin with 'aa'"):
        await load_side("aa", path)
    with pytest.raises(InputError, match=r"no run 'c' in .*the newest runs are: b \(vet\), aa2"):
        await load_side("c", path)
    with pytest.raises(InputError, match="by 3 panels: name a run"):
        await load_side(str(path), path)


async def test_labels_in_a_store_are_those_of_its_judgments(tmp_path):
    path = tmp_path / "store.duckdb"
    people = [{"value": value, "annotator": who} for who, value in (("a", "A>B"), ("b", "A=B"), ("c", "A>B"))]
    pair = judgment("people", label=None).model_dump(mode="json")
    graded = {"question": "How good?", "responses": {"A": "4"}, "scale": [1, 10], "label": 7}
    given = [
        judgment("own", verdict="B>>A"),
        judgment("none", label=None),
        judgment("silent", verdict=None, no_verdict="cut off"),
        Judgment.model_validate({**pair, "item": {**pair["item"], "labels": people}}),
        Judgment.model_validate({**pair, "id": "both", "item": {**pair["item"], "label": "B>A", "labels": people}}),
        Judgment.model_validate(
            {"id": "grade", "judge": "owl", "verdict": 6, "order": ["A"], "item": {"id": "g", **graded}}
        ),
    ]
    store = await open_store(path)
    await store.start_run(RunRecord("run", "vet", 1.0, "finished", {"panel_digest": "p"}))
    for number, one in enumerate(given):
        said = assessment(one.id, True, item=one.item.id).model_copy(update={"judgment_digest": one.digest})
        await store.save_assessment(f"k{number}", one, said, "run")
    await store.close()
    wanted = {one.id: Labelled.of(one) for one in given}
    for side in await load_sides("run", str(path), path):
        assert dict(side.labelled) == {name: one for name, one in wanted.items() if one is not None}
        assert set(side.labelled) == {"own", "people", "both", "grade"}
        assert list(side.results) == [one.id for one in given]
