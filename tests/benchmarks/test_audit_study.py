import pytest
from metajudge.benchmarks import audit_study
from metajudge.benchmarks.audit_study import PLANTED, SHAPES, Shape, Unbiased, coverage, planted, unbiased


def test_small_runs_have_all_rows():
    one = unbiased(Shape("category"), items=40, cards=10)
    assert (one.cards, one.shape) == (10, "category, one order")
    assert one.with_finding <= 2
    rows = planted(items=40, draws=2)
    assert {row.judge for row in rows} <= set(PLANTED)
    assert all(0 <= row.promised <= 1 and 0 <= row.found <= 1 for row in rows)


def test_limit_is_five_percent_and_two_standard_errors():
    assert Unbiased("s", 10, 1000, 50, {}).limit == pytest.approx(0.0638, abs=1e-4)


def test_coverage_counts_intervals():
    found = coverage(50, 0.7, 0.8, 0.8, draws=60)
    assert found.ppi[0] > 0.85
    assert found.ppi[1] < found.rogan_gladen[1]
    assert found.naive[0] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_judges_without_bias_are_left_alone(shape):
    found = unbiased(shape, items=100, cards=200)
    assert found.share <= found.limit, found.by_check


@pytest.mark.slow
def test_planted_biases_are_found_as_promised():
    rows = planted(items=300, draws=25)
    assert {row.check for row in rows} == {check for _, check in PLANTED.values()}
    for row in rows:
        error = (row.promised * (1 - row.promised) / row.draws) ** 0.5
        assert row.found >= row.promised - 3 * error - 0.02, row


@pytest.mark.slow
@pytest.mark.parametrize("labels", audit_study.LABELS)
@pytest.mark.parametrize("per_question", [1, 3])
def test_intervals_of_corrected_rates_cover(labels, per_question):
    for rate in (0.5, 0.9):
        found = coverage(labels, rate, 0.9, 0.7, draws=400, per_question=per_question)
        assert found.ppi[0] >= 0.93 - 2 * (0.95 * 0.05 / 400) ** 0.5
        assert found.rogan_gladen[0] >= 0.93 - 2 * (0.95 * 0.05 / 400) ** 0.5
