"""The one rule of what counts as right."""

import pytest

from metajudge.types import Right, default_right, is_right, parse_right, parse_verdict


@pytest.mark.parametrize("text", ["equal", "top1", "within:0.5", "within:0", "side:3", "side:-1", "kendall>=0.6"])
def test_a_rule_reads_what_it_writes(text):
    assert str(parse_right(text)) == text


@pytest.mark.parametrize(
    "text", ["", "near", "equal:1", "within", "within:", "within:-1", "side:x", "side:nan", "side:inf", "kendall>=2", "top1:"]
)  # fmt: skip
def test_other_rules_are_refused_with_what_is_accepted(text):
    with pytest.raises(ValueError, match=r"within:T .*side:PASSMARK"):
        parse_right(text)


@pytest.mark.parametrize(
    ("rule", "verdict", "label", "right"),
    [
        ("equal", "A>>B", "A>B", True),
        ("equal", "A=B", "A=B", True),
        ("equal", "A>B", "A=B", False),
        ("top1", "A>B", "A=B", None),
        ("top1", "A=B", "A>B", False),
        ("top1", ["A", "B", "C"], ["A", "C", "B"], True),
        ("top1", [["A", "B"], "C"], ["A", "C", "B"], False),
        ("equal", ["A", "B", "C"], ["A", "C", "B"], False),
        ("equal", ["A", "B"], ["A", "C"], None),
        ("kendall>=0.3", ["A", "B", "C"], ["A", "C", "B"], True),
        ("kendall>=0.4", ["A", "B", "C"], ["A", "C", "B"], False),
        ("equal", 0.1 + 0.2, 0.3, True),
        ("within:0.1", 0.4, 0.3, True),
        ("within:1", 3, 5, False),
        ("within:1", 3, "pass", None),
        ("side:3", 3, 5, True),
        ("side:3", 2, 5, False),
        ("side:3", 4, "pass", True),
        ("side:3", True, 2, False),
        ("side:3", "blue", 2, None),
        ("equal", True, "pass", True),
        ("equal", "C", "I", False),
        ("equal", "Blue", "blue", True),
        ("equal", 1, True, None),
    ],
)
def test_what_is_right(rule, verdict, label, right):
    assert is_right(parse_verdict(verdict), parse_verdict(label), parse_right(rule)) is right


@pytest.mark.parametrize(
    ("kind", "verdicts", "labels", "rule"),
    [
        ("pairwise", ["A>B"], ["A>B"], "top1"),
        ("ranking", [["A", "B"]], [], "top1"),
        ("grade", [1, 2], [5], "equal"),
        ("grade", [1, 2.5], [5], "within:0.4"),
        ("grade", [1, 2], ["pass"], "side:1.5"),
        ("grade", [2], [True], "side:2"),
        ("category", ["pass"], [1, 5], "side:3"),
        ("category", ["pass"], [True], "equal"),
    ],
)
def test_the_default_fits_the_data(kind, verdicts, labels, rule):
    found = default_right(kind, map(parse_verdict, verdicts), map(parse_verdict, labels))
    assert str(found) == rule
    assert found.applies(kind)


def test_a_pass_mark_is_no_rule_for_pairs():
    assert not Right("side", 3).applies("pairwise")
