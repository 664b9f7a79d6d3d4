"""The same judge again, in another order, or by another prompt."""

from metajudge.evidence.stability import other_order_columns, repeat_columns, version_columns
from tests.evidence.answers import answers, seen


def values(columns, name):
    return [value if there else None for value, there in zip(columns[name].values, columns[name].present, strict=True)]


def test_repeats_count_without_the_verdict_itself():
    made, rows, _ = answers({"i": [seen("a", 3), seen("a", 3), seen("a", 4), seen("b", 3)]}, "grade", "equal")
    assert values(repeat_columns(made, rows), "repeats.support") == [0, 0, -1, None]


def test_a_verdict_in_another_order_is_no_repeat():
    first, second = [["A"], ["B", "C"]], [["B"], ["A", "C"]]
    items = {"i": [seen("a", first, "ABC"), seen("a", first, "BCA"), seen("a", second, "CAB"), seen("b", first, "ABC")]}
    made, rows, _ = answers(items, "ranking", "top1")
    assert values(repeat_columns(made, rows), "repeats.support") == [None] * 4
    found = other_order_columns(made, rows)
    assert found["order.agree"].values.tolist() == [0.5, 0.5, 0, 0]
    assert found["order.signed"].values.tolist() == [0, 0, -1, 0]
    assert found["order.missing"].values.tolist() == [0, 0, 0, 1]


def test_versions_are_other_judges_of_the_same_model():
    items = {"i": [seen("m/1", "pass"), seen("m/2", "pass"), seen("m/3", "fail"), seen("n/1", "pass")]}
    made, rows, _ = answers(items, "category", "equal", models={"m/1": "m", "m/2": "m", "m/3": "m", "n/1": "n"})
    assert values(version_columns(made, rows), "versions.support") == [0, 0, -1, None]
