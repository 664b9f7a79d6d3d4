"""Fitting: which model, which groups of judges, and no label seen by its own fold."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import orjson
import pytest

from metajudge.calibration.domain import Mark
from metajudge.calibration.files import load_calibration, locked, save_calibration, save_fit
from metajudge.calibration.fit import ENOUGH, FEW, fit_calibration, fit_here, out_of_fold, why_no_calibration
from metajudge.calibration.guarantee import guaranteed_threshold
from metajudge.calibration.item_model import PENALTIES
from metajudge.calibration.looks import Looks
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Grade, Pairwise
from tests.calibration.fitted_crowd import FREE, values
from tests.doubles.crowds import crowd, relabelled
from tests.doubles.judgments import judgment


def test_probabilities_tell_right_from_wrong_on_new_questions(fitted, fresh):
    found = values(fitted.probabilities(fresh))
    assert (
        log_losses(found, fresh.correct).mean()
        < log_losses(np.full(len(found), fresh.correct.mean()), fresh.correct).mean() - 0.1
    )
    assert abs(found.mean() - fresh.correct.mean()) < 0.08
    assert fitted.quality[""].auc.value > 0.75


def test_penalties_are_compared_and_the_best_is_taken_where_there_are_labels_enough(fitted):
    (few,) = fitted.groups
    assert [one.name for one in few.tried] == [few.chosen] == [f"item C={PENALTIES[1]:g}"]
    (group,) = fit_calibration(build_table(crowd(ENOUGH), FREE), repeats=1).groups
    losses = [one.log_loss for one in group.tried]
    assert losses == sorted(losses)
    assert group.chosen == group.tried[0].name
    assert {one.name for one in group.tried} == {f"item C={penalty:g}" for penalty in PENALTIES}


def test_judges_that_use_the_same_signal_in_opposite_ways_are_told_apart():
    """Without peers a model without the judge could not know whose strong verdicts are the wrong ones."""
    rng = np.random.default_rng(7)
    made = []
    for one in crowd(150, seed=5, skills={"bold": 0.5, "meek": 0.5}):
        strong = bool(rng.random() < 0.5)
        good = rng.random() < (0.95 if strong == (one.judge == "bold") else 0.3)
        winner = one.item.label.winner if good else next(n for n in "AB" if n != one.item.label.winner)
        loser = "B" if winner == "A" else "A"
        verdict = Pairwise(winner, loser, 1 + strong)
        made.append(one.model_copy(update={"verdict": verdict}))
    table = build_table(made, ["strength"])
    strong = table.columns["strength.strong"].values > 0
    found = out_of_fold(table)
    bold = np.array(table.judges) == "bold"
    assert found[bold & strong].mean() > 0.85 > 0.5 > found[~bold & strong].mean()


def test_the_order_of_the_lines_changes_no_byte(records, fitted):
    shuffled = [records[at] for at in np.random.default_rng(2).permutation(len(records))]
    assert fit_calibration(build_table(shuffled, FREE), repeats=1).to_json() == fitted.to_json()


def test_swapping_the_responses_labels_changes_no_probability(records, fitted, fresh):
    swapped = build_table(relabelled(crowd(40, seed=9, prefix="new")), FREE)
    assert values(fitted.probabilities(swapped)) == pytest.approx(values(fitted.probabilities(fresh)), abs=1e-9)


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


@pytest.mark.parametrize(
    ("records", "signals", "message"),
    [
        (crowd(20, labelled=False), FREE, "true labels"),
        ([judgment(f"j{number}") for number in range(20)], ["strength"], "labelled judgments are right"),
        ([judgment("j", verdict="A=B")], FREE, r"no decided pairwise judgment to fit on \(1 x tie\)"),
        (crowd(20, skills={"owl": 0.7}), FREE, "the signal peers is absent for every one of the 40"),
        ([one for one in crowd(20) if one.order[0] == "A"], FREE, "the signal order is absent"),
        (
            [one.model_copy(update={"rationale": ""}) for one in crowd(20)],
            ["rationale"],
            "the signal rationale is absent",
        ),
        (
            [
                one.model_copy(update={"verdict": Pairwise(*one.verdict.ids, 1)})
                for one in crowd(20, skills={"owl": 0.7}, categories=("Law",))
                if one.order[0] == "A" and one.verdict.winner == "A"
            ],
            ["strength"],
            r"strength is the same over the \d+ labelled judgments by owl. Add what varies",
        ),
    ],
)
def test_what_cannot_be_fitted_says_why(records, signals, message):
    table = build_table(records, signals)
    with pytest.raises(InputError, match=message):
        fit_calibration(table, repeats=1)


def test_why_defaults_would_refuse_is_said_in_the_same_words():
    one_class = [judgment(f"j{number}") for number in range(20)]
    with pytest.raises(InputError) as refused:
        fit_calibration(build_table(one_class, None).without_absent()[0])
    assert why_no_calibration(one_class) == str(refused.value)
    assert why_no_calibration(crowd(20)) is None, "what fits has no reason not to"


def alone(n, skill=0.8, labelled=None, **options):
    """One judge in one order, always the same strength; all rows, with the first ``labelled`` ones' labels."""
    made = [one for one in crowd(n, skills={"owl": skill}, **options) if one.order[0] == "A"]
    made = [one.model_copy(update={"verdict": Pairwise(*one.verdict.ids, 1)}) for one in made]
    keep = n if labelled is None else labelled
    return [
        one if at < keep else one.model_copy(update={"item": one.item.model_copy(update={"label": None})})
        for at, one in enumerate(made)
    ]


