import numpy as np

from metajudge.audit.peers import build_peers, left_out
from metajudge.audit.table import NOTHING
from metajudge.types.right import parse_right
from tests.audit.records import pair, people, single, table_of, view


def peers(judgments, right=None):
    return build_peers(table_of(judgments, right))


def test_majority_of_the_others_leaves_the_judge_out():
    found = peers([single("i", judge, verdict) for judge, verdict in zip("abc", ("pass", "fail", "fail"), strict=True)])
    assert found.others[:, 0].tolist() == [0, NOTHING, NOTHING]


def test_one_vote_a_judge_whatever_the_repeats():
    judgments = [pair("i", "a", "A>B", id=str(at)) for at in range(5)]
    judgments += [pair("i", "b", "B>A"), pair("i", "c", "B>A"), pair("i", "d", "A>B")]
    found = peers(judgments)
    assert found.others[3, 0] == 1
    assert found.mode[:, 0].tolist() == [0, 1, 1, 0]


def test_two_answers_in_two_orders_are_a_tie():
    found = peers([pair("i", "a", "A>B"), pair("i", "a", "B>A", "BA"), pair("i", "b", "A>B")])
    assert found.mode[:, 0].tolist() == [2, 0]


def test_two_categories_equally_often_are_nothing():
    found = peers([single("i", "a", "red", id="1"), single("i", "a", "blue", id="2"), single("k", "a", "green")])
    assert found.mode[0].tolist()[0] == NOTHING


def test_grades_are_compared_with_the_median():
    judgments = [single("i", judge, grade, label=3) for judge, grade in zip("abcd", (1, 3, 4, 5), strict=True)]
    found = peers(judgments, parse_right("within:1"))
    assert found.others_number[:, 0].tolist() == [4, 4, 3, 3]
    np.testing.assert_equal(found.correct[:, 0], [0, 1, 1, 0])
    assert (found.others == NOTHING).all()


def test_without_two_judges():
    judgments = [
        single("i", judge, verdict) for judge, verdict in zip("abcde", [True, True, False, False, True], strict=True)
    ]
    found = peers(judgments)
    assert found.without(0, 1, 2).tolist() == [0]
    assert found.without(2, 3, 2).tolist() == [1]
    assert found.without(0, 2, 2).tolist() == [1]


def test_each_person_stands_beside_the_others():
    found = left_out(table_of([single("i", "j", "pass", labels=["pass", "pass", "fail"])]))
    # Without one "pass" the other two are tied and not compared; "fail" is compared with two "pass".
    assert (found.answer.tolist(), found.target.tolist()) == ([0], [1])
    assert (found.number.tolist(), found.target_number.tolist()) == ([0], [1])


def test_pairs_keep_ties_and_one_person_says_nothing():
    found = left_out(
        table_of([pair("i", "j", "A>B", labels=["A>B", "B>A", "A>B"]), pair("k", "j", "A>B", labels=["A>B"])])
    )
    assert found.thing.tolist() == [0, 0, 0]
    assert found.target.tolist() == [2, 0, 2]  # a tied vote of a pair is a tie


def test_of_several_answers_of_one_person_the_last_one_is_left_out():
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


def test_labels_come_before_the_other_judges():
    judgments = [pair("i", "a", "A>B", label="B>A"), pair("k", "a", "A>B"), pair("k", "b", "A>B")]
    found = view(judgments, "a")
    assert found.reference == "labels"
    np.testing.assert_equal(found.right, [0, float("nan")])


def test_without_labels_the_majority_of_the_others():
    judgments = [single("i", judge, verdict) for judge, verdict in zip("abc", (True, False, False), strict=True)]
    found = view(judgments, "a")
    assert found.reference == "majority of the other judges"
    assert found.right.tolist() == [0]


def test_alone_without_labels_there_is_no_reference():
    assert view([pair("i", "a", "A>B")], "a").reference == "nothing"


def test_first_shown_is_a_place_in_the_item():
    found = view([pair("i", "a", "A>B"), pair("i", "a", "A>B", "BA"), pair("k", "a", "A>B", "BA")], "a")
    assert found.first_shown.tolist() == [0, 1, 1]
    assert found.things(np.arange(3)) == 2


def test_a_label_that_is_a_tie_is_no_target():
    found = view([pair("i", "a", "A>B", label="A=B"), pair("k", "a", "A>B", label="A>B")], "a")
    assert found.has_target.tolist() == [False, True]


def test_how_often_the_others_are_right():
    judgments = [
        pair("i", judge, verdict, label="A>B") for judge, verdict in zip("abc", ("B>A", "A>B", "B>A"), strict=True)
    ]
    assert view(judgments, "a").others_right().tolist() == [0.5]
    assert view(judgments, "b").others_right().tolist() == [0.0]
