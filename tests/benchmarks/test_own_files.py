import pytest
from metajudge.benchmarks.bench import Bench, Request

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import parse_right
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
