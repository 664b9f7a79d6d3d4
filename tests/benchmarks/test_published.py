"""The published figures: what the paper's Overall is, and that they never stand without how our experiment differs."""

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.bench_report import report_of, terminal_tables
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.grid import load_grid

from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.report.text import table_to_text
from tests.doubles.judgebench import game, pair

PAIRS = {"Knowledge": 154, "Reasoning": 98, "Math": 56, "Coding": 42}
"""Pairs of each category among the 350."""


@pytest.mark.parametrize(
    ("judge", "name", "overall"),
    [
        ("gpt-4o-mini", "majority vote, two agents", 77.26),
        ("gpt-4o-mini", "weighted average, two agents", 75.56),
        ("gpt-4o-mini", "panel discussion, two agents", 72.58),
        ("gpt-4o-mini", "baseline", 68.89),
        ("llama-3.1-8b", "selection, gpt-4o", 67.77),
    ],
)
def test_the_papers_overall_is_the_mean_of_its_categories_weighted_by_pairs_and_no_impossible_pooled_share(
    judge, name, overall
):
    (row,) = [one for one in load_grid("published").configurations if (one.judge, one.name) == (judge, name)]
    cells = row.published.cells
    weighted = sum(PAIRS[category] * cells[category] for category in PAIRS) / sum(PAIRS.values())
    assert cells[OVERALL] == overall
    assert round(weighted, 2) == overall


@pytest.fixture
def findings(folder):
    games = [
        game(n, order, "A>B" if order == "AB" else "B>A", judge="gpt-4o-mini", label="A>B" if order == "AB" else "B>A")
        for n in range(8)
        for order in ("AB", "BA")
    ]
    place = folder([pair(n) for n in range(8)], games)
    bench = Bench(Request(benchmark="judgebench", data=place, grid="published"))
    return bench.findings(bench.plan())


def test_published_cells_never_stand_without_how_the_experiment_differs(findings):
    said = load_grid("published").differences
    for words in ("first game", "ties and missing verdicts", "temperature", "weights", "pooled"):
        assert words in said
    (table, *_) = terminal_tables(findings)
    assert any("published, table 3" in str(row[0]) for row in table.rows)
    assert said in table_to_text(table).replace("\n", " ")
    for rendered in (to_html(report_of(findings)), to_markdown(report_of(findings))):
        text = rendered.replace("&#x27;", "'").replace("&#39;", "'")
        assert text.count(said) >= 2, "beside the table, and with the list of published figures"
        assert "attainable" not in text
