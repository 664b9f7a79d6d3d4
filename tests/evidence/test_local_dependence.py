"""The statistics of dependence: one shared factor is no dependence, and what is beyond it is measured in shares."""

import numpy as np
import pytest

from metajudge.evidence import local_dependence
from metajudge.evidence.class_answers import cells_of
from metajudge.evidence.local_dependence import PairTests, Sums, TextTests
from metajudge.evidence.verdicts import collected
from tests.doubles.dependent_judges import WORTH, judged


def measured(judgments):
    facts = collected(judgments)
    (cells,) = cells_of(facts, facts.rules())
    return cells


def test_tetrads_of_one_factor_vanish_exactly():
    worth = np.array([0.9, 0.8, 0.5, 0.7, 0.3])
    correlation = np.outer(worth, worth)
    np.fill_diagonal(correlation, 1.0)
    expected = local_dependence._expected(correlation[None], np.zeros((5, 5), dtype=bool))[0]
    above = np.triu_indices(5, 1)
    assert expected[above] == pytest.approx(correlation[above])


def test_a_pair_needs_two_others_that_are_not_one():
    correlation = np.full((1, 4, 4), 0.5)
    near = np.zeros((4, 4), dtype=bool)
    near[2, 3] = near[3, 2] = True
    expected = local_dependence._expected(correlation, near)[0]
    assert np.isnan(expected[0, 1])
    assert np.isnan(expected[0, 2])


@pytest.mark.slow
def test_what_follows_is_estimated_without_bias():
    shares = []
    for seed in range(4):
        judges = ("ant", "bee", "cat", "dog")
        cells = measured(judged(600, seed, copies=("fox",), follows=0.6, judges=judges))
        tests = PairTests.of(Sums.of(cells))
        shares.append(tests.follows[cells.judges.index("ant"), cells.judges.index("fox")])
    assert np.mean(shares) == pytest.approx(0.6, abs=0.12)


def test_p_values_are_corrected_and_symmetric():
    cells = measured(judged(200, copies=("fox",), judges=("ant", "bee", "cat", "dog")))
    tests = PairTests.of(Sums.of(cells))
    for values in tests.adjusted.values():
        assert (values == values.T).all()
        assert ((values >= 0) & (values <= 1)).all()
    assert (tests.adjusted[0.75] >= tests.adjusted[0.4]).all()


def test_shares_of_same_answers_are_counted():
    cells = measured(judged(100, copies=("fox",), judges=("ant", "bee")))
    sums = Sums.of(cells)
    ant, bee, fox = (cells.judges.index(name) for name in ("ant", "bee", "fox"))
    assert sums.same_share[ant, fox] == 1.0
    assert sums.same_share[ant, bee] < 1.0
    assert (sums.questions[ant, bee], sums.shared[ant, bee]) == (100, 200)


def test_lengths_are_compared_on_fewer_answers_where_there_are_many(monkeypatch):
    cells = measured(judged(200, copies=("fox",), judges=tuple(WORTH)[:3], rationale="word"))
    assert TextTests.of(cells).both.max() == 400
    monkeypatch.setattr(local_dependence, "MOST_COMPARED", 16 * 100)
    assert TextTests.of(cells).both.max() == 100
