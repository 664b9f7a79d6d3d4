import numpy as np
import pytest
from metajudge.benchmarks.downstream.arms import KEPT, RAW, THINNED, TRUE
from metajudge.benchmarks.downstream.pair_files import write_pairs
from metajudge.benchmarks.downstream.rewards import accuracies, divide, features, interval, training_sets

from .made import made_pairs, made_verdicts

PAIRS = made_pairs()
FIRST, SECOND = features(PAIRS)


def test_a_model_of_right_pairs_learns_what_is_better_and_one_of_wrong_pairs_the_contrary():
    found = accuracies(PAIRS, [made_verdicts(PAIRS, 0.0), made_verdicts(PAIRS, 1.0)], FIRST - SECOND, seed=0)
    good = found["jay"]  # of two judges of one name the later one counts: wrong throughout
    assert good[RAW] < 0.1
    assert good[TRUE[RAW]] > 0.9
    assert KEPT not in good


def test_the_compared_selections_have_as_many_pairs_and_no_question_that_is_tested_on():
    judge = made_verdicts(PAIRS, 0.3)
    tested, rng = divide(PAIRS, 5)
    sets = training_sets(PAIRS, judge, ~tested, rng)
    assert tested.sum() == 48
    assert len(sets[KEPT][0]) == len(sets[THINNED[KEPT]][0]) == len(sets[TRUE[KEPT]][0]) < len(sets[RAW][0])
    for rows, _ in sets.values():
        assert not tested[rows].any()
    rows, places = sets[TRUE[KEPT]]
    assert (places == PAIRS.better[rows]).all()


def test_the_interval_is_wider_than_that_of_independent_divisions():
    values = np.array([0.5, 0.6, 0.55, 0.52, 0.61])
    found = interval(values)
    assert found.value == pytest.approx(0.556)
    assert found.low is not None
    half = 2.776445 * np.sqrt((1 / 5 + 0.4 / 0.6) * values.var(ddof=1))
    assert found.value - found.low == pytest.approx(half, rel=1e-5)
    assert interval(values[:1]).low is None


def test_files_have_the_chosen_text_first_and_no_tested_question_among_the_training_pairs(tmp_path):
    judge = made_verdicts(PAIRS, 0.3)
    written = write_pairs(tmp_path / "made", PAIRS, [judge], seed=5)
    rows = {path.stem: path.read_text().splitlines() for path in written}
    assert set(rows) == {"test", "raw", "kept", "raw-as-many-as-kept", "true-labels", "true-labels-as-many-as-kept"}
    assert len(rows["test"]) == 48
    import json

    for line in rows["kept"]:
        row = json.loads(line)
        assert len(row["chosen"]) > len(row["rejected"])
    asked = {json.loads(line)["prompt"] for line in rows["test"]}
    assert not asked & {json.loads(line)["prompt"] for line in rows["raw"]}
