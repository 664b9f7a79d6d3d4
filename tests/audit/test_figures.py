import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from metajudge.audit.figures import (
    accuracy,
    ceiling_gap,
    ceiling_of,
    classes_of,
    contested,
    flips,
    groups,
    kappa,
    means,
    over_time,
    peer_agreement,
    prompt_agreement,
    repeats,
    scale_use,
)
from tests.audit.records import pair, single, view

RNG = np.random.default_rng(8)


def test_accuracy_with_its_interval_n_and_rule():
    judgments = [single(f"i{at}", "j", at % 4 != 0, label=True) for at in range(40)] + [single("x", "j", True)]
    found = accuracy(view(judgments, "j"))
    assert (found.estimate, found.n, found.questions) == (0.75, 40, 40)
    assert found.interval[0] < 0.75 < found.interval[1]
    assert "equal" in found.method
    assert accuracy(view([single("x", "j", True)], "j")) is None


def test_kappa_equals_scikit_learn():
    said, true = RNG.integers(0, 3, 90), RNG.integers(0, 3, 90)
    names = np.array(["red", "green", "blue"])
    judgments = [
        single(f"i{at}", "j", str(names[a]), label=str(names[b]))
        for at, (a, b) in enumerate(zip(said, true, strict=True))
    ]
    found = kappa(view(judgments, "j"))
    assert found.estimate == pytest.approx(cohen_kappa_score(said, true))
    assert found.name == "Cohen's kappa"


def test_kappa_of_grades_has_quadratic_weights():
    said, true = RNG.integers(1, 6, 90), RNG.integers(1, 6, 90)
    judgments = [
        single(f"i{at}", "j", float(a), label=float(b)) for at, (a, b) in enumerate(zip(said, true, strict=True))
    ]
    found = kappa(view(judgments, "j"))
    assert found.estimate == pytest.approx(cohen_kappa_score(said, true, weights="quadratic"))
    assert found.name == "Cohen's kappa, quadratic weights"


def test_no_kappa_where_all_labels_are_one():
    assert kappa(view([single(f"i{at}", "j", at % 2 == 0, label=True) for at in range(20)], "j")) is None


def test_sensitivity_specificity_and_confusion():
    cells = [("pass", "pass")] * 8 + [("fail", "pass")] * 2 + [("pass", "fail")] * 3 + [("fail", "fail")] * 7
    judgments = [single(f"i{at}", "j", said, label=true) for at, (said, true) in enumerate(cells)]
    figures, confusion = classes_of(view(judgments, "j"))
    assert confusion.classes == ("fail", "pass")
    assert confusion.counts == ((7, 3), (2, 8))
    passing = figures[1]
    assert (passing.value, passing.sensitivity.estimate, passing.specificity.estimate) == ("pass", 0.8, 0.7)
    assert (passing.n_labelled, passing.n_given) == (10, 11)


def test_flips_and_first_place():
    judgments = []
    for at, (first, second) in enumerate([("A>B", "B>A")] * 6 + [("B>A", "A>B")] * 2 + [("A>B", "A>B")] * 12):
        judgments += [pair(f"i{at}", "j", first), pair(f"i{at}", "j", second, "BA")]
    flipped, first_place = flips(view(judgments, "j"))
    assert (flipped.estimate, flipped.n) == (0.4, 20)
    assert (first_place.estimate, first_place.n) == (0.75, 8)
    assert flips(view([pair("i", "j", "A>B")], "j")) == (None, None)


def test_repeats_are_pairs_of_the_same_thing_in_the_same_order():
    judgments = [pair("i", "j", verdict, id=str(at)) for at, verdict in enumerate(("A>B", "A>B", "B>A"))]
    judgments += [pair("k", "j", "A>B", id=f"k{at}") for at in range(2)] + [pair("i", "j", "B>A", "BA")]
    found = repeats(view(judgments, "j"))
    assert found.estimate == pytest.approx((1 / 3 + 1) / 2)
    assert found.n == 2
    assert repeats(view([pair("i", "j", "A>B")], "j")) is None


def test_prompt_agreement_leaves_out_repeats_under_one_prompt():
    def under(prompt, verdict, number=0, item="i"):
        return single(item, "j", verdict, id=f"{item}{prompt}{number}", meta={"prompt": prompt})

    judgments = [under("short", True), under("short", True, 1), under("long", False)]
    judgments += [under("short", True, 0, "k"), under("long", True, 0, "k")]
    found = prompt_agreement(view(judgments, "j"))
    assert (found.estimate, found.n) == (0.5, 2)
    assert prompt_agreement(view([single("i", "j", True)], "j")) is None


