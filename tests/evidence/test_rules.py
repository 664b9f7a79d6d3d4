from typing import Any

import pytest

from metajudge.evidence.rules import Rules
from metajudge.types import Item, Judgment, Right, default_right, parse_right, parse_verdict


def graded(verdict: Any, label: Any = None) -> Judgment:
    return Judgment(
        id="j", item=Item(id="i", question="?", responses={"A": "a"}, label=label), judge="x", verdict=verdict
    )


@pytest.mark.parametrize("grades", [[1, 5, 3], [0.5, 0.25, 1], [7, 7.5, 2], [3], [True, False], [1, 5, True]], ids=str)
@pytest.mark.parametrize("labels", [[], [2, 4], ["pass"], [0.1]], ids=str)
def test_a_few_examples_give_the_rule_of_all(grades: list[Any], labels: list[Any]) -> None:
    rules = Rules()
    given = [graded(grade, labels[n % len(labels)] if labels else None) for n, grade in enumerate(grades * 3)]
    for judgment in given:
        rules.add(judgment.verdict, judgment.item.truth)
        rules.of("grade")  # must not be remembered past the next judgment
    verdicts, truths = map(parse_verdict, grades), map(parse_verdict, labels)
    assert rules.of("grade") == default_right("grade", list(verdicts), list(truths))


def test_a_given_rule_holds_for_the_kinds_it_applies_to() -> None:
    rules = Rules(parse_right("within:0.5"))
    assert rules.of("grade") == Right("within", 0.5)
    assert rules.of("pairwise") == Right("top1")
    assert rules.of("category") == Right("equal")


def test_the_kinds_are_those_of_the_verdicts() -> None:
    rules = Rules()
    rules.add(parse_verdict(3), None)
    rules.add(parse_verdict("pass"), None)
    assert rules.kinds == {"grade", "category"}
