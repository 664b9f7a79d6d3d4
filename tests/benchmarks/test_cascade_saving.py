"""What a cascade saves, replayed from recorded verdicts."""

import argparse
import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.doubles.judgebench import game, pair

cascade = import_module("metajudge.benchmarks.cascade")
OPTIONS = argparse.Namespace(repeats=2, resamples=20, seed=0, given_up=0.0)
STUDY = cascade.Study(
    "data", "owl", (cascade.RecordedModel("hawk", (1.0, 1.0)), cascade.RecordedModel("eagle", (30.0, 30.0)))
)


@pytest.fixture
def recorded(folder):
    """120 pairs: owl is right in two of three; eagle always; hawk where owl is right and in half of the rest."""
    games = []
    for n in range(120):
        owl_right, hawk_right = n % 3 != 0, n % 3 != 0 or n % 2 == 0
        games.append(game(n, "AB", "A>B" if owl_right else "B>A", judge="owl"))
        for judge, right in (("hawk", hawk_right), ("eagle", True)):
            games.append(game(n, "AB", "A>B" if right else "B>A", judge=judge))
            if (judge, n) != ("hawk", 7):  # one game is missing
                games.append(game(n, "BA", "B>A" if right else "A>B", judge=judge, label="B>A"))
    return folder([pair(n) for n in range(120)], games).parent


def test_stages_score_by_the_support_of_their_two_verdicts_and_what_lacks_one_is_left_out(recorded):
    data, left_out = cascade.load(STUDY, recorded)
    assert (len(data.correct), left_out, len(set(data.questions))) == (119, 1, 119)
    assert set(np.unique(data.scores)) == {2.0, 4.0}
    assert ((data.scores[:, 1] == 4.0) == data.correct).all()  # eagle agrees with owl exactly where owl is right
    assert (data.costs[:, 1] > 20 * data.costs[:, 0]).all()


def test_what_the_cheap_stage_is_sure_of_saves_the_strong_one_and_loses_nothing(recorded):
    data, left_out = cascade.load(STUDY, recorded)
    found = cascade.study_findings(STUDY, data, left_out, 0.5, OPTIONS)
    assert found.reference_precision.value == 1.0
    assert found.precision_difference.value == 0.0
    assert found.strong_calls_saved.value > 0.1
    assert found.dollars_saved.low <= found.dollars_saved.value <= found.dollars_saved.high
    assert "strong calls" in "\n".join(cascade.report([found]))


def test_where_nothing_is_kept_there_is_no_precision_rather_than_a_number(recorded):
    data, left_out = cascade.load(STUDY, recorded)
    assert cascade.study_findings(STUDY, data, left_out, 1.0, OPTIONS).reference_precision is None


@pytest.mark.skipif("METAJUDGE_DATA" not in os.environ, reason="METAJUDGE_DATA does not name the folder")
def test_recorded_counts():
    data, left_out = cascade.load(cascade.STUDIES[0], Path(os.environ["METAJUDGE_DATA"]))
    assert (len(data.correct), len(set(data.questions)), left_out) == (279, 141, 97)
    assert data.correct.mean() == pytest.approx(0.674, abs=0.001)
