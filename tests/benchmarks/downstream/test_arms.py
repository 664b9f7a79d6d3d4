import numpy as np
import pytest
from metajudge.benchmarks.downstream.arms import GUARANTEED, KEPT, RAW, describe, distance, longer, selections, thinned

from .made import made_pairs, made_verdicts

PAIRS = made_pairs()
JUDGE = made_verdicts(PAIRS, wrong=0.3)


def test_a_selection_takes_decided_verdicts_alone():
    chosen = selections(JUDGE)
    assert len(chosen[RAW]) == 108
    assert set(chosen[KEPT]) < set(chosen[RAW])
    assert not (chosen[KEPT] % 10 == 0).any()
    assert len(chosen[GUARANTEED]) == 0


def test_wrong_pairs_are_those_against_the_label():
    chosen = selections(JUDGE)
    kept = describe(PAIRS, JUDGE, KEPT, chosen[KEPT], chosen[RAW])
    raw = describe(PAIRS, JUDGE, RAW, chosen[RAW], chosen[RAW])
    assert kept.wrong == 0
    assert raw.wrong == pytest.approx(1 - kept.pairs / raw.pairs)
    assert raw.low is not None
    assert raw.high is not None
    assert raw.low < raw.wrong < raw.high
    assert (raw.categories, raw.models) == (0, 0)


def test_an_empty_selection_has_no_figures_and_says_how_often_nothing_could_be_promised():
    chosen = selections(JUDGE)
    found = describe(PAIRS, JUDGE, GUARANTEED, chosen[GUARANTEED], chosen[RAW])
    assert (found.pairs, found.wrong, found.difficulty, found.abstained) == (0, None, None, 3)


def test_a_shift_is_seen_in_difficulty_length_and_categories():
    raw = selections(JUDGE)[RAW]
    easy = raw[raw < 60]
    found = describe(PAIRS, JUDGE, KEPT, easy, raw)
    assert found.difficulty is not None
    assert found.difficulty < 0.26
    assert found.categories == pytest.approx(0.5)
    assert (longer(PAIRS)[np.arange(120), PAIRS.better] == 1).all()


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [({"a": 2}, {"a": 5}, 0), ({"a": 1}, {"b": 1}, 1), ({"a": 1, "b": 1}, {"a": 3, "b": 1}, 0.25)],
)
def test_distance_of_counts(one, other, far):
    assert distance(one, other) == pytest.approx(far)


def test_thinning_draws_without_replacement_and_by_its_generator():
    raw = np.arange(50)
    drawn = thinned(raw, 20, np.random.default_rng(3))
    assert len(set(drawn)) == 20
    assert drawn.tolist() == thinned(raw, 20, np.random.default_rng(3)).tolist()
    assert drawn.tolist() != thinned(raw, 20, np.random.default_rng(4)).tolist()