@pytest.mark.parametrize("labelled", [1, 2, 4, FEW - 1, FEW, 60])
@pytest.mark.parametrize("judges", [None, {"owl": 0.9}])
def test_from_one_label_on_every_row_has_a_probability_and_the_sentence_says_on_what(labelled, judges):
    records = crowd(80, **({} if judges is None else {"skills": judges}))
    keep = {f"q{number}" for number in range(labelled)}
    records = [
        one if one.item.id in keep else one.model_copy(update={"item": one.item.model_copy(update={"label": None})})
        for one in records
    ]
    table = build_table(records, None)
    made, told = fit_here(table)
    found = made.probabilities(table)
    assert not np.ma.getmaskarray(found.probabilities).any()
    assert sum(marks == (Mark.SEEN,) for marks in found.marks) == table.labelled.sum()
    assert f"{labelled} labelled question" in told
    assert ("shipped default" in told) is (labelled < FEW) is (made.groups[0].levels[0].prior is not None)
    assert (values(found) > 0).all()
    assert (values(found) < 1).all()
    again = type(made).model_validate_json(made.to_json())
    assert np.array_equal(values(again.probabilities(table)), values(found))


def test_labels_that_tell_nothing_give_the_base_rate_drawn_to_the_middle_and_a_note():
    right = [judgment(f"j{number}", question=f"q {number}") for number in range(40)]
    made, told = fit_here(build_table(right, None))
    new = build_table([judgment("new", question="another")], made.identity.signals or ["strength"])
    assert values(made.probabilities(new, True)) == pytest.approx([41 / 42])
    assert "40 of 40 labelled verdicts are right and all labels say the same" in made.note
    assert made.note in told
    seen = made.probabilities(build_table(right, made.identity.signals))
    assert values(seen) == pytest.approx([33 / 34] * 40, abs=1e-6), "out of fold of 32"


def test_few_labels_move_the_shipped_prior_the_way_they_point():
    good, bad = (fit_here(build_table(alone(60, skill, labelled=12), None))[0] for skill in (1.0, 0.0))
    high, low = (values(made.probabilities(build_table(alone(30, prefix="n"), None), True)) for made in (good, bad))
    assert high.min() > 0.65 > 0.6 > low.max()


def test_where_there_are_fewer_questions_than_folds_each_is_left_out_by_itself():
    made = fit_calibration(build_table(crowd(3, seed=1), FREE), strict=False)
    assert (made.provenance.folds, made.provenance.repeats) == (3, 1)


def test_a_label_that_is_no_verdict_on_a_pair_is_no_label():
    graded = [one.model_copy(update={"item": one.item.model_copy(update={"label": Grade(4.0)})}) for one in crowd(4)]
    with pytest.raises(InputError, match="label that names a winner"):
        fit_calibration(build_table(graded, FREE))


# Calibrations, plans and scores as files.
def test_saved_and_read_again_it_gives_the_same_probabilities_and_the_same_bytes(fitted, fresh, tmp_path):
    save_calibration(fitted, tmp_path / "cal.json")
    again = load_calibration(tmp_path / "cal.json")
    assert np.array_equal(values(again.probabilities(fresh)), values(fitted.probabilities(fresh)))
    save_calibration(again, tmp_path / "again.json")
    assert (tmp_path / "cal.json").read_bytes() == (tmp_path / "again.json").read_bytes()


def test_a_calibration_whose_verdicts_were_cut_is_refused_and_one_without_them_still_reads(fitted, table, tmp_path):
    data = orjson.loads(fitted.to_json())
    old = {**data, "provenance": {name: one for name, one in data["provenance"].items() if name != "verdicts"}}
    (tmp_path / "old.json").write_bytes(orjson.dumps(old))
    assert set(load_calibration(tmp_path / "old.json").probabilities(table).marks) == {(Mark.SEEN,)}
    data["provenance"]["verdicts"].popitem()
    (tmp_path / "cut.json").write_bytes(orjson.dumps(data))
    with pytest.raises(InputError, match="verdicts do not match"):
        load_calibration(tmp_path / "cut.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"cannot read .*cal"),
        ("{", "not valid JSON"),
        ("[]", "is no calibration"),
        ('{"identity": {"version": 1}}', "damaged calibration"),
        ('{"identity": {"version": 99}}', r"of version 99.*fit it again"),
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "cal.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load_calibration(tmp_path / "cal.json")


def test_the_file_holds_no_texts_and_no_python(fitted):
    text = fitted.to_json().decode()
    assert "question 1" not in text
    assert json.loads(text)["identity"]["judges"] == ["jay", "owl", "wren"]


def test_looks_made_at_the_same_time_are_all_recorded(fitted, tmp_path):
    """Each reads, looks and writes under the lock: none takes the place of another."""
    path = tmp_path / "cal.json"
    save_calibration(fitted, path)

    def one(number):
        with locked(path):
            looks = Looks(load_calibration(path).looks)
            rows = [0.9] * 30, [True] * 30, [f"q{at}" for at in range(30)]
            guaranteed_threshold(*rows, target=0.5 + number / 100, delta=0.1, looks=looks)
            time.sleep(0.01)
            save_calibration(fitted.model_copy(update={"looks": looks.ledger}), path)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(6)))
    entries = load_calibration(path).looks.entries
    assert [one.number for one in entries] == [1, 2, 3, 4, 5, 6]
    assert len({one.target for one in entries}) == 6


def test_another_fit_in_the_same_file_keeps_its_looks(fitted, tmp_path):
    path, looks = tmp_path / "cal.json", Looks()
    assert save_fit(fitted, path) == 0
    guaranteed_threshold([0.9] * 9, [True] * 9, list("abcdefghi"), target=0.8, delta=0.1, looks=looks)
    save_calibration(fitted.model_copy(update={"looks": looks.ledger}), path)
    assert save_fit(fitted, path) == 1
    assert load_calibration(path).looks == looks.ledger
