import numpy as np

from metajudge.audit.peers import build_peers
from metajudge.audit.table import NOTHING
from metajudge.types.right import parse_right
from tests.audit.records import pair, single, table_of


def peers(judgments, right=None):
    return build_peers(table_of(judgments, right))


def test_majority_of_the_others_leaves_the_judge_out():
    found = peers([single("i", judge, verdict) for judge, verdict in zip("abc", ("pass", "fail", "fail"), strict=True)])
    assert found.others[:, 0].tolist() == [0, NOTHING, NOTHING]
    assert found.voters[:, 0].tolist() == [2, 2, 2]


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
