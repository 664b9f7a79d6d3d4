"""Fitting, saving and applying a calibration."""

import numpy as np
import pytest
from scipy.special import expit, logit

from metajudge.calibration.domain import Mark
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import guaranteed_threshold
from metajudge.calibration.levels import UNKNOWN
from metajudge.calibration.looks import Looks
from metajudge.calibration.predictions import Marks, Predictions, in_domain
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from tests.calibration.fitted_crowd import FREE, values
from tests.doubles.crowds import SKILLS, crowd
from tests.doubles.dependent_judges import judged
from tests.doubles.graders import graded


def sure(**about):
    found = guaranteed_threshold(
        np.full(60, 0.9), np.ones(60, dtype=bool), [f"q{number}" for number in range(60)], target=0.8, delta=0.1
    )
    return found.model_copy(update=about)


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
    assert fitted.provenance.questions[table.questions[0]][turned[0].id] > 0.85 > 0.7 > values(found)[0]


def test_evidence_of_the_fit_is_used_on_new_data(fitted, fresh):
    """One new judgment alone gets the reliabilities of the fit, not those of itself."""
    records = crowd(40, seed=9, prefix="new")
    item = records[0].item.id
    alone = build_table([one for one in records if one.item.id == item], FREE)
    whole = values(fitted.probabilities(fresh))[[name.startswith(f"{item}/") for name in fresh.judgment_ids]]
    assert values(fitted.probabilities(alone)) == pytest.approx(whole, abs=1e-12)


def test_another_judge_is_refused_unless_told_to_and_so_are_missing_signals(fitted):
    other = build_table(crowd(5, prefix="x", skills=SKILLS | {"raven": 0.8}), FREE, report=lambda j: j.judge == "raven")
    with pytest.raises(InputError, match="judgments by raven, but it was fitted on jay, owl, wren"):
        fitted.probabilities(other)
    found = fitted.probabilities(other, allow_other_identity=True)
    assert all(Mark.OTHER_JUDGE in marks for marks in found.marks)
    assert not np.ma.getmaskarray(found.probabilities).any()
    with pytest.raises(InputError, match="peers is not given"):
        fitted.probabilities(build_table(crowd(5, prefix="x"), ["order", "strength"]))


def test_more_signals_than_fitted_on_are_passed_over(fitted, fresh):
    more = build_table(crowd(40, seed=9, prefix="new"), [*FREE, "rationale", "format"])
    assert values(fitted.probabilities(more)) == pytest.approx(values(fitted.probabilities(fresh)), abs=1e-12)


def test_an_unknown_category_or_signal_absence_is_marked_and_the_category_answered_by_what_holds_for_all():
    fitted = fit_calibration(build_table(crowd(60, categories=("Maths", "Code")), FREE), repeats=1)
    new = build_table(crowd(12, prefix="new", categories=("Maths", "Law")), FREE)
    found = fitted.probabilities(new)
    law = np.array(new.categories) == "Law"
    assert [Mark.UNKNOWN_CATEGORY in marks for marks in found.marks] == law.tolist()
    (level,) = fitted.groups[0].levels
    names = level.design.names()
    shared = [0.0 if "category:" in name else one for name, one in zip(names, level.model.coefficients, strict=True)]
    base = level.design.base(new.with_scales(fitted.scales), new.categories)
    expected = level.model.model_copy(update={"coefficients": tuple(shared)}).probabilities(level.design.matrix(base))
    drawn_in = expit(UNKNOWN * logit(expected))
    assert values(found)[law] == pytest.approx(drawn_in[law])
    assert values(found)[~law] != pytest.approx(expected[~law])
    rng = np.random.default_rng(0)
    words = [one.model_copy(update={"rationale": " ".join("w" * int(rng.integers(5, 60)))}) for one in graded(40)]
    fitted = fit_calibration(build_table(words, ["format"]), repeats=1)
    silent = [one.model_copy(update={"rationale": ""}) for one in graded(5, prefix="x")]
    found = fitted.probabilities(build_table(silent, ["format"]))
    assert all(Mark.ABSENT_SIGNAL in marks for marks in found.marks)


def test_a_guarantee_for_all_judges_is_for_those_that_were_fitted_on(fitted):
    """What was promised of owl, wren and jay together says nothing of a judge nobody labelled."""
    held = fitted.with_guarantee(sure())
    assert held.guarantee_for("owl") == sure()
    assert held.guarantee_for("raven") is None
    assert held.promise_for("owl", ()).judges == tuple(sorted(fitted.identity.judges))
    assert held.promise_for("raven", ()) is None


