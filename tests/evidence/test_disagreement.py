import itertools

import numpy as np
import pytest

from metajudge.evidence.class_answers import ClassAnswers
from metajudge.evidence.disagreement import BLOCK, MOST_JUDGES, disagreement
from tests.evidence.verdicts import collected, said


def answers_of(table: list[str]) -> ClassAnswers:
    """Items by judges: p passes, f fails, a blank is not asked."""
    words = {"p": True, "f": False}
    records = [
        (f"i{at:04}", [said(f"j{who:02}", "A", words[mark]) for who, mark in enumerate(row) if mark != " "])
        for at, row in enumerate(table)
    ]
    (found,) = collected(records)
    return found


def test_by_hand() -> None:
    found = disagreement(answers_of(["ppf", "pff", "ppp", "p f"]))
    assert found.most_right == pytest.approx((2 + 2 + 3 + 1) / 11)
    differ = {pair.judges: (pair.items, pair.differ) for pair in found.pairs}
    assert differ == {("j00", "j01"): (3, 1 / 3), ("j00", "j02"): (4, 0.75), ("j01", "j02"): (3, 1 / 3)}
    assert found.pairs[1].worse_errs == 0.375
    assert (found.common, found.named) == (3, (0, 0, 2, 1))
    assert found.most_judges(1.0) == 2
    assert found.most_judges(7 / 9) == 3
    assert found.most_judges(0.8) == 2


@pytest.mark.parametrize("seed", range(5))
def test_no_truth_breaks_a_bound(seed: int) -> None:
    """Every truth is tried: 2^5 for five items."""
    rng = np.random.default_rng(seed)
    table = ["".join(rng.choice(list("ppf "), size=4)) for _ in range(5)]
    table = [row if row.strip() else "pfpf" for row in table]
    found = disagreement(answers_of([*table, "pfpf"]))
    table.append("pfpf")
    for truth in itertools.product("pf", repeat=len(table)):
        right = [[mark == true for mark in row if mark != " "] for row, true in zip(table, truth, strict=True)]
        assert sum(map(sum, right)) <= found.most_right * found.answers + 1e-9
        for pair in found.pairs:
            first, second = (int(name[1:]) for name in pair.judges)
            both = [(row[first], row[second], true) for row, true in zip(table, truth, strict=True)]
            both = [one for one in both if " " not in one[:2]]
            errors = [sum(one[side] != one[2] for one in both) / len(both) for side in (0, 1)]
            assert sum(errors) >= pair.differ - 1e-9
            assert max(errors) >= pair.worse_errs - 1e-9
        full = [(row, true) for row, true in zip(table, truth, strict=True) if " " not in row]
        shares = [sum(row[who] == true for row, true in full) / len(full) for who in range(4)]
        for accuracy in (0.5, 0.75, 1.0):
            assert sum(share >= accuracy for share in shares) <= (found.most_judges(accuracy) or 0)


def test_judges_who_agree_are_bounded_by_nothing() -> None:
    found = disagreement(answers_of(["pp", "ff"]))
    assert (found.most_right, found.most_judges(1.0)) == (1.0, 2)
    assert [pair.worse_errs for pair in found.pairs] == [0.0]


def test_without_a_common_item_there_is_no_bound_on_judges() -> None:
    found = disagreement(answers_of(["p ", " f"]))
    assert (found.common, found.pairs, found.most_judges(0.9)) == (0, (), None)


def test_a_judge_asked_twice_counts_as_right_where_one_answer_is() -> None:
    records = [("i", [said("x", "A", True), said("x", "A", False), said("y", "A", False)])]
    found = disagreement(collected(records)[0])
    assert [pair.differ for pair in found.pairs] == [0.0]
    assert found.most_right == pytest.approx(2 / 3)


def test_ties_are_never_right() -> None:
    records = [("i", [said("x", "AB", "A=B"), said("y", "AB", "A>B")])]
    found = disagreement(collected(records)[0])
    assert found.most_right == 0.5
    assert [pair.differ for pair in found.pairs] == [1.0]


def test_blocks_of_items_and_many_judges() -> None:
    table = ["ppf", "fpp"] * BLOCK
    found = disagreement(answers_of(table))
    assert found.common == len(table)
    assert [pair.items for pair in found.pairs] == [len(table)] * 3
    crowd = disagreement(answers_of(["p" * MOST_JUDGES + "f"] * 3))
    assert (crowd.pairs, crowd.common) == ((), 0)
    assert crowd.most_right == pytest.approx(MOST_JUDGES / (MOST_JUDGES + 1))