def test_means_of_verdicts_and_labels():
    judgments = [single(f"i{at}", "j", at % 4 != 0, label=at % 2 == 0) for at in range(40)]
    mean, label_mean = means(view(judgments, "j"))
    assert (mean.estimate, label_mean.estimate) == (0.75, 0.5)
    assert means(view([pair("i", "j", "A>B")], "j")) == (None, None)


def test_scale_use_in_order_of_the_scale():
    judgments = [single(f"i{at}", "j", grade) for at, grade in enumerate((10, 2, 2, 9.5))]
    assert list(scale_use(view(judgments, "j")).items()) == [("2", 2), ("9.5", 1), ("10", 1)]
    many = [single(f"i{at}", "j", float(at)) for at in range(50)]
    assert len(scale_use(view(many, "j"))) == 20


def test_peer_agreement():
    judgments = [
        single(f"i{at}", name, verdict)
        for at in range(10)
        for name, verdict in (("a", at % 2 == 0), ("b", True), ("c", True))
    ]
    assert peer_agreement(view(judgments, "a")).estimate == 0.5
    assert peer_agreement(view(judgments, "b")).n == 5  # the others are undecided on the rest


def by_category(judgments):
    one = view(judgments, "j")
    return groups(one, one.category, one.table.facts.categories)


def test_groups_control_false_findings():
    judgments = [
        single(f"i{at}", "j", at % 4 != 3 or at % 3 == 0, label=True, category="weak" if at % 4 == 3 else f"c{at % 4}")
        for at in range(240)
    ]
    found = {one.name: one for one in by_category(judgments)}
    assert set(found) == {"c0", "c1", "c2", "weak"}
    assert found["weak"].finding
    assert found["weak"].difference.estimate == pytest.approx(-2 / 3)
    assert found["weak"].adjusted_p < 0.001
    assert by_category([single("i", "j", True, label=True, category="c")]) == ()


def test_stretches_of_time_have_about_equal_counts():
    judgments = [single(f"i{at}", "j", at >= 30, label=True, meta={"time": 1e9 + at}) for at in range(60)]
    found = over_time(view(judgments, "j"))
    assert [one.accuracy.n for one in found] == [10] * 6
    assert [one.accuracy.estimate for one in found] == [0, 0, 0, 1, 1, 1]
    assert found[0].name.startswith("2001-09-09T")


def test_contested_items():
    judgments = [single(f"i{at}", "j", at % 2 == 0, labels=[True, True, True]) for at in range(20)]
    judgments += [single(f"k{at}", "j", False, labels=[True, True, False]) for at in range(20)]
    judgments += [single(f"l{at}", "j", False, labels=[True]) for at in range(20)]
    found = contested(view(judgments, "j"))
    assert (found.disagreed.estimate, found.agreed.estimate) == (1.0, 0.5)
    assert found.difference.estimate == 0.5
    assert found.agreed.n == 20


def test_people_who_prefer_the_same_response_agree_whatever_the_strength():
    judgments = [pair(f"i{at}", "j", "A>B", labels=["A>B", "A>>B"]) for at in range(10)]
    assert contested(view(judgments, "j")).disagreed is None


def people_and_judge(verdict):
    """On every item two say pass, and one says fail on every second."""
    said = [["pass", "pass", "fail" if at % 2 else "pass"] for at in range(40)]
    return view([single(f"i{at}", "j", verdict, labels=labels) for at, labels in enumerate(said)], "j")


def test_the_ceiling_is_the_agreement_of_people_left_out():
    found = ceiling_of(people_and_judge("pass").table)
    # where all agree 3 of 3; else the two who pass face an undecided rest, and the third is wrong
    assert found.agreement.n == 20 * 3 + 20 * 1
    assert found.agreement.estimate == pytest.approx(60 / 80)
    assert found.annotators == 3


def test_the_gap_compares_the_judge_with_the_person_left_out():
    # on contested items the judge agrees with the majority, the person left out does not
    assert ceiling_gap(people_and_judge("pass")).estimate == pytest.approx(0.5)
    assert ceiling_gap(people_and_judge("fail")).estimate == pytest.approx(-0.5)


def test_one_person_makes_no_ceiling():
    found = view([single("i", "j", "pass", labels=["pass"])], "j")
    assert (ceiling_of(found.table), ceiling_gap(found)) == (None, None)
