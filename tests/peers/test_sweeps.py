"""Subsamples of evaluators and questions."""

import numpy as np
import pytest

from metajudge.peers import HumanRanking, build_table
from metajudge.peers.consensus import question_consensus
from metajudge.peers.sweeps import sweep
from tests.peers.elections import NAMES, ballots

HUMAN = HumanRanking(name="h", ranking=tuple((name,) for name in NAMES))


def cells(given, humans=(HUMAN,), seed=0, **sizes):
    table = build_table(given)
    found = sweep(
        table, question_consensus(table), humans, "kemeny", np.random.default_rng(seed), **{"repeats": 5, **sizes}
    )
    return {(one.evaluators, one.questions): one for one in found}


def test_the_whole_is_one_subsample_and_stable():
    found = cells(ballots(12, phi=0.6), evaluators=(3,), questions=(4,))
    assert set(found) == {(3, 4), (3, 12), (6, 4), (6, 12)}
    whole = found[6, 12]
    assert (whole.repeats, whole.stability.value, whole.stability.low) == (1, 1.0, None)
    assert found[3, 4].repeats == 5
    assert found[3, 4].stability.low <= found[3, 4].stability.value <= found[3, 4].stability.high


def test_sizes_that_are_not_there_are_absent_with_the_reason():
    found = cells(ballots(12), evaluators=(9,), questions=(500,))
    assert found[9, 12].absent == found[6, 500].absent == "there are 6 evaluators and 12 questions"
    assert found[9, 12].stability is None
    assert found[6, 12].absent is None


def test_more_questions_are_more_stable_and_odd_panels_less_ambiguous():
    found = cells(ballots(120, phi=0.8, seed=3), evaluators=(5,), questions=(4, 60), repeats=15)
    assert found[6, 60].stability.value > found[6, 4].stability.value
    assert found[5, 60].ambiguous.value < found[6, 60].ambiguous.value


def test_human_rankings_that_lack_models_are_compared_on_the_others():
    part = HumanRanking(name="part", ranking=(("ant",), ("cat",), ("gnu",)))
    found = cells(ballots(6, phi=0.0), (part,), evaluators=(3,), questions=(3,))
    (alignment,) = found[3, 3].alignments
    assert alignment.micro_median.value == pytest.approx(1)
    assert alignment.macro.value == pytest.approx(1)


def test_the_seed_decides():
    given = ballots(30, phi=0.8)
    assert cells(given, seed=1, questions=(5,)) == cells(given, seed=1, questions=(5,))
    assert cells(given, seed=1, questions=(5,)) != cells(given, seed=2, questions=(5,))
