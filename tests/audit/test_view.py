import numpy as np

from tests.audit.records import pair, single, view


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
