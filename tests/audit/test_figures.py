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
from metajudge.audit.table import NOTHING
from metajudge.audit.view import build_peers, left_out
from metajudge.types.right import parse_right
from tests.audit.records import pair, people, single, table_of, view

RNG = np.random.default_rng(8)


def test_accuracy_with_its_interval_n_and_rule():
    judgments = [single(f"i{at}", "j", at % 4 != 0, label=True) for at in range(40)] + [single("x", "j", True)]
    found = accuracy(view(judgments, "j"))
    assert (found.estimate, found.n, found.questions) == (0.75, 40, 40)
    assert found.interval[0] < 0.75 < found.interval[1]
    assert "equal" in found.method
    assert accuracy(view([single("x", "j", True)], "j")) is None


@pytest.mark.parametrize(
    ("named", "weights", "name"),
    [
        (np.array(["?", "red", "green", "blue"]), None, "Cohen's kappa"),
        (np.arange(6.0), "quadratic", "Cohen's kappa, quadratic weights"),
    ],
)
def test_kappa_equals_scikit_learn(named, weights, name):
    said, true = RNG.integers(1, len(named), 90), RNG.integers(1, len(named), 90)
    pairs = zip(named[said].tolist(), named[true].tolist(), strict=True)
    found = kappa(view([single(f"i{at}", "j", a, label=b) for at, (a, b) in enumerate(pairs)], "j"))
    assert found.estimate == pytest.approx(cohen_kappa_score(said, true, weights=weights))
    assert found.name == name
    one_label = [single(f"i{at}", "j", at % 2 == 0, label=True) for at in range(20)]
    assert kappa(view(one_label, "j")) is None, "no kappa where all labels are one"


def test_sensitivity_specificity_and_confusion():
    cells = [("pass", "pass")] * 8 + [("fail", "pass")] * 2 + [("pass", "fail")] * 3 + [("fail", "fail")] * 7
    judgments = [single(f"i{at}", "j", said, label=true) for at, (said, true) in enumerate(cells)]
    figures, confusion = classes_of(view(judgments, "j"))
    assert confusion.classes == ("fail", "pass")
    assert confusion.counts == ((7, 3), (2, 8))
    passing = figures[1]
    assert (passing.value, passing.sensitivity.estimate, passing.specificity.estimate) == ("pass", 0.8, 0.7)
    assert (passing.n_labelled, passing.n_given) == (10, 11)


def test_flips_first_place_and_repeats_of_the_same_thing_in_the_same_order():
    judgments = []
    for at, (first, second) in enumerate([("A>B", "B>A")] * 6 + [("B>A", "A>B")] * 2 + [("A>B", "A>B")] * 12):
        judgments += [pair(f"i{at}", "j", first), pair(f"i{at}", "j", second, "BA")]
    flipped, first_place = flips(view(judgments, "j"))
    assert (flipped.estimate, flipped.n) == (0.4, 20)
    assert (first_place.estimate, first_place.n) == (0.75, 8)
    assert flips(view([pair("i", "j", "A>B")], "j")) == (None, None)
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


def test_means_use_of_the_scale_and_agreement_with_peers():
    judgments = [single(f"i{at}", "j", at % 4 != 0, label=at % 2 == 0) for at in range(40)]
    mean, label_mean = means(view(judgments, "j"))
    assert (mean.estimate, label_mean.estimate) == (0.75, 0.5)
    assert means(view([pair("i", "j", "A>B")], "j")) == (None, None)
    judgments = [single(f"i{at}", "j", grade) for at, grade in enumerate((10, 2, 2, 9.5))]
    assert list(scale_use(view(judgments, "j")).items()) == [("2", 2), ("9.5", 1), ("10", 1)]
    many = [single(f"i{at}", "j", float(at)) for at in range(50)]
    assert len(scale_use(view(many, "j"))) == 20
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


def test_stretches_of_time_have_equal_counts_and_contested_items_are_told_apart():
    judgments = [single(f"i{at}", "j", at >= 30, label=True, meta={"time": 1e9 + at}) for at in range(60)]
    found = over_time(view(judgments, "j"))
    assert [one.accuracy.n for one in found] == [10] * 6
    assert [one.accuracy.estimate for one in found] == [0, 0, 0, 1, 1, 1]
    assert found[0].name.startswith("2001-09-09T")
    judgments = [single(f"i{at}", "j", at % 2 == 0, labels=[True, True, True]) for at in range(20)]
    judgments += [single(f"k{at}", "j", False, labels=[True, True, False]) for at in range(20)]
    judgments += [single(f"l{at}", "j", False, labels=[True]) for at in range(20)]
    found = contested(view(judgments, "j"))
    assert (found.disagreed.estimate, found.agreed.estimate) == (1.0, 0.5)
    assert found.difference.estimate == 0.5
    assert found.agreed.n == 20
    judgments = [pair(f"i{at}", "j", "A>B", labels=["A>B", "A>>B"]) for at in range(10)]
    assert contested(view(judgments, "j")).disagreed is None, "the same preference, whatever the strength, agrees"


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

    # on contested items the judge agrees with the majority, the person left out does not
    assert ceiling_gap(people_and_judge("pass")).estimate == pytest.approx(0.5)
    assert ceiling_gap(people_and_judge("fail")).estimate == pytest.approx(-0.5)
    alone = view([single("i", "j", "pass", labels=["pass"])], "j")
    assert (ceiling_of(alone.table), ceiling_gap(alone)) == (None, None), "one person makes no ceiling"


def peers(judgments, right=None):
    return build_peers(table_of(judgments, right))


