import itertools
import random
from typing import Any

import numpy as np
import pytest

from metajudge.evidence.class_answers import ClassAnswers
from metajudge.evidence.facts import collected
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.no_labels import FEWEST_ITEMS, NoLabels, most_right, score_of
from metajudge.types import NO_LABELS, Category, Item, Judgment, parse_right, parse_verdict
from tests.evidence.verdicts import collected as answers_collected
from tests.evidence.verdicts import said

PAIRS = {Category(True): parse_verdict("A>B"), Category(False): parse_verdict("B>>A")}


def graded(item: int, judge: str, verdict: Any, **more: Any) -> Judgment:
    content = Item(id=f"i{item}", question="?", responses={"A": "a", "B": "b"}, label=more.pop("label", None))
    return Judgment(id=f"{item}-{judge}", item=content, judge=judge, verdict=verdict, order=("A",), **more)


def crowd(items: int = 40, judges: str = "vwxyz") -> list[Judgment]:
    """Judge z contradicts the others on every third item."""
    return [
        graded(item, judge, (item % 2 == 0) != (judge == "z" and item % 3 == 0))
        for item in range(items)
        for judge in judges
    ]


def test_every_verdict_has_a_probability_that_follows_the_majority() -> None:
    given = crowd()
    found = NoLabels.fit(EvidenceIndex.build(given))
    values = {one.id: found.probability(one) for one in given}
    assert all(value is not None for value in values.values())
    assert (values["3-z"] or 1) < 0.3 < 0.7 < (values["3-v"] or 0)
    assert (values["3-z"] or 0) + (values["3-v"] or 0) == pytest.approx(1)
    assert (values["3-v"] or 0) < (values["1-v"] or 0)


def test_the_signal_says_that_there_were_no_labels() -> None:
    given = crowd()
    found = NoLabels.fit(EvidenceIndex.build(given)).signal(given[0])
    assert found is not None
    assert found.state == NO_LABELS == "no_labels"
    assert "no label was seen and nothing is calibrated" in found.detail
    assert found.value == round(found.value or 0, 4)


@pytest.mark.parametrize("kind", ["grades", "pairs"])
def test_the_column_has_the_signal_of_every_judgment(kind: str) -> None:
    given = [*crowd(), graded(1, "v", "unsure"), graded(2, "w", None, no_verdict="cut off")]
    if kind == "pairs":
        given = [one.model_copy(update={"verdict": PAIRS[one.verdict], "order": tuple("AB")}) for one in crowd()]
        given.append(given[0].model_copy(update={"verdict": parse_verdict("A=B")}))
    random.Random(0).shuffle(given)
    facts = collected(given)
    found = NoLabels.of(facts.recorded, [item.id for item in facts.items], facts.rules())
    column = found.column(len(facts))
    assert [column.at(row) for row in range(len(given))] == [found.signal(one) for one in given]
    plain = NoLabels.fit(EvidenceIndex.build(given))
    assert [plain.signal(one) for one in given] == [found.signal(one) for one in given]
    assert sum(code >= 0 for code in column.codes) >= len(crowd())


def test_labels_change_nothing() -> None:
    plain = NoLabels.fit(EvidenceIndex.build(crowd()))
    labelled = [
        one.model_copy(update={"item": one.item.model_copy(update={"label": one.verdict})}) if one.judge == "z" else one
        for one in crowd(judges="vwxy")
    ] + [one for one in crowd() if one.judge == "z"]
    seen = NoLabels.fit(EvidenceIndex.build(labelled))
    assert [seen.probability(one) for one in crowd()] == [plain.probability(one) for one in crowd()]


@pytest.mark.parametrize("given", [crowd(judges="yz"), crowd(items=FEWEST_ITEMS - 1), crowd(judges="z")], ids=len)
def test_too_little_has_no_probability(given: list[Judgment]) -> None:
    found = NoLabels.fit(EvidenceIndex.build(given))
    assert found.groups == {}
    assert found.probability(given[0]) is None
    assert found.signal(given[0]) is None


def test_what_was_not_fitted_has_no_probability() -> None:
    found = NoLabels.fit(EvidenceIndex.build(crowd()))
    assert found.probability(graded(99, "v", True)) is None
    assert found.probability(graded(1, "v", "maybe")) is None
    assert found.probability(graded(1, "v", 4)) is None
    assert found.probability(graded(1, "v", None, no_verdict="cut")) is None


def test_grades_by_their_side() -> None:
    given = [graded(item, judge, 4 + (item % 2) + (judge == "x")) for item in range(30) for judge in "wxyz"]
    found = NoLabels.fit(EvidenceIndex.build(given, parse_right("side:5")))
    low, high = found.probability(given[0]), found.probability(given[1])
    assert low is not None
    assert high is not None
    assert high < 0.5 < low


def test_a_score_of_half_is_the_middle_of_the_scale() -> None:
    assert [score_of(one) for one in (0, 0.5, 0.875, 1)] == [1, 3, 4.5, 5]


def answers_of(table: list[str]) -> ClassAnswers:
    """Items by judges: p passes, f fails, a blank is not asked."""
    words = {"p": True, "f": False}
    records = [
        (f"i{at:04}", [said(f"j{who:02}", "A", words[mark]) for who, mark in enumerate(row) if mark != " "])
        for at, row in enumerate(table)
    ]
    (found,) = answers_collected(records)
    return found


def test_of_an_items_answers_no_more_are_right_than_name_its_most_frequent_class() -> None:
    assert most_right(answers_of(["ppf", "pff", "ppp", "p f"])) == (2 + 2 + 3 + 1) / 11
    assert most_right(answers_of(["pp", "ff"])) == 1.0
    (tied,) = answers_collected([("i", [said("x", "AB", "A=B"), said("y", "AB", "A>B")])])
    assert most_right(tied) == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_no_truth_makes_more_answers_right(seed: int) -> None:
    """Every truth is tried: 2^5 for five items."""
    table = ["".join(row) + "p" for row in np.random.default_rng(seed).choice(list("ppf "), size=(5, 4))]
    found = answers_of(table)
    for truth in itertools.product("pf", repeat=len(table)):
        right = sum(row.count(true) for row, true in zip(table, truth, strict=True))
        assert right <= most_right(found) * len(found.said) + 1e-9
