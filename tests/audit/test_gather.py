import numpy as np

from metajudge.audit.gather import gather
from metajudge.types.verdict import Category, Pairwise
from tests.audit.records import pair, single


def test_a_repeated_id_is_left_out_and_judgments_without_a_verdict_come_last():
    found = gather([pair("i", "j", None), pair("i", "k", "A>B"), pair("i", "k", "B>A")])
    assert (found.duplicates, found.facts.judgment_ids) == (1, ["i/k/AB/", "i/j/AB/"])
    assert (found.facts.judges, found.heard.judges) == (["k", "j"], ["k"])


def test_labels_and_the_category_of_one_item_come_together_from_several_records():
    found = gather(
        [
            single("i", "j", "pass", labels=[("ann", "pass")], category="x"),
            single("i", "k", "pass", labels=[("bob", "fail")], length=9),
            single("i", "l", "pass", labels=[("ann", "pass"), ("bob", "fail"), ("cy", "pass")]),
        ]
    )
    assert sorted(one.annotator for one in found.people[0]) == ["ann", "bob", "cy"]
    assert found.facts.truths == [Category("pass")]
    for column in (found.facts.item, found.facts.truth, found.facts.category):
        assert np.all(column == 0)


def test_two_labels_of_their_own_are_noticed():
    found = gather([pair("i", "j", "A>B", label="A>B"), pair("i", "k", "A>B", label="B>A")])
    assert (found.relabelled, found.items[0].truth) == (1, Pairwise("A", "B", 1))
