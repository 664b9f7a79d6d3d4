"""Calibrations of grades, categories and rankings: one kind, one rule, the same promises."""

import json

import numpy as np
import pytest

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import Mark
from metajudge.calibration.files import load_calibration, save_calibration
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.quality import precision_at
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Category, Grade, Right
from tests.doubles.crowds import crowd
from tests.doubles.graders import chosen, graded


@pytest.fixture(scope="module")
def categories():
    return build_table(graded(120), None)


@pytest.fixture(scope="module")
def fitted(categories):
    return fit_calibration(categories, repeats=1)


def test_a_calibration_of_categories_is_better_than_its_judges(categories, fitted):
    quality = fitted.quality[""]
    assert fitted.kind == "category"
    assert quality.auc.value > 0.7
    assert quality.precision_at["40"] > quality.base + 0.08


def test_it_answers_for_new_responses_and_out_of_fold_for_the_very_verdicts_fitted_on(fitted):
    new = build_table(graded(80, seed=5, prefix="new"), None)
    found = fitted.probabilities(new)
    assert set(found.marks) == {()}
    assert precision_at(np.asarray(found.probabilities), new.correct, 0.4) > new.correct.mean() + 0.08
    seen = fitted.probabilities(build_table(graded(120), None))
    assert set(seen.marks) == {(Mark.SEEN,)}
    records = graded(120)
    other = "fail" if str(records[0].verdict) == "pass" else "pass"
    records[0] = records[0].model_copy(update={"verdict": Category(other)})
    found = fitted.probabilities(build_table(records, fitted.identity.signals, kind="category"))
    assert Mark.SEEN_QUESTION in found.marks[0]
    assert found.marks[1] == (Mark.SEEN,)


def test_a_file_gives_the_same_probabilities(fitted, tmp_path):
    save_calibration(fitted, tmp_path / "c.json")
    again = load_calibration(tmp_path / "c.json")
    assert again == fitted
    table = build_table(graded(20, seed=6, prefix="x"), None)
    assert np.array_equal(again.probabilities(table).probabilities, fitted.probabilities(table).probabilities)


def test_files_of_pairs_do_not_say_so(tmp_path):
    made = fit_calibration(build_table(crowd(40), ["order", "strength"]), repeats=1)
    data = json.loads(made.to_json())
    assert not {"kind", "right"} & data["identity"].keys()
    assert not {"sides"} & {name for one in data["reliabilities"].values() for name in one}
    loaded = Calibration.model_validate(data)
    assert (loaded.kind, str(loaded.right)) == ("pairwise", "top1")


def test_another_kind_and_another_rule_are_refused(fitted):
    with pytest.raises(InputError, match="verdicts of the kind grade, right by the rule equal"):
        fitted.probabilities(build_table(graded(10, kind="grade"), fitted.identity.signals))
    with pytest.raises(InputError, match="right by the rule side:1"):
        fitted.probabilities(build_table(graded(10), fitted.identity.signals, right=Right("side", 1)))


def test_grades_are_right_by_the_rule_that_is_declared():
    records = graded(60, kind="grade")
    equal, near = build_table(records, ["peers"]), build_table(records, ["peers"], right=Right("within", 1))
    assert (equal.kind, str(equal.right)) == ("grade", "equal")
    assert 0.6 < equal.correct.mean() < 0.9
    assert near.correct.all()


@pytest.mark.slow
def test_choices_of_the_best_of_four_are_fitted():
    table = build_table(chosen(), None)
    assert (table.kind, table.signals) == ("ranking", ("order", "peers"))
    made = fit_calibration(table, repeats=1)
    assert made.quality[""].precision_at["60"] > made.quality[""].base + 0.08


def test_kinds_are_never_mixed_and_a_rule_must_apply_to_the_kind():
    records = [*graded(3), *graded(2, kind="grade", prefix="n"), *crowd(1)]
    with pytest.raises(InputError, match=r"several kinds \(6 x pairwise, 6 x grade, 9 x category\).*--kind category"):
        build_table(records, ["peers"])
    table = build_table(records, ["peers"], kind="grade")
    assert (len(table), table.left_out) == (6, {"category": 9, "pairwise": 6})
    with pytest.raises(InputError, match="the rule within:1 does not apply to verdicts of the kind category"):
        build_table(graded(3), ["peers"], right=Right("within", 1))


def test_of_single_responses_only_the_signals_named_are_computed():
    """A judge that grades one response three times, twice alike: of its other two one agrees with each of the pair."""
    one = graded(1, kind="category", skills={"owl": 1.0})[0]
    other = "fail" if str(one.verdict) == "pass" else "pass"
    said = [one.verdict, one.verdict, Category(other)]
    records = [one.model_copy(update={"id": f"r{at}", "verdict": verdict}) for at, verdict in enumerate(said)]
    table = build_table(records, ["repeats"])
    assert {name: column.values.tolist() for name, column in table.columns.items()} == {"repeats.support": [0, 0, -1]}
    assert table.columns["repeats.support"].present.all()


def test_no_signal_sees_a_label():
    for kind in ("category", "grade"):
        one, other = (
            build_table(graded(20, kind=kind, labelled=given), ["peers", "format"]) for given in (True, False)
        )
        assert one.columns.keys() == other.columns.keys()
        for name, column in one.columns.items():
            assert np.array_equal(column.values, other.columns[name].values), name


def test_labels_of_one_item_are_put_together_from_all_its_records():
    records = graded(1)
    people = [("ann", "pass"), ("bob", "fail"), ("cat", "fail")]
    spread = [
        one.model_copy(
            update={
                "item": one.item.model_validate(
                    one.item.model_dump() | {"label": None, "labels": [{"value": value, "annotator": name}]}
                )
            }
        )
        for one, (name, value) in zip(records, people, strict=True)
    ]
    table = build_table(spread, ["peers"])
    assert table.labelled.all()
    assert table.correct.tolist() == [str(one.verdict) == "fail" for one in records]


@pytest.mark.parametrize(("unit", "number"), [("question", 1), ("item", 4), ("text", 1)])
def test_responses_of_one_question_are_one_unit(unit, number):
    records = [
        one.model_copy(update={"item": one.item.model_copy(update={"question": "the same"})}) for one in graded(4)
    ]
    assert len(set(build_table(records, ["peers"]).by(unit).questions)) == number


def test_stated_confidence_is_evidence_and_grades_against_pass_and_fail_have_a_pass_mark():
    records = [one.model_copy(update={"meta": {"confidence": 0.5}}) for one in graded(3)]
    assert build_table(records, None).columns["confidence.stated"].values.tolist() == [0.5] * 9
    assert "confidence" not in build_table(graded(3), None).signals
    records = [
        one.model_copy(update={"item": one.item.model_copy(update={"label": Category("pass")})})
        for one in graded(5, kind="grade")
    ]
    table = build_table(records, ["peers"])
    assert table.right.name == "side"
    values = [one.verdict.value for one in records if isinstance(one.verdict, Grade)]
    assert table.correct.tolist() == [value >= (min(values) + max(values)) / 2 for value in values]
