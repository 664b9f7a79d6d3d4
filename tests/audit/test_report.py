from dataclasses import replace

import numpy as np
import pytest

from metajudge.audit.draft import Draft, Evidence, decide, from_flips, from_slope, untested
from metajudge.audit.gather import gather
from metajudge.audit.report import audit, worst
from metajudge.audit.table import NOTHING
from metajudge.errors import InputError
from metajudge.report.audit.published import published
from metajudge.report.audit.terminal import lines
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


def test_findings_come_by_what_they_cost_on_one_screen_before_the_details(planted):
    costs = {(judge.judge, check.name): check.cost for judge, check in planted.findings}
    assert next(iter(costs)) == ("osprey-70b", "position")
    position = planted.findings[0][1]
    assert costs["osprey-70b", "position"] == abs(position.estimate) / 2, "of a pair in both orders one of two is wrong"
    assert costs["wren", "copy"] is None, "a copy makes no verdict of its own wrong"
    told = [line.plain for line in lines(published(planted))]
    screen = told[: told.index("What the file holds")]
    assert len(screen) <= 24
    assert all(len(line) <= 80 for line in screen)
    for judge in planted.judges:
        (row,) = [line for line in screen if line.startswith(f"  {judge.judge} ")]
        assert f"{100 * judge.accuracy:.1f} (" in row
        assert f" {judge.figures['accuracy'].n} " in row
    shown = [line.split()[1:2] for line in screen if "Prefers" in line or "Errs like" in line]
    assert shown == [[judge.judge] for judge, _ in planted.findings]


def test_a_large_difference_that_may_be_chance_is_said_to_be_one():
    weak = [pair(f"i{at}", "j", "A>B" if at % 3 else "B>A", label="A>B" if at % 2 else "B>A") for at in range(24)]
    check = next(one for one in audit(weak).judges[0].checks if one.name == "position")
    assert (check.status, check.unsure) == ("underpowered", True)
    more = check.labels_needed - 24
    assert f"A large difference, but only 24 questions: it could be chance; about {more} more" in check.sentence
    told = " ".join(line.plain.strip() for line in lines(published(audit(weak))))
    assert "it could be chance" in told
    below = draft(0.9, smallest=0.3)
    one_sided = replace(below, evidence=replace(below.evidence, null=0.6))
    assert "Underpowered" in decide([one_sided])[0].sentence, "far below a margin nothing is large"


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


def test_nothing_to_audit_is_an_error():
    with pytest.raises(InputError, match="there are no judgments"):
        audit([])
    with pytest.raises(InputError, match="level"):
        audit([pair("i", "j", "A>B")], level=1.5)


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
    assert "240 more" in other.sentence
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
