import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.findings import OVERALL

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import parse_right
from tests.doubles.graded import verdicts, written


def bench_of(tmp_path, rows, **changes):
    return Bench(Request(benchmark="file", **changes), open_judgments([written(tmp_path / "v.jsonl", rows)]))


def test_accuracy_is_the_share_of_right_verdicts_of_each_judge(tmp_path):
    rows = [*verdicts(10), {**verdicts(1)[0], "id": "none", "verdict": None, "no_verdict": "empty"}]
    findings = (bench := bench_of(tmp_path, rows)).findings(bench.plan())
    ant = next(one for one in findings.accuracy if one.judge == "ant")
    assert (ant.kind, ant.games, ant.decided, ant.without_verdict) == ("category", 10, 10, 1)
    assert ant.cells[OVERALL].share == 0.8
    assert findings.rules == {"category": "equal"}


def test_the_rule_given_decides_what_is_right(tmp_path):
    rows = verdicts(10)
    for row in rows:
        row["verdict"], row["item"]["label"] = (4 if row["verdict"] == "good" else 3), 5
    with pytest.raises(InputError, match="does not apply"):
        bench_of(tmp_path, rows, rule=parse_right("top1"))
    near = bench_of(tmp_path, rows, rule=parse_right("within:1"))
    assert {row.correct for row in near.observations.rows} == {True, False}
    assert not any(row.correct for row in bench_of(tmp_path, rows).observations.rows)


def test_without_labels_it_is_said_how_to_give_them(tmp_path):
    with pytest.raises(InputError, match="--labels FILE"):
        bench_of(tmp_path, verdicts(3, labelled=False))


def test_a_file_for_no_benchmark_is_needed():
    with pytest.raises(InputError, match="no file is given"):
        Bench(Request(benchmark="file"))
