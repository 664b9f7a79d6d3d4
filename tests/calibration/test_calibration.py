"""Fitting, saving and applying a calibration."""

import json

import numpy as np
import orjson
import pytest

from metajudge.calibration.calibration import Predictions, in_domain
from metajudge.calibration.domain import Mark
from metajudge.calibration.files import load_calibration, save_calibration
from metajudge.calibration.fit import fit_calibration, judge_groups, out_of_fold
from metajudge.calibration.guarantee import guaranteed_threshold
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Grade
from tests.doubles.crowds import SKILLS, crowd, relabelled
from tests.doubles.judgments import judgment

FREE = ["order", "strength", "peers"]


@pytest.fixture(scope="module")
def records():
    return crowd(60)


@pytest.fixture(scope="module")
def table(records):
    return build_table(records, FREE)


@pytest.fixture(scope="module")
def fitted(table):
    return fit_calibration(table, repeats=1)


@pytest.fixture(scope="module")
def fresh():
    return build_table(crowd(40, seed=9, prefix="new"), FREE)


def values(predictions):
    return np.ma.getdata(predictions.probabilities)


def test_probabilities_tell_right_from_wrong_on_new_questions(fitted, fresh):
    found = values(fitted.probabilities(fresh))
    assert (
        log_losses(found, fresh.correct).mean()
        < log_losses(np.full(len(found), fresh.correct.mean()), fresh.correct).mean() - 0.1
    )
    assert abs(found.mean() - fresh.correct.mean()) < 0.08
    assert fitted.quality[""].auc.estimate > 0.75


def test_models_are_compared_and_the_best_is_taken(fitted):
    (group,) = fitted.groups
    losses = [one.log_loss for one in group.tried]
    assert losses == sorted(losses)
    assert group.chosen == group.tried[0].name
    assert {"isotonic", "boosting"} <= {one.name for one in group.tried}
    assert any(one.name.startswith("moderated") for one in group.tried)


def test_saved_and_read_again_it_gives_the_same_probabilities_and_the_same_bytes(fitted, fresh, tmp_path):
    save_calibration(fitted, tmp_path / "cal.json")
    again = load_calibration(tmp_path / "cal.json")
    assert np.array_equal(values(again.probabilities(fresh)), values(fitted.probabilities(fresh)))
    save_calibration(again, tmp_path / "again.json")
    assert (tmp_path / "cal.json").read_bytes() == (tmp_path / "again.json").read_bytes()


def test_the_order_of_the_lines_changes_no_byte(records, fitted):
    shuffled = [records[at] for at in np.random.default_rng(2).permutation(len(records))]
    assert fit_calibration(build_table(shuffled, FREE), repeats=1).to_json() == fitted.to_json()


def test_swapping_the_responses_labels_changes_no_probability(records, fitted, fresh):
    swapped = build_table(relabelled(crowd(40, seed=9, prefix="new")), FREE)
    assert values(fitted.probabilities(swapped)) == pytest.approx(values(fitted.probabilities(fresh)), abs=1e-9)


def test_questions_of_the_fit_get_their_out_of_fold_probability_and_are_marked(table, fitted):
    found = fitted.probabilities(table)
    stored = fitted.provenance.questions
    for row, (name, question) in enumerate(zip(table.judgment_ids, table.questions, strict=True)):
        assert found.probabilities[row] == stored[question][name]
        assert found.marks[row] == (Mark.SEEN,)


def test_another_judgment_of_a_question_of_the_fit_is_marked(records, fitted):
    one = records[0].model_copy(update={"id": "unheard"})
    rest = [other for other in records if other.id != records[0].id]
    found = fitted.probabilities(build_table([one, *rest], FREE, report=lambda j: j.id == "unheard"))
    assert found.marks == ((Mark.SEEN_QUESTION,),)


def test_a_verdict_made_again_under_its_old_id_does_not_get_the_probability_of_the_opposite_one(records, table, fitted):
    """A second run of the same judge has the same ids: what is stored belongs to the verdict that was fitted on."""
    turned = [one.model_copy(update={"verdict": one.verdict.relabelled({"A": "B", "B": "A"})}) for one in records]
    assert set(fitted.probabilities(build_table(turned, FREE)).marks) == {(Mark.SEEN_QUESTION,)}
    found = fitted.probabilities(build_table([turned[0], *records[1:]], FREE))
    assert (table.judgment_ids[0], found.marks[0]) == (turned[0].id, (Mark.SEEN_QUESTION,))
    assert set(found.marks[1:]) == {(Mark.SEEN,)}
    assert fitted.provenance.questions[table.questions[0]][turned[0].id] > 0.9 > 0.7 > values(found)[0]


def test_a_calibration_whose_verdicts_were_cut_is_refused_and_one_without_them_still_reads(fitted, table, tmp_path):
    data = orjson.loads(fitted.to_json())
    old = {**data, "provenance": {name: one for name, one in data["provenance"].items() if name != "verdicts"}}
    (tmp_path / "old.json").write_bytes(orjson.dumps(old))
    assert set(load_calibration(tmp_path / "old.json").probabilities(table).marks) == {(Mark.SEEN,)}
    data["provenance"]["verdicts"].popitem()
    (tmp_path / "cut.json").write_bytes(orjson.dumps(data))
    with pytest.raises(InputError, match="verdicts do not match"):
        load_calibration(tmp_path / "cut.json")


