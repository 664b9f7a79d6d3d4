"""Which selections of a benchmark a bar applies to."""

from types import SimpleNamespace

from metajudge.benchmarks.findings import reached_by

from metajudge.vetting.bars import Bar


def _row(kind, origin, value=4.5, selected=10, right=9):
    cell = SimpleNamespace(n=20, selected=selected, selected_right=right)
    return SimpleNamespace(
        name=f"{kind} row", kind=kind, threshold=SimpleNamespace(origin=origin, value=value), cells={"Overall": cell}
    )


def test_of_a_benchmark_only_what_would_be_kept_is_held_against_the_bar():
    rows = [
        _row("raw", "none", None),
        _row("evidence", "none", None),
        _row("evidence", "fixed beforehand"),
        _row("evidence", "set by coverage, no label used", right=1),
    ]
    findings = SimpleNamespace(judges=[SimpleNamespace(judge="all judges", rows=rows)])
    (found,) = reached_by([Bar("precision", 0.9)], findings)
    assert found.passed
    assert found.where == "all judges, evidence row"
    rows.append(_row("configuration", "fixed beforehand", selected=4, right=1))
    (asked,) = reached_by([Bar("precision", 0.9)], findings)
    assert asked.share == 0.25
