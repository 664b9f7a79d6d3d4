"""Procedures in ranks of scores without labels."""

import numpy as np
import pytest

from metajudge.calibration.procedures import Procedure
from metajudge.calibration.starts import MEANINGS, Reference, Setting, procedure_in_ranks, rounded
from metajudge.errors import InputError

NAMES = [name for name in MEANINGS if name not in ("log_odds", "this_file")]
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
        assert (other.starts, other.shares, other.stake) == (plain.starts, plain.shares, plain.stake)
        assert kept_by(plain, SCORES) == kept_by(other, change(SCORES))


@pytest.mark.parametrize("name", NAMES)
def test_every_procedure_spends_at_most_the_whole_level(name):
    for number in (5, 40, 400):
        made = procedure_in_ranks(name, Reference.of(SCORES, None), Setting(0.9, 0.1, number, 1))
        assert isinstance(made, Procedure)
        assert sum(made.shares) <= 1 + 1e-9
        assert made.passes_on == (name != "bonferroni")


def test_more_questions_allow_more_errors_at_a_start_that_stays_in_the_middle():
    kept = []
    for number in (60, 120, 400):
        made = procedure_in_ranks("ranks", Reference.of(SCORES, None), Setting(0.85, 0.1, number, 1))
        kept.append(float((made.grid[made.starts[0]] <= SCORES).mean()))
    assert all(0.3 < share < 0.5 for share in kept)


def test_a_reference_that_is_none_is_refused():
    with pytest.raises(InputError, match="finite numbers"):
        Reference.of([float("nan")], None)
    with pytest.raises(InputError, match="match one to one"):
        Reference.of([0.1, 0.2], ["a"])
    with pytest.raises(InputError, match="no procedure 'best'"):
        procedure_in_ranks("best", Reference.of([0.1], None), Setting(0.9, 0.1, 50, 1))
