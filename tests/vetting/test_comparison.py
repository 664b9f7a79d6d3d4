"""Two runs paired by judgment."""

from dataclasses import replace

import pytest

from metajudge.errors import InputError
from metajudge.evidence.units import Asked
from metajudge.store.run_results import RunResult
from metajudge.types import Judgment, parse_right
from metajudge.vetting.comparison import Labelled, Side, by_labels, compare


def assessment(name, accepted, score=None, item=None, digest="d"):
    return RunResult(0, 0, name, item or name, f"{digest}-{name}", "p", accepted, score)


def side(name, *given, correct=None):
    return Side(name, {one.judgment_id: one for one in given}, correct or {})


def graded(name, grade, label):
    """A verdict with its label."""
    item = {"id": name, "question": "?", "responses": {"A": "one"}, "label": label}
    return Labelled.of(Judgment.model_validate({"id": name, "item": item, "judge": "owl", "verdict": grade}))


@pytest.mark.parametrize(
    ("rule", "said", "right"),
    [(None, {"grade": "equal"}, [False, True]), (parse_right("within:1"), {"grade": "within:1"}, [True, True])],
)
def test_what_counts_as_right_is_one_rule_for_both_runs(rule, said, right):
    first = Side("one", {}, labelled={"a": graded("a", 4, 5)})
    second = Side("two", {}, labelled={"b": graded("b", 3, 3)})
    one, other, rules = by_labels(first, second, rule)
    assert {kind: str(found) for kind, found in rules.items()} == said
    assert [one.correct["a"], other.correct["b"]] == right


def test_kinds_that_the_rule_is_not_for_keep_their_default_and_a_rule_for_none_is_refused():
    labelled = {"a": graded("a", 4, 5), "b": graded("b", "pass", True)}
    one, _, rules = by_labels(Side("one", {}, labelled=labelled), Side("two", {}), parse_right("within:1"))
    assert {kind: str(found) for kind, found in rules.items()} == {"grade": "within:1", "category": "equal"}
    assert one.correct == {"a": True, "b": True}
    with pytest.raises(InputError, match="top1 does not apply"):
        by_labels(Side("one", {}, labelled={"a": graded("a", 4, 5)}), Side("two", {}), parse_right("top1"))


def test_what_is_gained_and_lost_and_left_out():
    first = side(
        "one", *(assessment(f"j{n}", n < 4) for n in range(8)), assessment("only", True), assessment("u", None)
    )
    second = side("two", *(assessment(f"j{n}", n < 2 or n > 5) for n in range(8)), assessment("u", True))
    found = compare(first, second)
    assert (found.paired, found.only_first, found.only_second, found.undecided) == (9, 1, 0, (1, 0))
    assert (found.both_kept, found.neither_kept) == (2, 2)
    assert (found.gained, found.lost) == (("j6", "j7"), ("j2", "j3"))
    assert found.kept.value == 0
    assert found.kept.p_value == 1


def test_the_order_of_the_runs_only_turns_the_signs():
    first = side("one", *(assessment(f"j{n}", n % 3 == 0, 1.0 + n % 4) for n in range(30)))
    second = side("two", *(assessment(f"j{n}", n % 2 == 0, 2.0 + n % 3) for n in range(30)))
    there, back = compare(first, second), compare(second, first)
    assert there.kept.value == pytest.approx(-back.kept.value)
    assert there.score.value == pytest.approx(-back.score.value)
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert there.kept.p_value == back.kept.p_value
    assert there.kept.low <= there.kept.value <= there.kept.high


def test_mcnemar_is_left_out_where_judgments_hang_together_and_precision_is_of_the_labelled_kept():
    first = side("one", *(assessment(f"j{n}", True, item=f"i{n // 2}") for n in range(20)))
    second = side("two", *(assessment(f"j{n}", n % 4 > 1, item=f"i{n // 2}") for n in range(20)))
    found = compare(first, second)
    assert found.kept.p_value is None
    assert (found.kept.n, found.kept.items) == (20, 10)
    alone = (one._replace(item_id=one.judgment_id) for one in first.results.values())
    assert compare(side("one", *alone), second).kept.p_value is not None
    correct = {f"j{n}": n % 2 == 0 for n in range(10)}
    first = side("one", *(assessment(f"j{n}", True) for n in range(12)), correct=correct)
    second = side("two", *(assessment(f"j{n}", n % 2 == 0) for n in range(12)))
    found = compare(first, second)
    assert (found.precision.first, found.precision.second, found.precision.n) == (0.5, 1.0, 10)
    assert found.right_lost == (0, 5)


def test_absent_figures_say_why_and_are_no_zeros():
    first = side("one", *(assessment(f"j{n}", True) for n in range(3)), correct={"j0": True})
    second = side("two", *(assessment(f"j{n}", False) for n in range(3)))
    found = compare(first, second)
    assert found.score.to_json().keys() == {"n", "items", "why_absent"}
    assert "no-early-exit" in found.score.why_absent
    assert "the second keeps none" in found.precision.why_absent
    unlabelled = compare(side("one", assessment("a", True)), side("two", assessment("a", True)))
    assert "no label" in unlabelled.precision.why_absent
    alone = compare(side("one", assessment("a", True, 3.0)), side("two", assessment("a", False, 5.0)))
    assert (alone.score.value, alone.score.low) == (2.0, None)
    assert "one item" in alone.score.why_absent


def test_the_same_id_with_another_content_is_not_paired():
    first = side("one", assessment("a", True), assessment("b", True))
    second = side("two", assessment("a", False, digest="other"), assessment("b", True))
    assert (compare(first, second).paired, compare(first, second).changed_content) == (1, 1)
    for other, message in (("a", "1 share an id"), ("c", "no judgment in common")):
        with pytest.raises(InputError, match=message):
            compare(side("one", assessment("a", True)), side("two", assessment(other, False, digest="other")))


@pytest.mark.parametrize(("unit", "number", "word"), [(None, 2, "question"), ("item", 4, "")])
def test_items_of_one_question_are_resampled_together(unit, number, word):
    given = [assessment(f"j{at}", at > 0, 3.0, f"i{at}") for at in range(4)]
    asked = {f"j{at}": Asked(f"i{at}", "t", f"q{at // 2}", False) for at in range(4)}
    first = replace(side("one", *given), asked=asked)
    found = compare(first, side("two", *given), resamples=100, unit=unit)
    assert (found.kept.items, found.kept.n, found.kept.unit) == (number, 4, word)
    assert (found.kept.p_value is None) == (unit is None), "McNemar's test is for independent judgments"
