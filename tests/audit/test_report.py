from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.audit.card import Figure
from metajudge.audit.draft import Draft, Evidence, decide, from_flips, from_slope, untested
from metajudge.audit.gather import gather
from metajudge.audit.report import audit, worst
from metajudge.audit.table import NOTHING
from metajudge.errors import InputError
from metajudge.stats.association import mean_of
from metajudge.stats.paired import sign_flip
from metajudge.types.right import parse_right
from metajudge.types.verdict import Category, Pairwise
from tests.audit.records import pair, single, table_of, view
from tests.doubles.simulated_judges import UNBIASED, SimulatedJudge, simulate

PLANTED = {**UNBIASED, "osprey-70b": SimulatedJudge(position=0.4), "wren": SimulatedJudge(copies="kestrel-32b")}


@pytest.fixture(scope="module")
def planted():
    return audit(simulate(PLANTED, items=300, seed=4, annotators=3))


def findings(report):
    return {(card.judge, check.name) for card in report.judges for check in card.checks if check.status == "finding"}


def test_planted_biases_are_found_and_others_are_not_and_every_card_stands_beside_the_human_ceiling(planted):
    assert findings(planted) == {("osprey-70b", "position"), ("wren", "copy"), ("kestrel-32b", "copy")}
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
    rules = {"pairwise": "top1", "grade": "within:1", "category": "equal"}
    assert [(card.judge, card.kind, card.n) for card in report.judges] == [("j", kind, 1) for kind in rules]
    assert {kind: one.right for kind, one in report.holdings.kinds.items()} == rules


def test_one_judgment_is_enough_for_a_card_and_people_who_are_always_tied_make_no_standard():
    card = audit([pair("i", "j", "A>B", label="A>B")]).judges[0]
    assert (card.n, card.accuracy, card.figures["accuracy"].interval) == (1, 1.0, pytest.approx((0.2065493, 1.0)))
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
    many = [single(f"i{at:02}", "j", True, label=False) for at in range(30)]
    assert [one.item for one in worst(view(many, "j"), 3)] == ["i00", "i01", "i02"]
    assert worst(view([single("i", "j", True)], "j")) == (), "none without labels"


NAN = float("nan")


def test_pairs_are_coded_by_the_preferred_response():
    table = table_of(
        [
            pair("i", "j", "A>>B", label="A>B"),
            pair("k", "j", "B>A", label="A>B"),
            pair("l", "j", "A=B", label="A>B"),
            pair("m", "j", "A>B", label="A=B"),
            pair("n", "j", "A>B"),
        ]
    )
    assert table.coding.classes == ("A", "B", "tie")
    assert table.answer.tolist() == [0, 1, 2, 0, 0]
    assert table.label.tolist() == [0, 0, 0, 2, NOTHING]
    np.testing.assert_equal(table.correct, [1, 0, 0, NAN, NAN])


def test_correct_is_what_judgments_say_of_themselves():
    judgments = [
        single(f"i{at}", "j", verdict, label=label)
        for at, (verdict, label) in enumerate([(3, 3), (4, 3), (2.5, 3), (5, None), (1, 2)])
    ]
    for rule in ("equal", "within:1", "side:3"):
        right = parse_right(rule)
        expected = [judgment.right(right) for judgment in judgments]
        table = table_of(judgments, right)
        assert [None if np.isnan(one) else bool(one) for one in table.correct] == expected
        assert str(table.right) == rule
        assert not table.right_default


def test_the_default_where_a_rule_does_not_apply_and_two_sides_of_pass_words_and_pass_labels():
    table = table_of([pair("i", "j", "A>B", label="A>B")], parse_right("within:1"))
    assert (str(table.right), table.right_default) == ("top1", True)
    table = table_of([single("i", "j", "pass", label=True), single("k", "j", "fail", label="correct")])
    assert table.coding.classes == ("fail", "pass")
    assert table.number.tolist() == [1, 0]
    assert table.correct.tolist() == [1, 0]
    assert table.binary
    table = table_of([single("i", "j", 8, label="pass"), single("k", "j", 2, label="pass")])
    assert str(table.right) == "side:5"
    assert table.coding.classes == ("fail", "pass")
    assert table.correct.tolist() == [1, 0]


