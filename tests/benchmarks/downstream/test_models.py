import numpy as np
import pytest
from metajudge.benchmarks.downstream.models import (
    ASKED,
    BOTH,
    CORRECTED_ALIKE,
    KEPT,
    LABELS_ALIKE,
    RAW,
    Contests,
    corrected_rates,
    discordant,
    errors,
    raw_calls_for,
    win_rates,
)


def made(n: int = 2000, wrong: float = 0.3) -> Contests:
    """Three models whose strength grows with their number; a judge with noise, kept where it is right."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    people = (rng.random(n) < 0.5 + 0.2 * (first - second)).astype(float)
    right = rng.random(n) >= wrong
    judged = np.where(right, people, 1 - people)
    return Contests(("x", "y", "z"), first, second, people, judged, judged, right)


CONTESTS = made()
EVERY = np.arange(len(CONTESTS))


def test_win_rates_count_wins_and_half_ties_of_both_places():
    tiny = Contests(
        ("x", "y"),
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([1.0, 0.5]),
        np.zeros(2),
        np.zeros(2),
        np.zeros(2, dtype=bool),
    )
    assert win_rates(tiny, tiny.people, np.arange(2)).tolist() == [0.75, 0.25]
    assert np.isnan(win_rates(tiny, tiny.people, np.array([], dtype=np.intp))).all()


def test_corrected_rates_undo_what_the_judge_gets_wrong():
    truth = win_rates(CONTESTS, CONTESTS.people, EVERY)
    raw = win_rates(CONTESTS, CONTESTS.one, EVERY)
    corrected = corrected_rates(CONTESTS, EVERY, EVERY[:600])
    assert np.abs(corrected - truth).max() < 0.05 < np.abs(raw - truth).max()


def test_every_way_at_every_number_of_calls_with_the_labels_it_takes():
    found = {(one.way, one.calls): one for one in errors(CONTESTS, seeds=4)}
    assert found[KEPT, 1600].error < found[RAW, 1600].error
    assert found[KEPT, 1600].labels == found[BOTH, 800].labels == 0
    assert found[ASKED, 1600].labels == found[CORRECTED_ALIKE, 1600].labels == pytest.approx(240, abs=40)
    assert found[ASKED, 1600].error < 0.05
    assert {one for way, one in found if way == LABELS_ALIKE} == {0}
    assert found[RAW, 100].low < found[RAW, 100].error < found[RAW, 100].high


@pytest.mark.parametrize(
    ("rates", "share"),
    [
        ([0.1, 0.5, 0.9], 0),
        ([0.9, 0.5, 0.1], 1),
        ([0.1, 0.9, 0.5], 1 / 3),
        ([0.5, 0.5, 0.9], 1 / 6),
        ([np.nan, 0.9, 0.5], 1),
    ],
)
def test_pairs_in_the_wrong_order(rates, share):
    assert discordant(np.array(rates), np.array([0.2, 0.5, 0.8])) == pytest.approx(share)


def test_as_many_raw_calls_as_have_the_same_error():
    found = errors(CONTESTS, seeds=4)
    raw = {one.calls: one.error for one in found if one.way == RAW}
    assert raw_calls_for(1.0, found) == pytest.approx(100)
    assert raw_calls_for(min(raw.values()) / 2, found) is None
    between = raw_calls_for((raw[100] + raw[200]) / 2, found)
    assert between == pytest.approx(np.sqrt(100 * 200)) if raw[200] < raw[100] else True