def test_out_of_fold_probabilities_do_not_see_their_own_questions_labels(records):
    """With labels drawn at random there is nothing to learn: in-sample fits would still tell right from wrong."""
    rng = np.random.default_rng(4)
    flips = {f"q{number}": rng.random() < 0.5 for number in range(60)}
    noise = [
        one.model_copy(
            update={"item": one.item.model_copy(update={"label": one.item.label.relabelled({"A": "B", "B": "A"})})}
        )
        if flips[one.item.id]
        else one
        for one in records
    ]
    table = build_table(noise, FREE)
    found = out_of_fold(table)
    base = np.full(len(table), table.correct.mean())
    assert log_losses(found, table.correct).mean() > log_losses(base, table.correct).mean() - 0.02


def test_evidence_of_the_fit_is_used_on_new_data(fitted, fresh):
    """One new judgment alone gets the reliabilities of the fit, not those of itself."""
    records = crowd(40, seed=9, prefix="new")
    item = records[0].item.id
    alone = build_table([one for one in records if one.item.id == item], FREE)
    whole = values(fitted.probabilities(fresh))[[name.startswith(f"{item}/") for name in fresh.judgment_ids]]
    assert values(fitted.probabilities(alone)) == pytest.approx(whole, abs=1e-12)


def test_another_judge_is_refused_unless_told_to(fitted):
    other = build_table(crowd(5, prefix="x", skills=SKILLS | {"raven": 0.8}), FREE, report=lambda j: j.judge == "raven")
    with pytest.raises(InputError, match="judgments by raven, but it was fitted on jay, owl, wren"):
        fitted.probabilities(other)
    found = fitted.probabilities(other, allow_other_identity=True)
    assert all(Mark.OTHER_JUDGE in marks for marks in found.marks)
    assert not np.ma.getmaskarray(found.probabilities).any()


def test_missing_signals_are_refused(fitted):
    with pytest.raises(InputError, match="peers is not given"):
        fitted.probabilities(build_table(crowd(5, prefix="x"), ["order", "strength"]))


def test_more_signals_than_fitted_on_are_passed_over(fitted, fresh):
    more = build_table(crowd(40, seed=9, prefix="new"), [*FREE, "rationale", "format"])
    assert values(fitted.probabilities(more)) == pytest.approx(values(fitted.probabilities(fresh)), abs=1e-12)


def test_an_unknown_category_is_marked_and_answered_by_its_parent():
    parts = ("Maths/Algebra", "Maths/Sets", "Code/C", "Code/Lisp")
    fitted = fit_calibration(build_table(crowd(60, categories=parts), FREE), repeats=1)
    assert [level.depth for level in fitted.groups[0].levels] == ["full", "parent", "none"]
    new = build_table(crowd(12, prefix="new", categories=("Maths/Graphs", "Law")), FREE)
    found = fitted.probabilities(new)
    assert all(Mark.UNKNOWN_CATEGORY in marks for marks in found.marks)
    parent = fitted.groups[0].levels[1].probabilities(new.with_scales(fitted.scales))
    mine = np.array(new.categories) == "Maths/Graphs"
    assert np.array_equal(values(found)[mine], parent[mine])
    assert not np.array_equal(values(found)[~mine], parent[~mine])


def test_a_signal_that_was_never_absent_is_marked_where_it_is():
    rng = np.random.default_rng(0)
    words = [one.model_copy(update={"rationale": " ".join("w" * int(rng.integers(5, 60)))}) for one in crowd(40)]
    fitted = fit_calibration(build_table(words, ["strength", "format"]), repeats=1)
    silent = [one.model_copy(update={"rationale": ""}) for one in crowd(5, prefix="x")]
    found = fitted.probabilities(build_table(silent, ["strength", "format"]))
    assert all(Mark.ABSENT_SIGNAL in marks for marks in found.marks)


def test_a_guarantee_for_all_judges_is_for_those_that_were_fitted_on(fitted):
    """What was promised of owl, wren and jay together says nothing of a judge nobody labelled."""
    found = guaranteed_threshold(
        np.full(60, 0.9), np.ones(60, dtype=bool), [f"q{number}" for number in range(60)], target=0.8, delta=0.1
    )
    held = fitted.with_guarantee(found)
    assert held.guarantee_for("owl") == found
    assert held.guarantee_for("raven") is None
    assert held.promise_for("owl", ()).judges == tuple(sorted(fitted.identity.judges))
    assert held.promise_for("raven", ()) is None


@pytest.mark.parametrize("mark", list(Mark))
def test_no_guarantee_covers_a_judgment_outside_the_domain(fitted, mark):
    found = guaranteed_threshold(
        np.full(60, 0.9), np.ones(60, dtype=bool), [f"q{number}" for number in range(60)], target=0.8, delta=0.1
    )
    assert fitted.with_guarantee(found).promise_for("owl", (mark.value,)) is None