def test_scales_places_and_numbers_of_grades_categories_and_rankings():
    judgments = [single("i", "j", 2, label=3, scale=(1, 10)), single("k", "j", 3, label=3, scale=(1, 10))]
    table = table_of(judgments)
    assert (table.coding.spread, table.binary) == (9, False)
    assert table_of([single("i", "j", 2), single("k", "j", 2)]).coding.spread is None
    scale = ("bad", "middling", "excellent")
    table = table_of(
        [single("i", "j", "excellent", label="middling", scale=scale), single("k", "j", "bad", scale=scale)]
    )
    assert table.coding.classes == scale
    assert table.number.tolist() == [2, 0]
    table = table_of([single(name, "j", name, label="blue") for name in ("red", "green", "blue")])
    assert np.isnan(table.number).all()
    assert table.coding.spread is None
    assert table.correct.tolist() == [0, 0, 1]
    table = table_of([pair("i", "j", [["B"], ["A"]], label=[["B"], ["A"]]), pair("k", "j", [["A", "B"]], label="A>B")])
    assert table.answer.tolist() == [1, 2]
    assert table.correct.tolist() == [1, 0]


def test_a_label_about_other_responses_is_no_label():
    from metajudge.types import Item, Judgment

    item = Item(id="i", question="q", responses=dict.fromkeys("ABC", "x"), label=Pairwise("C", "A", 1))
    table = table_of([Judgment(id="1", item=item, judge="j", verdict="A>B", order=("A", "B"))])
    assert table.label.tolist() == [NOTHING]
    assert np.isnan(table.correct).all()


def test_a_repeated_id_is_left_out_and_judgments_without_a_verdict_come_last():
    found = gather([pair("i", "j", None), pair("i", "k", "A>B"), pair("i", "k", "B>A")])
    assert (found.duplicates, found.facts.judgment_ids) == (1, ["i/k/AB/", "i/j/AB/"])
    assert (found.facts.judges, found.heard.judges) == (["k", "j"], ["k"])


def test_labels_and_the_category_of_one_item_come_together_and_two_of_their_own_are_noticed():
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
    found = gather([pair("i", "j", "A>B", label="A>B"), pair("i", "k", "A>B", label="B>A")])
    assert (found.relabelled, found.items[0].truth) == (1, Pairwise("A", "B", 1))


def held(*judgments):
    return audit(judgments).holdings


def test_counts_of_everything():
    found = held(
        pair("i", "a", "A>B", labels=[("ann", "A>B"), ("bob", "B>A")], models={"A": "x", "B": "y"}, category="c"),
        pair("i", "a", "A>B", "BA", meta={"time": "2026-01-01", "version": "v1"}),
        pair("i", "a", "A>B", "BA", id="again", meta={"time": "2026-01-02", "version": "v1"}),
        pair("k", "a", None, label="A>B"),
        pair("k", "b", "A>B", id="same"),
        pair("k", "b", "A>B", id="same"),
        single("s", "b", 4, label=4, question="question of k"),
    )
    assert (found.judgments, found.no_verdict, found.duplicates) == (6, 1, 1)
    assert (found.items, found.questions) == (3, 2)
    assert found.judges == {"a": 4, "b": 2}
    assert {kind: one.verdicts for kind, one in found.kinds.items()} == {"pairwise": 4, "grade": 1}
    assert found.kinds["pairwise"].right == "top1"
    assert (found.labelled_items, found.labels, found.undecided_labels) == (3, 2, 0)  # a tied vote of a pair is a tie
    assert (found.annotators, found.several_labels) == (2, 1)
    assert (found.both_orders, found.repeats) == (1, 1)
    assert (found.with_models, found.with_categories, found.with_time) == (1, 1, 2)
    assert (found.first_time, found.last_time) == ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")
    assert found.versions == {"a": ("v1",)}


def supports(*judgments):
    return {one.analysis: one for one in audit(judgments).supports}


