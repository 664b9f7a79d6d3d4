import numpy as np
import pytest

from metajudge.audit.preferences import length, own_answer, own_family, position
from metajudge.types import Item, Judgment
from metajudge.types.verdict import Ranking
from tests.audit.records import pair, single, view

WIN = {True: "A>B", False: "B>A"}


def both(item, first, second):
    """One judge's answers in the orders AB and BA."""
    return [pair(item, "j", first), pair(item, "j", second, "BA")]


def test_position_counts_pairs_that_go_with_the_place_and_in_one_order_needs_labels():
    judgments = [one for at in range(20) for one in both(f"f{at}", "A>B", "B>A")]
    judgments += [one for at in range(4) for one in both(f"s{at}", "B>A", "A>B")]
    judgments += [one for at in range(16) for one in both(f"c{at}", "A>B", "A>B")]
    found = position(view(judgments, "j"))
    assert found.check.details == {"first": 20, "second": 4, "pairs": 40}
    assert found.evidence.estimate == pytest.approx(16 / 40)
    assert found.evidence.p_value < 0.002
    assert found.check.reference == "nothing"
    tied = [one for at in range(20) for one in both(f"f{at}", "A>B", "A=B")]
    assert position(view(tied, "j")).evidence.estimate == pytest.approx(0.5), "a tie in one order counts half"
    judgments = [pair(f"i{at}", "j", "A>B", label=WIN[at % 2 == 0], order="AB") for at in range(40)]
    found = position(view(judgments, "j"))
    assert found.evidence.estimate == pytest.approx(1.0)
    assert found.check.details == {"error_where_wrong": 1.0, "error_where_right": 0.0}
    assert position(view([pair("i", "j", "A>B")], "j")) is None
    assert position(view([single("i", "j", 3)], "j")) is None


def test_position_of_rankings_compares_a_response_with_itself():
    ids = ("A", "B", "C")
    judgments = []
    for at in range(30):
        item = Item(id=f"i{at}", question=f"q{at}", responses=dict.fromkeys(ids, "x"))
        for turn in range(3):
            order = ids[turn:] + ids[:turn]
            verdict = Ranking(((order[0],), order[1:]))  # whoever is shown first
            judgments.append(Judgment(id=f"{at}{turn}", item=item, judge="j", verdict=verdict, order=order))
    found = position(view(judgments, "j"))
    assert found.evidence.estimate == pytest.approx(1.0)
    assert found.evidence.p_value < 1e-4
    assert found.evidence.high == 1.0


def labelled_pairs(choose):
    """60 pairs whose longer response is A in half of the cases, whatever is right."""
    found = []
    for at in range(60):
        truth, longer = at % 2 == 0, at % 4 < 2
        found.append(
            pair(f"i{at}", "j", WIN[choose(truth, longer)], label=WIN[truth], lengths=(9, 4) if longer else (4, 9))
        )
    return found


def test_length_is_seen_given_what_is_right_and_of_grades_given_the_label():
    assert length(view(labelled_pairs(lambda truth, longer: longer), "j")).evidence.estimate == pytest.approx(1.0)
    assert length(view(labelled_pairs(lambda truth, longer: not longer), "j")).evidence.estimate == pytest.approx(-1.0)
    assert length(view(labelled_pairs(lambda truth, longer: truth), "j")).evidence.estimate == 0.0
    better = [
        pair(f"i{at}", "j", WIN[at % 10 != 0], label="A>B" if at % 20 else "B>A", lengths=(9, 4)) for at in range(100)
    ]
    found = length(view(better, "j"))
    assert found.check.details["error_where_right"] == pytest.approx(5 / 95), "longer ones that are better are no bias"
    judgments = []
    for at in range(80):
        label, size = 1 + at % 4, 10 * (1 + at % 7)
        judgments.append(single(f"i{at}", "j", float(label), label=float(label), length=size, scale=(1, 5)))
        judgments.append(
            single(f"i{at}", "k", min(5.0, label + (size > 40)), label=float(label), length=size, scale=(1, 5))
        )
    assert length(view(judgments, "j")).evidence.estimate == pytest.approx(0.0)
    found = length(view(judgments, "k"))
    assert found.evidence.estimate > 0.08
    assert found.check.relevant_effect == 0.05


def noisy_people(judge):
    """300 pairs of which A, the longer one, is right in nine of ten; three people err in one of four."""
    rng = np.random.default_rng(2)
    judgments = []
    for at in range(300):
        truth = bool(rng.random() < 0.9)
        said = [WIN[truth if rng.random() < 0.75 else not truth] for _ in range(3)]
        verdict = WIN[judge(truth, rng)]
        judgments.append(pair(f"i{at}", "j", verdict, labels=said, lengths=(9, 4)))
    return length(view(judgments, "j"))


def test_errors_of_the_labels_are_no_preference():
    found = noisy_people(lambda truth, rng: truth if rng.random() < 0.75 else not truth)
    assert found.check.details["error_where_wrong"] - found.check.details["error_where_right"] > 0.2
    assert abs(found.evidence.estimate) < 0.12
    assert "less that of people" in found.check.unit
    biased = noisy_people(lambda truth, rng: truth if rng.random() < 0.4 else True)
    assert biased.evidence.estimate > 0.2
    assert biased.evidence.p_value < 0.001


def test_own_family_and_own_answers():
    judgments = []
    for at in range(60):
        mine_first, truth = at % 2 == 0, at % 4 < 2
        models = {"A": "osprey-8b", "B": "heron"} if mine_first else {"A": "heron", "B": "osprey-8b"}
        judgments.append(pair(f"i{at}", "osprey-70b", WIN[mine_first], label=WIN[truth], models=models))
        judgments.append(pair(f"i{at}", "osprey-8b", WIN[mine_first], label=WIN[truth], models=models))
        judgments.append(pair(f"i{at}", "kestrel", WIN[truth], label=WIN[truth], models=models))
    assert own_family(view(judgments, "osprey-70b")).evidence.estimate == pytest.approx(1.0)
    assert own_answer(view(judgments, "osprey-70b")) is None
    assert own_answer(view(judgments, "osprey-8b")).evidence.estimate == pytest.approx(1.0)
    assert own_family(view(judgments, "kestrel")) is None
    singles = [
        single(
            f"i{at}", "osprey-70b", at % 2 == 0 or at % 8 == 1, label=at % 4 < 2, model=("osprey-8b", "heron")[at % 2]
        )
        for at in range(80)
    ]
    assert own_family(view(singles, "osprey-70b")).evidence.estimate == pytest.approx(0.75)
