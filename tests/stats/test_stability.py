from random import Random

import pytest

from metajudge.errors import InputError
from metajudge.stats.stability import (
    Correctness,
    StabilityClass,
    choose_third_run,
    kendall_across,
    repetition,
    repetition_by,
    retest,
    stability_class,
)

RIGHT, WRONG, TIE, LOST, ERROR = Correctness


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([RIGHT, RIGHT], "stable_right"),
        ([WRONG, WRONG, WRONG], "stable_wrong"),
        ([TIE, TIE], "stable_tie"),
        ([RIGHT, WRONG], "unstable"),
        ([RIGHT, TIE], "unstable"),
        ([WRONG, LOST], "undetermined"),
        ([WRONG, ERROR, WRONG], "stable_wrong"),
        ([], "undetermined"),
        ([LOST, ERROR], "undetermined"),
    ],
)
def test_a_run_without_a_verdict_is_never_a_wrong_one(outcomes, expected):
    assert stability_class(outcomes) == expected


def test_retest_compares_verdicts_and_counts_what_is_missing():
    found = retest(["A", "B", "A", None, "tie"], ["A", "A", "A", "B", "tie"])
    assert (found.n, found.without) == (4, 1)
    assert found.same is not None
    assert found.same.estimate == 0.75
    assert found.kappa is not None
    assert found.kappa.estimate == pytest.approx((3 / 4 - 7 / 16) / (9 / 16))  # by chance 2/4 x 3/4 + 1/4 x 1/4
    empty = retest([None], ["A"])
    assert (empty.same, empty.kappa, empty.n, empty.without) == (None, None, 0, 1)
    with pytest.raises(InputError, match="first run has 1 labels, the second 2"):
        retest(["A"], ["A", "B"])


def test_third_run_takes_all_wrong_and_unstable_and_the_least_confident_right():
    kinds = StabilityClass
    classes = {"w1": kinds.STABLE_WRONG, "u1": kinds.UNSTABLE, "r1": kinds.STABLE_RIGHT, "r2": kinds.STABLE_RIGHT}
    classes |= {"r3": kinds.STABLE_RIGHT, "t": kinds.STABLE_TIE, "x": kinds.UNDETERMINED}
    confidence = {"w1": 1.0, "u1": 0.2, "r1": 0.9, "r2": 0.1, "r3": 0.5, "t": 0.0, "x": None}
    found = choose_third_run(classes, confidence, 4)
    assert found.chosen == ("w1", "u1", "r2", "r3")
    assert found.left_out == ()
    assert choose_third_run(classes, confidence, 0).chosen == ("w1", "u1")


def test_equal_confidence_is_not_settled_by_ids_or_order():
    classes = dict.fromkeys("abcd", StabilityClass.STABLE_RIGHT)
    confidence = {"a": 0.1, "b": 0.3, "c": 0.1 + 0.2, "d": 1.0}  # b and c are equal but for float noise
    found = choose_third_run(classes, confidence, 2)
    assert found.low_confidence == ("a",)
    assert set(found.left_out) == {"b", "c"}
    backwards = choose_third_run(dict(reversed(classes.items())), confidence, 2)
    assert set(backwards.chosen) == set(found.chosen)
    draws = {choose_third_run(classes, confidence, 2, Random(seed)).low_confidence for seed in range(30)}
    assert draws == {("a", "b"), ("a", "c")}
    one = choose_third_run(classes, confidence, 2, Random(3))
    other = choose_third_run(dict(reversed(classes.items())), confidence, 2, Random(3))
    assert one.low_confidence == other.low_confidence
    assert (one.drawn, len(one.left_out)) == (1, 1)
    assert "drawn at random" in one.rule


def test_unknown_confidence_is_retested_first():
    classes = dict.fromkeys("ab", StabilityClass.STABLE_RIGHT)
    assert choose_third_run(classes, {"a": 0.0, "b": None}, 1).chosen == ("b",)
    with pytest.raises(InputError, match="no confidence is given for b"):
        choose_third_run(classes, {"a": 0.0}, 1)
    with pytest.raises(InputError, match="size"):
        choose_third_run(classes, {"a": 0.0, "b": 0.0}, -1)


def test_series_repeat_themselves_wholly_partly_or_not_at_all_in_their_groups():
    series = {"p1": ["x", "x", "x"], "p2": ["x", "y", "x"], "p3": ["tie", "x"], "p4": [None, "x"], "p5": ["y", "y"]}
    found = repetition(series)
    assert (found.n, found.n_changing, found.equal) == (4, 2, ("p1", "p5"))
    assert (found.repeated, found.different, found.without) == (("p2",), ("p3",), ("p4",))
    by = repetition_by(series, {"p1": "easy", "p2": "hard", "p3": "hard", "p4": "odd", "p5": "easy"})
    assert [(name, one.n) for name, one in by.items()] == [("easy", 2), ("hard", 2), ("odd", 0)]
    with pytest.raises(InputError, match="no group is given for p1"):
        repetition_by(series, {})


def test_kendall_across_cycles():
    cycles = [{"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}]
    assert kendall_across(cycles) == pytest.approx(-1 / 3)  # 1/3, -1, -1/3 by counting pairs
    assert kendall_across([*cycles, {"a": 1, "b": 1, "c": 1}]) == kendall_across(cycles)
    assert kendall_across([{"a": 1, "b": 1}, {"a": 2, "b": 1}]) is kendall_across([{"a": 1, "b": 2}]) is None
    with pytest.raises(InputError, match="same candidates"):
        kendall_across([{"a": 1, "b": 2}, {"a": 1}])
