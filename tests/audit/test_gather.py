from metajudge.audit.gather import EXCERPT, gather
from metajudge.types.verdict import Category, Pairwise
from tests.audit.records import pair, single


def test_a_repeated_id_is_counted_and_left_out():
    found = gather([pair("i", "j", "A>B"), pair("i", "j", "B>A")])
    assert (found.duplicates, len(found.rows["pairwise"].judge)) == (1, 1)


def test_judgments_without_a_verdict_are_counted_by_judge():
    found = gather([pair("i", "j", None), pair("i", "k", "A>B")])
    assert found.counts == {"j": 1, "k": 1}
    assert found.no_verdict == {"j": 1}


def test_labels_of_one_item_come_together_from_several_records():
    found = gather(
        [
            single("i", "j", "pass", labels=[("ann", "pass")]),
            single("i", "k", "pass", labels=[("bob", "fail")]),
            single("i", "l", "pass", labels=[("ann", "pass"), ("bob", "fail"), ("cy", "pass")]),
        ]
    )
    assert sorted(one.annotator for one in found.items[0].people) == ["ann", "bob", "cy"]
    assert found.items[0].truth() == Category("pass")


def test_two_labels_of_their_own_are_noticed():
    found = gather([pair("i", "j", "A>B", label="A>B"), pair("i", "k", "A>B", label="B>A")])
    assert found.relabelled == {0}
    assert found.items[0].truth() == Pairwise("A", "B", 1)


def test_orders_of_one_pair_are_one_thing_and_items_of_one_text_one_question():
    found = gather(
        [
            *(pair("i", "j", "A>B"), pair("i", "j", "A>B", "BA"), pair("k", "j", "A>B", question="question of i")),
            pair("l", "j", "A>B"),
        ]
    )
    assert found.rows["pairwise"].thing == [0, 0, 1, 2]
    assert [one.question for one in found.items] == [0, 0, 1]
    assert found.questions == 2


def test_only_the_first_characters_of_texts_are_kept():
    found = gather([single("i", "j", 3, length=5000, question="q" * 5000, rationale="r" * 5000)])
    assert len(found.items[0].excerpt) == len(found.rows["grade"].rationale[0]) == EXCERPT
    assert len(found.things["grade"][0].excerpts[0]) == EXCERPT
    assert found.things["grade"][0].lengths == (5000,)