@pytest.mark.parametrize(
    ("judgments", "mode", "others"),
    [
        pytest.param(
            [single("i", judge, verdict) for judge, verdict in zip("abc", ("pass", "fail", "fail"), strict=True)],
            [1, 0, 0],
            [0, NOTHING, NOTHING],
            id="the majority of the others leaves the judge out",
        ),
        pytest.param(
            [*(pair("i", "a", "A>B", id=str(at)) for at in range(5)), pair("i", "b", "B>A"), pair("i", "c", "B>A"),
             pair("i", "d", "A>B")],
            [0, 1, 1, 0],
            [None, None, None, 1],
            id="one vote a judge whatever the repeats",
        ),
        pytest.param(
            [pair("i", "a", "A>B"), pair("i", "a", "B>A", "BA"), pair("i", "b", "A>B")],
            [2, 0],
            [None, None],
            id="two answers in two orders are a tie",
        ),
        pytest.param(
            [single("i", "a", "red", id="1"), single("i", "a", "blue", id="2"), single("k", "a", "green")],
            [NOTHING],
            [None],
            id="two categories equally often are nothing",
        ),
    ],
)  # fmt: skip
def test_one_verdict_a_judge_and_the_majority_of_the_others(judgments, mode, others):
    found = peers(judgments)
    assert found.mode[:, 0].tolist() == mode
    assert [
        None if own is None else one for one, own in zip(found.others[:, 0].tolist(), others, strict=True)
    ] == others


def test_grades_are_compared_with_the_median_and_two_judges_left_out_together():
    judgments = [single("i", judge, grade, label=3) for judge, grade in zip("abcd", (1, 3, 4, 5), strict=True)]
    found = peers(judgments, parse_right("within:1"))
    assert found.others_number[:, 0].tolist() == [4, 4, 3, 3]
    np.testing.assert_equal(found.correct[:, 0], [0, 1, 1, 0])
    assert (found.others == NOTHING).all()
    judgments = [
        single("i", judge, verdict) for judge, verdict in zip("abcde", [True, True, False, False, True], strict=True)
    ]
    found = peers(judgments)
    assert found.without(0, 1, 2).tolist() == [0]
    assert found.without(2, 3, 2).tolist() == [1]
    assert found.without(0, 2, 2).tolist() == [1]


def test_each_person_stands_beside_the_others_with_the_last_of_several_answers_and_ties_of_pairs():
    found = left_out(table_of([single("i", "j", "pass", labels=["pass", "pass", "fail"])]))
    # Without one "pass" the other two are tied and not compared; "fail" is compared with two "pass".
    assert (found.answer.tolist(), found.target.tolist()) == ([0], [1])
    assert (found.number.tolist(), found.target_number.tolist()) == ([0], [1])
    found = left_out(
        table_of([pair("i", "j", "A>B", labels=["A>B", "B>A", "A>B"]), pair("k", "j", "A>B", labels=["A>B"])])
    )
    assert found.thing.tolist() == [0, 0, 0]
    assert found.target.tolist() == [2, 0, 2]  # a tied vote of a pair is a tie
    judgments = [single("i", "j", "pass", labels=[("ann", "fail"), ("ann", "pass"), ("bob", "fail")])]
    found = left_out(table_of(judgments))
    assert (found.answer.tolist(), found.target.tolist()) == ([1, 0], [0, 1])
    assert len(people([("ann", "pass")])) == 1


def test_verdicts_beside_comparisons():
    judgments = [single(f"i{at}", "j", "pass", labels=["pass"] * (at + 1)) for at in range(3)]
    found = left_out(table_of(judgments))
    assert found.thing.tolist() == [1, 1, 2, 2, 2]
    row, at = found.beside(np.array([2, 0, 1, 1]))
    assert row.tolist() == [0, 0, 0, 2, 2, 3, 3]
    assert at.tolist() == [2, 3, 4, 0, 1, 0, 1]
    assert left_out(table_of([single("i", "j", "pass")])).thing.tolist() == []


@pytest.mark.parametrize(
    ("judgments", "reference", "right"),
    [
        pytest.param(
            [pair("i", "a", "A>B", label="B>A"), pair("k", "a", "A>B"), pair("k", "b", "A>B")],
            "labels",
            [0, float("nan")],
            id="labels come before the other judges",
        ),
        pytest.param(
            [single("i", judge, verdict) for judge, verdict in zip("abc", (True, False, False), strict=True)],
            "majority of the other judges",
            [0],
            id="without labels the majority of the others",
        ),
        pytest.param([pair("i", "a", "A>B")], "nothing", [float("nan")], id="alone without labels"),
    ],
)
def test_what_a_judge_is_held_against(judgments, reference, right):
    found = view(judgments, "a")
    assert found.reference == reference
    np.testing.assert_equal(found.right, right)


def test_first_shown_places_targets_and_how_often_the_others_are_right():
    found = view([pair("i", "a", "A>B"), pair("i", "a", "A>B", "BA"), pair("k", "a", "A>B", "BA")], "a")
    assert found.first_shown.tolist() == [0, 1, 1]
    assert found.things(np.arange(3)) == 2
    tied = view([pair("i", "a", "A>B", label="A=B"), pair("k", "a", "A>B", label="A>B")], "a")
    assert tied.has_target.tolist() == [False, True]
    judgments = [
        pair("i", judge, verdict, label="A>B") for judge, verdict in zip("abc", ("B>A", "A>B", "B>A"), strict=True)
    ]
    assert view(judgments, "a").others_right().tolist() == [0.5]
    assert view(judgments, "b").others_right().tolist() == [0.0]
