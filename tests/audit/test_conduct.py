import numpy as np
import pytest

from metajudge.audit.conduct import (
    categories,
    contrasts,
    copy,
    drift,
    outcome,
    prompt_codes,
    severity,
    versions,
    weaker_than_peers,
)
from tests.audit.records import pair, single, view


def graded(judges, items=60):
    """Categories of several judges on labelled items: judge -> function of (item, truth)."""
    found = []
    for at in range(items):
        truth = at % 2 == 0
        found += [
            single(f"i{at}", name, answer(at, truth), label=truth, category="xy"[at % 3 == 0], meta={"time": 1e9 + at})
            for name, answer in judges.items()
        ]
    return found


def right(at, truth):
    return truth


def test_severity_is_the_difference_of_pass_rates():
    judgments = graded(
        {"lenient": lambda at, truth: truth or at % 4 == 1, "strict": lambda at, truth: truth and at % 4 == 0}
    )
    assert severity(view(judgments, "lenient")).evidence.estimate == pytest.approx(0.25)
    found = severity(view(judgments, "strict"))
    assert found.evidence.estimate == pytest.approx(-0.25)
    assert "sign-flip" in found.evidence.method
    assert found.evidence.p_value < 0.001
    assert severity(view([pair("i", "j", "A>B", label="A>B")], "j")) is None
    grades = [single(f"i{at}", "j", 3.0 + at % 2, label=2.0 + at % 2, scale=(1, 5)) for at in range(40)]
    assert severity(view(grades, "j")).evidence.estimate == pytest.approx(0.25), "in parts of the scale"


def test_drift_is_the_change_from_first_to_last():
    judgments = graded({"j": lambda at, truth: truth if at < 30 or at % 2 else not truth})
    found = drift(view(judgments, "j"))
    assert found.evidence.estimate == pytest.approx(-0.75, abs=0.05)
    assert found.evidence.p_value < 0.001


def test_harder_items_at_the_end_are_no_drift():
    def late(at, truth):
        return truth if at < 30 or at % 2 else not truth

    _, value, name = outcome(view(graded({"j": late, "k": late, "l": late}), "j"))
    assert np.abs(value).max() == 0
    assert "less that of the other judges" in name

    assert drift(view([single("i", "j", True, label=True)], "j")) is None, "no times, no drift"
    same = [single(f"i{at}", "j", True, label=True, meta={"time": 5}) for at in range(20)]
    assert drift(view(same, "j")) is None


def test_versions_and_categories_are_compared_with_the_rest():
    judgments = [
        single(f"i{at}", "j", at % 2 == 0, label=True, meta={"version": ("new", "old")[at % 2]}, category="abc"[at % 3])
        for at in range(60)
    ]
    found = versions(view(judgments, "j"))
    assert abs(found.evidence.estimate) == pytest.approx(1.0)
    assert (found.parts, found.check.details["compared"]) == (1, 2)
    found = categories(view(judgments, "j"))
    assert found.evidence.estimate == pytest.approx(0.0)
    assert found.parts == 3
    assert versions(view([single("i", "j", True, label=True)], "j")) is None
    codes = np.array([0] * 30 + [1] * 9 + [2] * 11)
    few = contrasts(np.random.default_rng(0).random(50), codes, np.arange(50))
    assert set(few) == {0, 2}, "parts with few verdicts are not compared"


def test_instructions_are_prompts_where_few_differ():
    judgments = [single("i", "j", True, id=f"{at}", instruction=f"instruction {at % 2}") for at in range(20)]
    codes, names = prompt_codes(view(judgments, "j"))
    assert sorted(set(codes.tolist())) == [0, 1]
    assert names == ["instruction 0", "instruction 1"]
    many = [single("i", "j", True, id=f"{at}", instruction=f"instruction {at}") for at in range(40)]
    assert prompt_codes(view(many, "j"))[1] == []


def test_weaker_than_peers_has_a_margin_of_ten_points():
    judgments = graded(
        {
            "a": right,
            "b": right,
            "slightly": lambda at, truth: truth if at % 12 else not truth,
            "careless": lambda at, truth: truth if at % 2 else at % 4 == 0,
        },
        items=120,
    )
    found = weaker_than_peers(view(judgments, "careless"))
    assert (found.evidence.null, found.evidence.p_value < 0.01) == (0.1, True)
    assert weaker_than_peers(view(judgments, "slightly")).evidence.p_value > 0.5
    assert weaker_than_peers(view(graded({"a": right}), "a")) is None


def errs(rate, seed):
    wrong = np.random.default_rng(seed).random(1000) < rate
    return lambda at, truth: truth if not wrong[at] else not truth


def test_copies_make_the_same_errors_and_judges_that_err_often_share_some_by_chance():
    judgments = graded({"a": errs(0.3, 1), "b": errs(0.3, 1), "c": errs(0.3, 2), "d": errs(0.3, 3)}, items=200)
    found = copy(view(judgments, "b"))
    assert found.check.details == {"other": "a"}
    assert found.evidence.estimate == 1.0
    assert found.evidence.p_value < 1e-4
    assert copy(view(judgments, "c")).evidence.p_value > 0.5
    judgments = graded({"a": errs(0.8, 1), "b": errs(0.8, 2)}, items=300)
    found = copy(view(judgments, "a"))
    assert found.evidence.estimate > 0.6
    assert found.evidence.null > 0.8
    assert found.evidence.p_value > 0.5


def test_without_labels_copies_need_five_judges():
    def unlabelled(count):
        names = "abcde"[:count]
        answers = {name: errs(0.25, 1 if name in "ab" else seed) for seed, name in enumerate(names, 5)}
        return [
            single(f"i{at}", name, answer(at, at % 2 == 0)) for at in range(200) for name, answer in answers.items()
        ]

    assert copy(view(unlabelled(4), "a")) is None
    assert copy(view(unlabelled(5), "a")).evidence.p_value < 1e-4
