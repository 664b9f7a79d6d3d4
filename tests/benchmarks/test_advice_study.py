"""The study of advice and of repeated looks: its truth, its ways, and what it is there to show."""

import math

import numpy as np
import pytest
from metajudge.benchmarks.advice_study import AdviceTable, looked, loop_results, populations, simulated_table


def test_precision_of_a_population_is_exact():
    flat, *_, well = populations(0.85)
    assert flat.precision(0.3) == pytest.approx(0.85 - 1e-6)
    assert well.precision(0.9) > well.precision(0.5) > well.precision(0.0)
    rng = np.random.default_rng(0)
    scores, right, questions = well.draw(20_000, rng)
    assert right[scores >= 0.9].mean() == pytest.approx(well.precision(0.9), abs=0.01)
    assert len(set(questions)) == 20_000


def test_a_table_states_and_sees():
    table = AdviceTable()
    for number in range(40):
        table.add(number, 0.35, number % 4 == 0)
    assert table.worst() == pytest.approx(0.1)
    assert "| 30 to 40 % | 40 | 35 % | 25 %" in "\n".join(table.lines())


def test_looking_ends_with_a_threshold_where_there_is_one():
    well = populations(0.8)[-1]
    found = looked(well, 0.8, "double", np.random.default_rng(1))
    assert found is not None
    assert found.look is not None


@pytest.mark.slow
@pytest.mark.parametrize(("way", "repetitions", "first"), [("twenty", 60, 2), ("advice", 10, 1)])
def test_looking_again_breaks_no_more_promises_than_delta(way, repetitions, first):
    allowed = 0.1 + 2 * math.sqrt(0.1 * 0.9 / repetitions)
    for one in loop_results(0.85, way, repetitions, draws=8, first=first):
        assert one.share <= allowed, one.population


@pytest.mark.slow
def test_without_the_ledger_the_same_loop_breaks_it():
    flat = next(iter(loop_results(0.85, "twenty", 80, ledger=False)))
    assert flat.share > 0.1 + 2 * math.sqrt(0.1 * 0.9 / 80)


@pytest.mark.slow
def test_stated_chances_are_those_seen():
    assert simulated_table(40, 24).worst(20) <= 0.2
