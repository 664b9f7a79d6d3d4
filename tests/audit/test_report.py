import pytest

from metajudge.audit.report import audit, worst
from metajudge.errors import InputError
from metajudge.types.right import parse_right
from tests.audit.records import pair, single, view
from tests.doubles.simulated_judges import UNBIASED, SimulatedJudge, simulate

PLANTED = {**UNBIASED, "osprey-70b": SimulatedJudge(position=0.4), "wren": SimulatedJudge(copies="kestrel-32b")}


@pytest.fixture(scope="module")
def planted():
    return audit(simulate(PLANTED, items=300, seed=4, annotators=3))


def findings(report):
    return {(card.judge, check.name) for card in report.judges for check in card.checks if check.status == "finding"}


def test_planted_biases_are_found_and_others_are_not(planted):
    assert findings(planted) == {("osprey-70b", "position"), ("wren", "copy"), ("kestrel-32b", "copy")}


def test_every_card_stands_beside_the_human_ceiling(planted):
    assert planted.ceilings[0].agreement.estimate == pytest.approx(0.85, abs=0.1)
    assert all("ceiling_gap" in card.figures for card in planted.judges)


def test_the_order_of_the_input_does_not_matter():
    judgments = list(simulate(UNBIASED, items=60, seed=1))
    one, other = audit(judgments), audit(judgments[::-1])
    assert [card.figures["accuracy"] for card in one.judges] == [card.figures["accuracy"] for card in other.judges]
    for first, second in zip(one.judges, other.judges, strict=True):
        for a, b in zip(first.checks, second.checks, strict=True):
            assert a.estimate == pytest.approx(b.estimate)
            assert a.status == b.status
        assert first.worst == second.worst


def test_swapping_names_of_responses_changes_no_figure():
    names = str.maketrans("AB", "BA")

    def swapped(judgment):
        data = judgment.model_dump(mode="json")
        for field in ("responses", "models"):
            data["item"][field] = {name.translate(names): text for name, text in data["item"][field].items()}
        data["item"]["label"] = data["item"]["label"].translate(names)
        data["order"] = [name.translate(names) for name in data["order"]]
        return type(judgment).model_validate(data | {"verdict": data["verdict"].translate(names)})

    judgments = list(simulate(UNBIASED, items=40, seed=2))
    one, other = audit(judgments), audit([swapped(judgment) for judgment in judgments])
    for first, second in zip(one.judges, other.judges, strict=True):
        assert first.figures["accuracy"] == second.figures["accuracy"]
        assert [(a.name, a.estimate, a.p_value) for a in first.checks] == [
            (b.name, pytest.approx(b.estimate), pytest.approx(b.p_value)) for b in second.checks
        ]


def test_without_labels_judges_are_held_against_each_other():
    careless = {**UNBIASED, "plover-2": SimulatedJudge(accuracy=0.5)}
    report = audit(simulate(careless, items=400, seed=3, labelled=False, pairs=False))
    assert ("plover-2", "weaker_than_peers") in findings(report)
    assert {judge for judge, _ in findings(report)} == {"plover-2"}
    card = report.judges[0]
    assert (card.accuracy, card.kappa, card.rates) == (None, None, ())
    assert card.checks[0].reference == "majority of the other judges"
    assert report.next[0].goal == "add labels"


def test_kinds_are_never_mixed():
    judgments = [
        pair("p", "j", "A>B", label="A>B"),
        single("g", "j", 3, label=4),
        single("c", "j", "pass", label="pass"),
    ]
    report = audit(judgments, right=parse_right("within:1"))
    assert [(card.judge, card.kind, card.n) for card in report.judges] == [
        ("j", "pairwise", 1),
        ("j", "grade", 1),
        ("j", "category", 1),
    ]
    assert {kind: one.right for kind, one in report.holdings.kinds.items()} == {
        "pairwise": "top1",
        "grade": "within:1",
        "category": "equal",
    }


def test_one_judgment_is_enough_for_a_card():
    card = audit([pair("i", "j", "A>B", label="A>B")]).judges[0]
    assert (card.n, card.accuracy, card.figures["accuracy"].interval) == (1, 1.0, pytest.approx((0.2065493, 1.0)))


def test_people_who_are_always_tied_make_no_standard():
    judgments = [
        pair(f"i{at}", "j", "A>B", label="A>B" if at % 2 else "B>A", labels=["A=B", "A=B"]) for at in range(20)
    ]
    card = audit(judgments).judges[0]
    assert "people" not in next(check.unit for check in card.checks if check.name == "position")


def test_nothing_to_audit_is_an_error():
    with pytest.raises(InputError, match="there are no judgments"):
        audit([])
    with pytest.raises(InputError, match="level"):
        audit([pair("i", "j", "A>B")], level=1.5)


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
