import numpy as np

from metajudge.audit.peers import left_out
from tests.audit.records import pair, people, single, table_of


def test_each_person_stands_beside_the_others():
    found = left_out(table_of([single("i", "j", "pass", labels=["pass", "pass", "fail"])]))
    # the two who pass leave an undecided rest; the third is held against pass
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