def test_a_bare_file_says_what_is_possible_and_what_one_more_column_would_add():
    found = supports(*(single(f"i{at}", "j", at % 2 == 0) for at in range(20)))
    assert not any(one.possible for one in found.values())
    assert all(one.add for name, one in found.items() if name != "position")
    assert found["position"].why == "verdicts on single responses have no order"
    found = supports(
        *(single(f"i{at}", j, at % 3 == 0, label=at % 2 == 0, length=at + 1) for at in range(40) for j in ("a", "b"))
    )
    for name in (
        "agreement with people",
        "agreement with the other judges",
        "length",
        "severity",
        "corrected rate",
        "jury",
    ):
        assert (found[name].possible, found[name].add) == (True, ""), name
    assert not found["human ceiling"].possible


def test_words_that_are_no_side_are_counted():
    report = audit(
        [single("i", "j", "pass", label="pass"), single("k", "j", "perhaps", label="fail")], right=parse_right("equal")
    )
    assert report.holdings.kinds["category"].labelled == 2


def draft(p_value, smallest=0.05, parts=1, **changes):
    find = smallest if callable(smallest) else lambda level: smallest
    evidence = Evidence(0.2, 0.1, 0.3, 100, 0.95, "a test", null=0.0, p_value=p_value, smallest=find, questions=100)
    given = {"name": "length", "title": "Title", "reference": "labels", "unit": "unit", "sentence": "It does."}
    check = untested(**given | {"n": 100, "questions": 100})
    return replace(Draft(check, evidence, 80, parts), **changes)


def test_the_checks_of_a_card_share_its_level_and_findings_are_never_underpowered():
    statuses = [check.status for check in decide([draft(0.02), draft(0.6), draft(0.7)])]
    assert statuses == ["none", "none", "none"]
    assert decide([draft(0.01), draft(0.6), draft(0.7)])[0].status == "finding"
    assert decide([draft(0.02)])[0].status == "finding"
    assert decide([draft(0.01), draft(0.6)])[0].adjusted_p == pytest.approx(0.02)
    one, other = decide([draft(0.5, smallest=0.1), draft(0.5, smallest=0.2)])
    assert (one.status, other.status) == ("none", "underpowered")
    assert other.labels_needed == 320  # 80 items times (0.2 / 0.1) squared
    assert "320" in other.sentence
    assert "No finding" in one.sentence


def test_parts_of_a_check_share_its_level():
    asked = []

    def smallest(level):
        asked.append(level)
        return 0.05

    found = decide([draft(0.01, smallest, parts=10), draft(0.5)])
    assert found[0].p_value == pytest.approx(0.1)
    assert found[0].status == "none"
    assert asked == [pytest.approx(0.05 / 2 / 10)]
    assert "Bonferroni over 10" in found[0].test


def test_what_cannot_be_tested_is_underpowered_and_without_variation_the_rule_of_three_holds():
    found = decide([draft(0.5, evidence=None), draft(0.04)])
    assert (found[0].status, found[0].estimate, found[0].smallest_effect) == ("underpowered", None, None)
    assert found[1].status == "finding"  # what is not tested takes no share of the level
    values = np.random.default_rng(0).random(40)
    assert from_slope(mean_of(values[:9], range(9))) is None
    assert from_slope(mean_of(values, np.arange(40) % 3)) is None
    assert from_slope(mean_of(values, range(40))) is not None
    found = from_slope(mean_of(np.zeros(100), range(100)))
    assert (found.low, found.high) == pytest.approx((-0.0369, 0.0369))
    assert 0 < found.smallest(0.05) < 0.1
    flips = from_flips(sign_flip([0] * 100, range(100)))
    assert (flips.low, flips.high) == pytest.approx((-0.0369, 0.0369))
    assert flips.p_value == 1.0


TOLD = {"name": "length", "title": "t", "reference": "labels", "unit": "u", "n": 1, "questions": 1, "sentence": "s"}


@pytest.mark.parametrize("wrong", [{"status": "not applicable"}, {"estimate": float("nan")}])
def test_a_status_is_one_of_a_few_and_no_number_stands_for_no_answer(wrong):
    assert untested(**TOLD).status == "underpowered"
    with pytest.raises(ValidationError):
        untested(**TOLD | wrong)
    with pytest.raises(ValidationError):
        Figure(estimate=float("inf"), interval=None, n=1, questions=1, method="m")
