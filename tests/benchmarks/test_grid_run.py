import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.bench_report import report_of
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.grid_run import run_grid
from metajudge.benchmarks.score_lines import score_lines

from metajudge.providers.scripted import ScriptedModel
from metajudge.report.html import to_html
from metajudge.rubric import load_rubric
from metajudge.runs.loop import RunEnd
from metajudge.vetting.engine import Engine
from tests.doubles.judgments import reply


def rubric_of(request):
    return load_rubric(
        "baseline" if '"overall"' in str(request.schema) or "overall" in str(request.schema) else "short"
    )


def answer(request):
    """Full marks for questions 0 to 5, low ones for the others."""
    text = "".join(message.text for message in request.messages)
    good = any(f"What is {number} + {number}?" in text for number in range(6))
    return reply(5 if good else 2, rubric_of(request))


class Engines:
    """Engines whose agents answer from a script; remembers every model's requests."""

    def __init__(self, store=None):
        self.store = store
        self.budgets = []
        self.asked = 0

    def __call__(self, panel, budget):
        self.budgets.append(budget)
        engine = Engine(panel=panel, store=self.store, budget_usd=None)
        names = {agent.name for agent in panel.agents}
        names |= {"summariser"} if panel.discussion.summariser else set()
        engine.objects.update({name: ScriptedModel(self.answer, name=name) for name in names})
        return engine

    def answer(self, request):
        self.asked += 1
        return answer(request)


def bench_of(place, **changes):
    return Bench(Request(benchmark="judgebench", data=place, **changes))


async def test_the_grid_runs_end_to_end_and_its_figures_are_those_of_the_script(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    plan = bench.plan()
    results = await run_grid(plan.rows, bench.decided(), Engines())
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
    assert rows["raw judgments"].published == {"Math": 0.5, "Overall": 0.6}
    assert rows["short, big"].published == {"Overall": 0.7}
    assert rows["panel"].calls == 24 * 5
    assert {order: cell.selected for order, cell in rows["both"].orders.items()} == {"AB": 6, "BA": 6}
    page = to_html(report_of(findings))
    assert "published, table 1" in page


async def test_a_second_run_asks_nothing_and_says_the_same(small, grid_file, tmp_path):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    plan = bench.plan()
    first = Engines(tmp_path / "store.duckdb")
    before = bench.findings(plan, await run_grid(plan.rows, bench.decided(), first))
    # The two singles' calls are the votes' calls: 24 baseline, 24 big, 24 mini, 5 a judgment for the panel.
    assert first.asked == 24 * 3 + 24 * 5
    second = Engines(tmp_path / "store.duckdb")
    after = bench.findings(plan, await run_grid(plan.rows, bench.decided(), second))
    assert second.asked == 0
    assert [row.cells for row in after.judges[0].rows] == [row.cells for row in before.judges[0].rows]


async def test_scores_have_a_line_for_every_judgment_and_configuration(small, grid_file):
    import json

    bench = bench_of(small, grid=grid_file, judges=("owl",), limit=5)
    plan = bench.plan()
    results = await run_grid(plan.rows, bench.decided(), Engines())
    lines = [json.loads(line) for line in score_lines(bench, results, None)]
    assert len(lines) == 5 * 4
    assert {line["configuration"] for line in lines} == {"baseline", "short, big", "both", "panel"}
    assert lines[0]["final_score"] == 5.0
    assert lines[0]["accepted"] is True


async def test_a_spent_budget_stops_before_the_next_configuration(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    plan = bench.plan()
    results = await run_grid(plan.rows, bench.decided(), Engines(), budget_usd=0.0)
    assert [result.end for result in results] == [RunEnd.BUDGET]


async def test_an_agent_that_fails_leaves_judgments_unscored_not_rejected(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    (row,) = [row for row in bench.plan().rows if row.name == "short, big"]
    engines = Engines()
    engines.answer = lambda request: "no JSON at all"
    findings = bench.findings(bench.plan(), await run_grid([row], bench.decided(), engines))
    found = {one.name: one for one in findings.judges[0].rows}["short, big"]
    assert (found.unscored, found.cells[OVERALL].selected) == (24, 0)
    assert found.cells[OVERALL].precision.absent == "nothing selected"
