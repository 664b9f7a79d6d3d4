import numpy as np
import pytest

from metajudge.audit.rates import rates_of
from tests.audit.records import pair, single, view


def graded(labelled, items=400, sensitivity=0.9, specificity=0.7, rate=0.5):
    rng = np.random.default_rng(6)
    found = []
    for at in range(items):
        truth = rng.random() < rate
        said = rng.random() < (sensitivity if truth else 1 - specificity)
        model = "osprey" if at % 4 else "heron"
        found.append(single(f"i{at}", "j", bool(said), label=bool(truth) if at < labelled else None, model=model))
    return found


def test_the_overall_rate_and_those_of_models():
    found = rates_of(view(graded(200), "j"))
    assert [one.of for one in found] == [
        "share that is called true",
        "share that is called true, osprey",
        "share that is called true, heron",
    ]
    assert [one.n for one in found] == [400, 300, 100]
    assert found[0].n_labelled == 200


def test_corrected_rates_leave_the_naive_one_and_cover_the_truth():
    found = rates_of(view(graded(200, items=2000), "j"))[0]
    assert found.naive.estimate == pytest.approx(0.6, abs=0.03)
    for one in (found.ppi, found.rogan_gladen):
        assert one.interval[0] < 0.5 < one.interval[1]
        assert one.estimate == pytest.approx(0.5, abs=0.06)
    assert not found.naive.interval[0] < 0.5
    assert 0 < found.weight <= 1


def test_few_labels_give_no_corrected_rate():
    found = rates_of(view(graded(6), "j"))[0]
    assert (found.ppi, found.rogan_gladen) == (None, None)
    assert "6 labels" in found.note
    assert rates_of(view(graded(0), "j")) == ()


def test_one_sided_labels_have_no_rogan_gladen():
    found = rates_of(view(graded(60, rate=1.0), "j"))[0]
    assert found.rogan_gladen is None
    assert "one side" in found.note
    assert found.ppi is not None


def test_grades_keep_their_scale():
    judgments = [
        single(f"i{at}", "j", float(2 + at % 3), label=float(1 + at % 3) if at < 60 else None) for at in range(300)
    ]
    found = rates_of(view(judgments, "j"))[0]
    assert found.of == "mean grade"
    assert found.naive.estimate == pytest.approx(3.0)
    assert found.ppi.estimate == pytest.approx(2.0, abs=0.02)
    assert "grades" in found.note


def test_win_rates_of_models_count_ties_half_and_both_orders_once():
    judgments = []
    for at in range(60):
        models = {"A": "osprey", "B": "heron"} if at % 2 else {"A": "heron", "B": "osprey"}
        wins = "A>B" if at % 2 else "B>A"  # osprey
        verdict = wins if at % 3 else "A=B"
        label = wins if at < 30 else None
        judgments += [pair(f"i{at}", "j", verdict, order, label=label, models=models) for order in ("AB", "BA")]
    found = {one.of: one for one in rates_of(view(judgments, "j"))}
    assert set(found) == {"win rate of osprey", "win rate of heron"}
    assert found["win rate of osprey"].naive.estimate == pytest.approx(40 / 60 + 20 / 60 / 2)
    assert found["win rate of osprey"].n == 60
    assert found["win rate of osprey"].ppi.estimate == pytest.approx(1.0, abs=0.01)


def test_places_are_contestants_only_where_items_share_them():
    judgments = [pair(f"i{at}", "j", "A>B", label="A>B" if at % 2 else "B>A") for at in range(40)]
    assert [one.of for one in rates_of(view(judgments, "j"))] == ["win rate of A"]
    always = [pair(f"i{at}", "j", "A>B", label="A>B") for at in range(40)]
    assert rates_of(view(always, "j")) == ()
