"""A benchmark over small folders, and its figures."""

from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.findings import OVERALL


def bench_of(place, **changes):
    return Bench(Request(benchmark="judgebench", data=place, **changes))


def found(bench):
    return bench.findings(bench.plan())


def rows(findings, judge):
    (one,) = [one for one in findings.judges if one.judge == judge]
    return {row.name: row.cells[OVERALL] for row in one.rows}
