import pytest
from metajudge.benchmarks.bench import Bench, Request

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import parse_right
from tests.benchmarks.benches import found
from tests.doubles.graded import verdicts, written


def bench_of(tmp_path, rows, **changes):
    return Bench(Request(benchmark="file", **changes), open_judgments([written(tmp_path / "v.jsonl", rows)]))


def test_the_rule_given_decides_what_is_right(tmp_path):
    rows = verdicts(10)
    for row in rows:
        row["verdict"], row["item"]["label"] = (4 if row["verdict"] == "good" else 3), 5
    with pytest.raises(InputError, match="does not apply"):
        bench_of(tmp_path, rows, rule=parse_right("top1"))
    near = bench_of(tmp_path, rows, rule=parse_right("within:1"))
    assert set(near.observations.correct.tolist()) == {True, False}
    assert not bench_of(tmp_path, rows).observations.correct.any()


def test_the_counts_take_the_same_judgments_for_dependent_as_the_precision(tmp_path):
    """One text asked of every item is an instruction: each item is a question of its own, in every table."""
    rows = []
    for number in range(12):
        item = {"id": f"q{number}", "question": "Is it polite?", "responses": {"A": "a", "B": "b"}, "label": "A>B"}
        rows.append({"id": f"j{number}", "item": item, "judge": "owl", "verdict": "A>B" if number % 3 else "B>A"})
    (judge,) = found(bench_of(tmp_path, rows)).judges
    assert judge.rows[0].cells["Overall"].precision.questions == 12
    assert judge.counts["all"].share.clusters == 12


def test_two_orders_stay_apart_where_the_ids_written_together_are_the_same(tmp_path):
    item = {"id": "q", "question": "?", "responses": {"a": "x", "aa": "y"}, "label": "a>aa"}
    orders = (("a", "aa"), ("aa", "a"))
    shown = [
        {"id": str(n), "item": item, "judge": "owl", "verdict": "a>aa", "order": one} for n, one in enumerate(orders)
    ]
    (judge,) = found(bench_of(tmp_path, shown)).judges
    assert judge.swap.both_right == 1
