"""Drift of new data against those of a fit."""

import pytest

from metajudge.calibration.profiles import drift, profiles_of
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from tests.doubles.crowds import SKILLS, crowd

FREE = ["order", "strength", "peers"]


def counts(table):
    return {name: table.categories.count(name) for name in set(table.categories)}


@pytest.fixture(scope="module")
def fitted():
    return build_table(crowd(100), FREE)


def test_the_same_data_do_not_drift(fitted):
    assert max(one.psi for one in drift(profiles_of(fitted), counts(fitted), fitted)) == pytest.approx(0, abs=1e-12)


def test_a_like_sample_stays_below_the_mark_and_a_worse_panel_does_not(fitted):
    like = build_table(crowd(100, seed=7), FREE).with_scales(fitted.scales)
    assert not [one for one in drift(profiles_of(fitted), counts(fitted), like) if one.shifted]
    worse = build_table(crowd(100, seed=7, skills=dict.fromkeys(SKILLS, 0.5)), FREE).with_scales(fitted.scales)
    found = drift(profiles_of(fitted), counts(fitted), worse)
    assert found[0].shifted
    assert {"consensus.log_odds", "peers.votes"} & {one.signal for one in found if one.shifted}


def test_new_categories_and_absent_signals_are_drift(fitted):
    other = build_table(crowd(60, categories=("Law",), skills={"owl": 0.9}), FREE)
    by_name = {one.signal: one for one in drift(profiles_of(fitted), counts(fitted), other)}
    assert by_name["category"].shifted
    assert by_name["peers.support"].shifted
    assert (by_name["category"].n, by_name["category"].m) == (600, 120)


def test_nothing_to_compare_is_said(fitted):
    with pytest.raises(InputError, match="no decided pairwise judgment"):
        drift(profiles_of(fitted), {}, fitted.select([False] * len(fitted)))