@pytest.mark.parametrize("mark", list(Mark))
def test_no_guarantee_covers_a_judgment_outside_the_domain(fitted, mark):
    assert fitted.with_guarantee(sure()).promise_for("owl", (mark.value,)) is None


def test_questions_with_more_judgments_than_declared_are_outside(fitted, fresh):
    most = 6  # three judges, both orders
    assert not fitted.with_guarantee(sure(most_per_question=most)).crowded(fresh).any()
    held = fitted.with_guarantee(sure(most_per_question=most - 1))
    found = held.probabilities(fresh)
    assert all(Mark.CROWDED in marks for marks in found.marks)
    assert in_domain(found, approximate=False).all(), "another threshold may be sought on them"
    one_judge = fitted.with_guarantee(sure(most_per_question=2, judges=("owl",)))
    assert not one_judge.crowded(fresh).any(), "two of each question's six are its own"


def test_a_guarantee_covers_its_category_alone_and_the_ledger_changes_no_digest(fitted):
    held = fitted.with_guarantee(sure(category="Maths"))
    assert held.promise_for("owl", (), "Maths").category == "Maths"
    assert held.promise_for("owl", (), "Law") is None
    assert held.promise_for("owl", ()) is None
    both = held.with_guarantee(sure())
    assert len(both.guarantees) == 2
    assert both.promise_for("owl", (), "Law").category is None
    assert held.outside_guarantee("owl", (), "Law") == ("judge_not_covered",)
    looks = Looks()
    guaranteed_threshold([0.9] * 9, [True] * 9, list("abcdefghi"), target=0.8, delta=0.1, looks=looks)
    looked = fitted.model_copy(update={"looks": looks.ledger})
    assert looked.digest == fitted.digest
    assert b'"looks"' not in fitted.to_json()
    assert b'"looks"' in looked.to_json()
    assert fitted.with_guarantee(sure()).fit_digest == fitted.fit_digest != fitted.with_guarantee(sure()).digest


def test_a_threshold_is_sought_on_no_judgment_that_its_promise_would_leave_out():
    marks = Marks(4)
    for row, mark in ((1, Mark.ABSENT_SIGNAL), (2, Mark.SEEN), (3, Mark.SEEN_QUESTION)):
        marks.add(mark, np.arange(4) == row)
    said = Predictions(np.ma.MaskedArray(np.full(4, 0.9)), marks.bits)
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


def test_votes_keep_their_sign_and_share_one_scale(fitted, table):
    level = fitted.groups[0].levels[0]
    votes = [one for one in level.design.features if level.design.factors[one.factor].name.startswith("voices.")]
    assert len(votes) == 3 * (1 + 2)
    assert {one.mean for one in votes} == {0.0}
    assert len({one.scale for one in votes}) == 1


def test_judges_that_became_copies_put_a_judgment_outside_the_domain():
    honest = list(judged(60, judges=("ant", "bee", "cat", "dog")))
    fitted = fit_calibration(build_table(honest, FREE), repeats=1)
    same = build_table(list(judged(60, seed=5, judges=("ant", "bee", "cat", "dog"), prefix="n")), FREE)
    assert all(Mark.DEPENDENT not in marks for marks in fitted.probabilities(same).marks)
    report = {"ant", "bee", "cat", "dog"}
    attacked = list(judged(60, seed=5, judges=("ant", "bee", "cat", "dog"), copies=("fox",), prefix="n"))
    table = build_table(attacked, FREE, report=lambda one: one.judge in report)
    assert all(Mark.DEPENDENT in marks for marks in fitted.probabilities(table).marks)
    again = type(fitted).model_validate_json(fitted.to_json())
    assert again.provenance.dependence == fitted.provenance.dependence
    before = fitted.provenance.model_copy(update={"dependence": None})
    earlier = fitted.model_copy(update={"provenance": before})
    assert b"dependence" not in earlier.to_json()
    assert all(Mark.DEPENDENT not in marks for marks in earlier.probabilities(table).marks)


@pytest.mark.slow
def test_copies_that_were_there_in_the_fit_are_inside():
    names = {"judges": ("ant", "bee", "cat", "dog"), "copies": ("fox",)}
    fitted = fit_calibration(build_table(list(judged(120, **names)), FREE), repeats=1)
    assert fitted.provenance.dependence.copies == (("ant", "fox"),)
    fresh = build_table(list(judged(60, seed=5, prefix="n", **names)), FREE)
    assert all(Mark.DEPENDENT not in marks for marks in fitted.probabilities(fresh).marks)
