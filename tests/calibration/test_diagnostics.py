"""What a panel is worth: independence of judges, unanimity, importance of signals."""

import numpy as np
import pytest

from metajudge.calibration.diagnostics import importances, panel_independence, unanimity
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.stats.intervals import wilson
from metajudge.types import Item, Judgment, Pairwise


def table_of(right, signals=("order", "peers")):
    """right: judge -> whether its verdict on each item is correct."""
    judgments = []
    for judge, outcomes in right.items():
        for number, good in enumerate(outcomes):
            item = Item(
                id=f"i{number}",
                question=f"question {number}",
                responses={"A": "x", "B": "y"},
                label=Pairwise("A", "B", 1),
            )
            verdict = Pairwise("A", "B", 1) if good else Pairwise("B", "A", 1)
            judgments.append(Judgment(id=f"{judge}/{number}", item=item, judge=judge, verdict=verdict))
    return build_table(judgments, list(signals))


def drawn(judges=4, n=600, shared=0.0, seed=3):
    """Outcomes that are one common draw with a probability, else the judge's own."""
    rng = np.random.default_rng(seed)
    common = rng.random(n) < 0.7
    own = rng.random((judges, n)) < 0.7
    takes = rng.random((judges, n)) < shared
    return {f"judge {number}": np.where(takes[number], common, own[number]) for number in range(judges)}


def test_the_effective_number_of_independent_copied_correlated_and_cancelling_judges():
    found = panel_independence(table_of(drawn()))
    assert 3.5 < found.effective <= 4
    assert abs(found.mean_correlation) < 0.05
    assert len(found.pairs) == 6
    found = panel_independence(table_of(drawn(shared=1.0)))
    assert found.effective == pytest.approx(1)
    assert found.mean_correlation == pytest.approx(1)
    found = panel_independence(table_of(drawn(shared=0.7, n=4000)))
    rho = found.mean_correlation
    assert rho == pytest.approx(0.49, abs=0.05)
    assert found.effective == pytest.approx(4 / (1 + 3 * rho))
    outcomes = np.arange(100) % 2 == 0
    found = panel_independence(table_of({"a": outcomes, "b": ~outcomes}))
    assert found.effective == 2
    assert found.pairs[0].correlation == pytest.approx(-1)


def test_a_judge_that_never_errs_is_left_out_and_one_alone_has_no_independence():
    found = panel_independence(table_of({**drawn(judges=2), "sage": np.ones(600, dtype=bool)}))
    assert found.left_out == ("sage",)
    with pytest.raises(InputError, match="at least two judges"):
        panel_independence(table_of(drawn(judges=1)))


def test_unanimity_counts_judgments_by_how_their_peers_stand_and_needs_peers():
    # On ten items all three are right, on ten more c alone is wrong.
    right = {"a": [True] * 20, "b": [True] * 20, "c": [True] * 10 + [False] * 10}
    found = {one.peers: one for one in unanimity(table_of(right))}
    assert (found["all for"].n, found["all for"].right.estimate) == (30, 1.0)
    assert (found["all against"].n, found["all against"].right.estimate) == (10, 0.0)
    assert (found["balanced"].n, found["balanced"].right.estimate) == (20, 1.0)
    assert found["all for"].right.low < 1
    assert found["all for"].right.low == pytest.approx(wilson(10, 10).low), "ten questions, whatever their judgments"
    with pytest.raises(InputError, match="needs the signal peers"):
        unanimity(table_of(drawn(n=20), signals=["order"]))


def test_importance_needs_several_groups_and_the_effective_number_has_an_interval_that_narrows():
    with pytest.raises(InputError, match="at least two groups"):
        importances(table_of(drawn(n=40), signals=["peers"]))
    few, many = (panel_independence(table_of(drawn(n=n, shared=0.3))) for n in (60, 600))
    for one in (few, many):
        low, high = one.resampled.interval
        assert low <= one.effective <= high
    assert (
        many.resampled.interval[1] - many.resampled.interval[0] < few.resampled.interval[1] - few.resampled.interval[0]
    )
    assert panel_independence(table_of(drawn(n=60, shared=0.3))) == few
