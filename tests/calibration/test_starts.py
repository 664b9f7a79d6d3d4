"""Procedures in ranks of scores without labels."""

import numpy as np
import pytest

from metajudge.calibration.starts import START, Reference, Setting, procedure_in_ranks, rounded
from metajudge.errors import InputError

NAMES = ("ranks", "e_process")
SCORES = np.random.default_rng(0).normal(size=200)


def kept_by(procedure, scores):
    return [int((rounded(scores) >= one).sum()) for one in procedure.grid]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("most", [1, 3])
def test_any_increasing_change_of_the_scores_changes_no_rank(name, most):
    places = None if most == 1 else [f"q{number // 3}" for number in range(200)]
    setting = Setting(0.85, 0.1, 90, most)
    plain = procedure_in_ranks(name, Reference.of(SCORES, places), setting)
    for change in (lambda x: 0.6 * x, lambda x: 1.6 * x, lambda x: x + 1, np.exp):
        other = procedure_in_ranks(name, Reference.of(change(SCORES), places), setting)
        assert other.credited == plain.credited
        assert kept_by(plain, SCORES) == kept_by(other, change(SCORES))


def start_share(number, target=0.85, most=1, places=None):
    made = procedure_in_ranks("ranks", Reference.of(SCORES, places), Setting(target, 0.1, number, most))
    return float((made.grid[0] <= SCORES).mean())


def test_the_start_keeps_a_third_more_with_few_labels_and_less_with_many():
    assert start_share(100) == START
    # 22 right ones are needed at .9: with 60 questions, 27 are kept, so that 22 are nearly always drawn.
    assert start_share(60, 0.9) == pytest.approx(27 / 60, abs=0.02)
    assert start_share(400) < 0.25


def test_a_start_with_several_judgments_a_question_lies_at_a_share_of_the_judgments():
    places = [f"q{number // 8}" for number in range(200)]
    assert 0.03 < start_share(1000, 0.8, 8, places) < START
    made = procedure_in_ranks("ranks", Reference.of(SCORES, places), Setting(0.8, 0.1, 1000, 8))
    assert made.credited in (6, 7)  # nine tenths of the questions keep at most so many of their eight at 60 %
    alone = procedure_in_ranks("ranks", Reference.of(SCORES, None), Setting(0.8, 0.1, 1000, 8))
    assert alone.credited is None  # nothing is known of how many a question keeps


def test_a_reference_that_is_none_is_refused():
    with pytest.raises(InputError, match="finite numbers"):
        Reference.of([float("nan")], None)
    with pytest.raises(InputError, match="match one to one"):
        Reference.of([0.1, 0.2], ["a"])