def test_a_threshold_is_sought_on_no_judgment_that_its_promise_would_leave_out():
    said = Predictions(
        np.ma.MaskedArray(np.full(4, 0.9)), ((), (Mark.ABSENT_SIGNAL,), (Mark.SEEN,), (Mark.SEEN_QUESTION,))
    )
    assert in_domain(said, approximate=False).tolist() == [True, False, False, False]
    assert in_domain(said, approximate=True).tolist() == [True, False, True, True]


@pytest.mark.parametrize("gone", ["order", "peers"])
def test_the_other_order_and_peers_that_were_never_missing_are_marked_where_they_are(fitted, fresh, gone):
    """A probability of .95 without any of the evidence it was fitted on must not look like the others."""
    new = crowd(20, seed=9, prefix="new")
    kept = [one for one in new if (one.order == ("A", "B") if gone == "order" else one.judge == "owl")]
    found = fitted.probabilities(build_table(kept, FREE))
    assert all(Mark.ABSENT_SIGNAL in marks for marks in found.marks)
    assert not any(Mark.ABSENT_SIGNAL in marks for marks in fitted.probabilities(fresh).marks)
    never = build_table(new, [name for name in FREE if name != gone])
    assert all(Mark.ABSENT_SIGNAL in marks for marks in fitted.probabilities(never, True).marks)


def test_judges_with_few_judgments_share_a_fit_and_judges_without_common_items_do_not(table):
    assert judge_groups(table, None) == [("jay", "owl", "wren")]
    assert judge_groups(table, False) == [("jay",), ("owl",), ("wren",)]
    apart = build_table([*crowd(8), *crowd(8, prefix="z", skills={"raven": 0.7})], FREE)
    assert judge_groups(apart, None) == [("jay", "owl", "wren"), ("raven",)]
    assert judge_groups(apart, True) == [("jay", "owl", "raven", "wren")]


def test_a_fit_for_each_judge(table, fresh):
    fitted = fit_calibration(table, pooled=False, repeats=1)
    assert [group.judges for group in fitted.groups] == [("jay",), ("owl",), ("wren",)]
    found = values(fitted.probabilities(fresh))
    assert found[np.array(fresh.judges) == "owl"].mean() > found[np.array(fresh.judges) == "jay"].mean() + 0.1


def test_a_calibration_of_another_version_is_refused(fitted, tmp_path):
    data = orjson.loads(fitted.to_json())
    data["identity"]["version"] = 99
    path = tmp_path / "cal.json"
    path.write_bytes(orjson.dumps(data))
    with pytest.raises(InputError, match=r"of version 99.*fit it again"):
        load_calibration(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not valid JSON"), ("[]", "is no calibration"), ('{"identity": {"version": 1}}', "damaged calibration")],
)
def test_what_is_no_calibration_is_refused(tmp_path, content, message):
    (tmp_path / "cal.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load_calibration(tmp_path / "cal.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        load_calibration(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("records", "signals", "message"),
    [
        (crowd(20, labelled=False), FREE, "true labels"),
        ([judgment(f"j{number}") for number in range(20)], ["strength"], "labelled judgments are right"),
        (crowd(3), FREE, "3 questions for 5 folds"),
        ([judgment("j", verdict="A=B")], FREE, r"no decided pairwise judgment to fit on \(1 x tie\)"),
        (crowd(20, skills={"owl": 0.7}), FREE, "the signal peers is absent for every one of the 40"),
        ([one for one in crowd(20) if one.order[0] == "A"], FREE, "the signal order is absent"),
        (
            [one.model_copy(update={"rationale": ""}) for one in crowd(20)],
            ["rationale"],
            "the signal rationale is absent",
        ),
    ],
)
def test_what_cannot_be_fitted_says_why(records, signals, message):
    with pytest.raises(InputError, match=message):
        fit_calibration(build_table(records, signals), repeats=1)


def test_a_label_that_is_no_verdict_on_a_pair_is_no_label():
    graded = [one.model_copy(update={"item": one.item.model_copy(update={"label": Grade(4.0)})}) for one in crowd(4)]
    with pytest.raises(InputError, match="label that names a winner"):
        fit_calibration(build_table(graded, FREE))


def test_the_file_holds_no_texts_and_no_python(fitted):
    text = fitted.to_json().decode()
    assert "question 1" not in text
    assert json.loads(text)["identity"]["judges"] == ["jay", "owl", "wren"]


def test_prediction_from_json_equals_the_design_it_was_fitted_on(fitted, table):
    """What was learned leaves as numbers: the level's matrix has mean 0 and deviation 1 on the rows fitted on."""
    level = fitted.groups[0].levels[0]
    matrix = level.design.matrix(table, table.categories)
    priors = np.array([feature.prior for feature in level.design.features])
    assert matrix.mean(axis=0) == pytest.approx(np.zeros(matrix.shape[1]), abs=1e-9)
    deviation = matrix.std(axis=0)
    assert deviation[deviation > 0] == pytest.approx(priors[deviation > 0], abs=1e-9)
