"""The published grid is the paper's experiment: its cells, its Overall, its rule, its settings."""

import pytest
from metajudge.benchmarks.findings import OVERALL, Proportion
from metajudge.benchmarks.grid import load_grid
from metajudge.benchmarks.grid_findings import size_weighted

from metajudge.panels.building import build_vetter
from metajudge.providers.stack import Resources
from tests.doubles.judgments import judgment

GRID = load_grid("published")
SIZES = GRID.category_sizes
ROWS = {(row.judge, row.name): row for row in GRID.configurations}
PRINTED = [row for row in GRID.configurations if row.published is not None]


def weighted(cells):
    return round(sum(SIZES[name] * cells[name] for name in SIZES) / sum(SIZES.values()), 2)


def vetter(row):
    return build_vetter(GRID.panel(row), Resources(key_for=lambda _spec: "none"), early_exit=False)


def test_every_configuration_and_printed_cell_is_there():
    assert SIZES == {"Knowledge": 154, "Reasoning": 98, "Math": 56, "Coding": 42}
    counts = {
        table.name: sum(table.name in row.tables and not row.variant for row in GRID.configurations)
        for table in GRID.tables
    }
    # The baseline stands in tables 3 and 5, the panel of two in 5, 6 and figure 5.
    assert counts == {"table 3": 13, "table 4": 2, "table 5": 4, "table 6": 2, "figure 5": 3}
    assert len(PRINTED) == 19
    assert all(len(row.published.cells) == (1 if row.summariser else 5) for row in PRINTED)
    assert ROWS["gpt-4o-mini", "long, claude"].published.cells[OVERALL] == 70.15
    assert ROWS["llama-3.1-8b", "selection, gpt-4o"].published.cells["Reasoning"] == 73.33
    assert [judge.published.cells[OVERALL] for judge in GRID.judges] == [61.71, 50.29]


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
def test_the_papers_overall_is_the_mean_of_its_printed_cells_weighted_by_pairs(judge, name, overall):
    cells = ROWS[judge, name].published.cells
    assert (cells[OVERALL], weighted(cells)) == (overall, overall)


def test_each_row_says_which_overall_the_paper_prints_for_it():
    for row in PRINTED:
        if not row.summariser:
            by_size = abs(weighted(row.published.cells) - row.published.cells[OVERALL]) < 0.006
            assert row.published.overall == ("by size" if by_size else "pooled"), row.name
    for judge in GRID.judges:
        assert judge.published.overall == "both"
        assert weighted(judge.published.cells) == judge.published.cells[OVERALL]


def test_the_rule_is_the_papers():
    assert (GRID.population.games, GRID.population.undecided, GRID.threshold) == ("first", "wrong", 4.5)
    patterns = GRID.population.responses_by
    assert "gpt-4o-20??-??-??" in patterns


def test_every_request_asks_for_scores_alone_at_temperature_0():
    for row in GRID.configurations:
        one = vetter(row)
        for panel in (one.default, *one.routes.values()):
            for agent in (*panel.agents, *([panel.summariser] if panel.summariser else [])):
                request = agent.request(judgment())
                assert (request.parameters.temperature, request.parameters.max_tokens) == (0, 1024)
                assert agent.prompt_version == 2
                schema = str(request.schema.schema)
                assert "analysis" not in schema
                assert "explanation" not in schema


def test_rubrics_by_category_and_the_short_weights_for_all():
    panel = vetter(ROWS["gpt-4o-mini", "majority vote, two agents"])
    names = {name: one.agents[0].rubric.name for name, one in panel.routes.items()}
    assert names == {"Knowledge": "baseline", "Coding": "baseline", "Reasoning": "long"}
    assert panel.default.agents[0].rubric.name == "short"
    short = panel.default.agents[0].rubric.weights
    assert panel.routes["Reasoning"].agents[0].rubric.weights == short
    for name in ("gpt-4o", "gpt-4o-mini", "claude", "llama"):
        assert vetter(ROWS["gpt-4o-mini", f"long, {name}"]).default.agents[0].rubric.weights == short
        variant = ROWS["gpt-4o-mini", f"long, {name}, long weights"]
        assert variant.variant
        assert variant.published is None
        assert vetter(variant).default.agents[0].rubric.weights != short


def test_what_is_inferred_is_said_on_the_row():
    for row in GRID.configurations:
        assert bool(row.routes) == any("inferred" in caveat for caveat in row.caveats), row.name


def proportion(right, n):
    return Proportion.of([True] * right + [False] * (n - right), [str(place) for place in range(n)])


def test_the_mean_is_weighted_by_pairs_and_not_by_what_is_kept():
    # The majority vote's cells fit 34/43, 9/13, 4/5, 6/7; pooled they would be 53/68 = 77.94.
    cells = dict(zip(SIZES, (proportion(34, 43), proportion(9, 13), proportion(4, 5), proportion(6, 7)), strict=True))
    found = size_weighted(cells, SIZES)
    assert 100 * found.share == pytest.approx(77.26, abs=0.005)
    assert (found.n, found.questions) == (68, 68)
    assert found.low < found.share < found.high <= 1


def test_of_one_category_it_is_that_categorys_precision_and_interval():
    one = proportion(30, 40)
    found = size_weighted({"Math": one}, {"Math": 56})
    assert (found.share, found.low, found.high) == pytest.approx((one.share, one.low, one.high))


def test_the_interval_of_two_equal_categories_is_narrower_by_the_square_root_of_two():
    one = proportion(30, 40)
    found = size_weighted({"Math": one, "Coding": one}, {"Math": 5, "Coding": 5})
    assert found.share - found.low == pytest.approx((one.share - one.low) / 2**0.5)
    assert found.high - found.share == pytest.approx((one.high - one.share) / 2**0.5)
