import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from metajudge.audit.figures import (
    ceiling_gap,
    ceiling_of,
    contested,
    flips,
    groups,
    kappa,
    over_time,
    prompt_agreement,
    repeats,
)
from metajudge.audit.table import NOTHING
from metajudge.audit.view import build_peers, left_out
from metajudge.types.right import parse_right
from tests.audit.records import pair, people, single, table_of, view

RNG = np.random.default_rng(8)


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
    assert (found["disagreed"].estimate, found["agreed"].estimate) == (1.0, 0.5)
    assert found["difference"].estimate == 0.5
    assert found["agreed"].n == 20
    judgments = [pair(f"i{at}", "j", "A>B", labels=["A>B", "A>>B"]) for at in range(10)]
    assert contested(view(judgments, "j"))["disagreed"] is None, "the same preference, whatever the strength, agrees"


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


def test_one_vote_a_judge_whatever_the_repeats_and_the_majority_of_the_others():
    found = peers([single("i", judge, verdict) for judge, verdict in zip("abc", (True, False, False), strict=True)])
    assert (found.mode[:, 0].tolist(), found.others[0].tolist()) == ([1, 0, 0], [0])
    repeated = [pair("i", "a", "A>B", id=str(at)) for at in range(5)]
    found = peers([*repeated, *(pair("i", judge, "B>A") for judge in "bc"), pair("i", "d", "A>B")])
    assert (found.mode[:, 0].tolist(), found.others[3].tolist()) == ([0, 1, 1, 0], [1])
    assert peers([pair("i", "a", "A>B"), pair("i", "a", "B>A", "BA")]).mode.tolist() == [[2]], "two orders, a tie"
    twice = [single("i", "a", "red", id="1"), single("i", "a", "blue", id="2"), single("k", "a", "green")]
    assert peers(twice).mode[0, 0] == NOTHING


def test_grades_are_compared_with_the_median_and_two_judges_left_out_together():
    judgments = [single("i", judge, grade, label=3) for judge, grade in zip("abcd", (1, 3, 4, 5), strict=True)]
    found = peers(judgments, parse_right("within:1"))
    assert found.others_number[:, 0].tolist() == [4, 4, 3, 3]
    np.testing.assert_equal(found.correct[:, 0], [0, 1, 1, 0])
    assert (found.others == NOTHING).all()
    answers = [True, True, False, False, True]
    found = peers([single("i", judge, verdict) for judge, verdict in zip("abcde", answers, strict=True)])
    assert [found.without(*two, 2).tolist() for two in ((0, 1), (2, 3), (0, 2))] == [[0], [1], [1]]


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
