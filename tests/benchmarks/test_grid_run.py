import pytest
from metajudge.benchmarks.bench_report import report_of
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.grid import Plan
from metajudge.benchmarks.grid_run import run_plan

from metajudge.report.html import to_html
from tests.benchmarks.benches import bench_of
from tests.benchmarks.grids import Engines


async def test_the_grid_runs_end_to_end_and_its_figures_are_those_of_the_script(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    plan = bench.plan()
    results = await run_plan(plan, bench.vetted(), Engines())
    findings = bench.findings(plan, results)
    (owl,) = findings.judges
    rows = {row.name: row for row in owl.rows}
    # Questions 0 to 5 are kept; the judge is right there in both orders.
    for name in ("baseline", "short, big", "both", "panel"):
        cell = rows[name].cells[OVERALL]
        assert (cell.n, cell.selected, cell.selected_right) == (24, 12, 12), name
    assert rows["baseline"].kind == "baseline"
    assert rows["both"].cells[OVERALL].against_baseline.value == 0
    assert rows["both"].cells[OVERALL].against_raw.value == pytest.approx(1 - 20 / 24)
    assert rows["panel"].calls == 24 * 5
    assert {order: cell.selected for order, cell in rows["both"].orders.items()} == {"AB": 6, "BA": 6}
    assert "Small" in to_html(report_of(findings))


async def test_an_agent_that_fails_leaves_judgments_unscored_not_rejected(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    (row,) = [row for row in bench.plan().rows if row.name == "short, big"]
    engines = Engines()
    engines.answer = lambda request: "no JSON at all"
    findings = bench.findings(bench.plan(), await run_plan(Plan((row,)), bench.vetted(), engines))
    found = {one.name: one for one in findings.judges[0].rows}["short, big"]
    assert (found.unscored, found.cells[OVERALL].selected) == (24, 0)
    assert found.cells[OVERALL].precision.absent == "nothing selected"
