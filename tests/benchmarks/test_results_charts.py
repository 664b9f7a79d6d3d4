import json
from pathlib import Path

import pytest
from metajudge.benchmarks import results_charts
from metajudge.benchmarks.regenerate import FIGURES
from metajudge.benchmarks.results_charts import CHARTS, SHARES, charts

from metajudge.report.document import Absent, BarChart, ShareChart

RESULTS = Path(results_charts.__file__).parent / "results"
ENDS = (("", 90.0), (" low", 85.0), (" high", 95.0))


def drawn(name, figures):
    return list(charts(name, figures))


def test_every_figure_has_its_chart_and_no_chart_is_left_over():
    assert set(CHARTS) == {figure.name for figure in FIGURES}


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_measured_can_be_drawn(path):
    result = json.loads(path.read_text("utf-8"))
    assert drawn(result["name"], result["figures"]) != []


def test_a_figure_without_a_chart_is_left_to_its_table():
    assert drawn("nothing of that name", {}) == []


def test_shares_by_judge_are_drawn_with_their_intervals():
    at = {f"{share}{end}": {"mean": value, "sd": 1} for share in SHARES for end, value in ENDS}
    (chart,) = drawn("calibration", {"judgebench": {"six judges": {"owl": at}}})
    assert isinstance(chart, BarChart)
    assert chart.series[0].values[0].value == pytest.approx(0.9)
    assert chart.series[0].values[0].low == pytest.approx(0.85)


def test_a_judge_without_a_figure_is_said_to_have_none():
    rows = [
        {"judge": "owl", "target": 0.85, "procedure": "single", "coverage": 0.5, "broken": None},
        {"judge": "owl", "target": 0.85, "procedure": "bonferroni", "coverage": 0.4, "broken": None},
        {"judge": "hen", "target": 0.85, "procedure": "single", "coverage": 0.0, "broken": None},
        {"judge": "owl", "target": 0.9, "procedure": "single", "coverage": 0.1, "broken": None},
    ]
    (chart,) = drawn("guarantee", {"rows": rows, "delta": 0.1, "splits": 3})
    single, bonferroni = chart.series
    assert [value.value for value in single.values] == [0.5, 0.0]
    assert bonferroni.values[0].value == 0.4
    assert isinstance(bonferroni.values[1], Absent)


def test_other_libraries_are_drawn_as_multiples_of_ours():
    rows = [{"what": "a", "ms": 2.0, "peers_ms": {"peer": 9.0}}, {"what": "b", "ms": 1.0, "peers_ms": {}}]
    (chart,) = drawn("voting", rows)
    assert chart.groups == ("a",)
    assert (chart.unit, chart.series[0].values[0].value) == ("x", 4.5)


def test_nothing_proposed_is_no_chart():
    run = {"proposed": False, "before": {"false_approve_rate": 0.1}}
    assert drawn("feedback", {"runs": [run]}) == []


def test_faults_are_summed_over_operations():
    cell = {"fault": "429", "equal": 3, "typed": 1, "silent": 0, "lost": 0}
    (chart,) = drawn("faults", [cell, cell | {"equal": 2}])
    assert isinstance(chart, ShareChart)
    assert chart.rows[0].counts == (5, 2, 0, 0)
