from metajudge.audit.report import worst
from tests.audit.records import pair, single, view


def test_the_furthest_grades_come_first_with_their_texts():
    judgments = [
        single("near", "j", 4.0, label=3.0),
        single("far", "j", 1.0, label=5.0, rationale="because", length=30),
        single("right", "j", 5.0, label=5.0),
    ]
    found = worst(view(judgments, "j"))
    assert [one.item for one in found] == ["far", "near"]
    assert (found[0].verdict, found[0].label, found[0].distance) == (1.0, 5.0, 1.0)
    assert (found[0].rationale, found[0].response, found[0].question) == ("because", "r" * 30, "question of far")


def test_equal_distances_are_ordered_by_what_people_agree_on_then_strength_then_id():
    judgments = [
        pair("c", "j", "A>B", labels=["B>A", "B>A", "A>B"]),
        pair("b", "j", "A>>B", labels=["B>A"]),
        pair("a", "j", "A>B", labels=["B>A"]),
        pair("d", "j", "A>B", labels=["B>A", "B>A"]),
        pair("e", "j", "A=B", labels=["B>A", "B>A", "B>A"]),
    ]
    found = worst(view(judgments, "j"))
    assert [one.item for one in found] == ["d", "b", "a", "c", "e"]
    assert (found[0].people, found[0].unanimous) == (2, True)
    assert found[3].unanimous is False
    assert found[0].response == "aaaaa"
    assert worst(view(judgments[::-1], "j")) == found


def test_only_so_many_and_none_without_labels():
    judgments = [single(f"i{at:02}", "j", True, label=False) for at in range(30)]
    assert [one.item for one in worst(view(judgments, "j"), 3)] == ["i00", "i01", "i02"]
    assert worst(view([single("i", "j", True)], "j")) == ()
