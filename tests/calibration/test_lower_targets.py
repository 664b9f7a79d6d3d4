"""One look over targets in a fixed order: its value by an own computation, and that its promises rarely fail."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from metajudge.calibration.guarantee import Abstention, guaranteed_threshold, rising
from metajudge.calibration.looks import Looks
from metajudge.errors import InputError

DELTA = 0.1


def sample(rng, questions, right, judgments=1):
    """Scores as probabilities [n], which are right [n], and the question of each; a question is often right as one."""
    scores = np.round(expit(rng.normal(1.2, 1.3, size=(questions, judgments))), 4)
    together = rng.random((questions, 1)) < 0.5
    chance = np.where(together, rng.random((questions, 1)), rng.random((questions, judgments)))
    return scores.ravel(), (chance < right(scores)).ravel(), [f"q{at // judgments}" for at in range(scores.size)]


def sought(rng, questions, right, target=0.95, judgments=1, **more):
    scores, correct, names = sample(rng, questions, right, judgments)
    reference, _, others = sample(rng, 150, right, judgments)
    about = {"reference": reference, "reference_questions": others, "or_lower": True}
    return guaranteed_threshold(scores, correct, names, target=target, delta=DELTA, **about, **more)


def by_hand(scores, correct, reference, target):
    """The path and its tests written anew for one judgment a question and over a thousand questions."""
    falling, passed = np.sort(reference)[::-1], None
    places = np.arange(1, len(falling) + 1)
    for step in range(26):
        aim = 0.5 + 0.02 * step
        if aim >= target - 1e-9:
            return passed
        number = places / len(falling) * len(scores)
        wrong = 1 - np.cumsum(falling) / places
        foreseen = np.ceil(number * wrong + 0.5 * np.sqrt(number * wrong * (1 - wrong)))
        chance = np.where(np.rint(number) > number * wrong, binom.cdf(foreseen, np.rint(number), 1 - aim), 1)
        passing = np.flatnonzero(chance <= DELTA)
        threshold = falling[passing[-1] if len(passing) else np.argmin(chance)]
        kept = scores >= threshold
        if binom.cdf((kept & ~correct).sum(), kept.sum(), 1 - aim) > DELTA:
            return passed
        passed = round(aim, 9), threshold, kept.mean()
    return passed


@pytest.mark.parametrize("seed", range(4))
def test_the_highest_target_that_passes_is_the_one_computed_by_hand(seed):
    rng = np.random.default_rng(seed)
    scores, correct, names = sample(rng, 1200, lambda s: s - 0.02)
    reference, *_ = sample(rng, 400, lambda s: s)
    found = guaranteed_threshold(scores, correct, names, target=0.95, delta=DELTA, reference=reference, or_lower=True)
    target, threshold, coverage = by_hand(scores, correct, reference, 0.95)
    assert 0.6 < target < 0.95
    assert (found.target, found.threshold, found.coverage) == pytest.approx((target, threshold, coverage))


@pytest.mark.parametrize(
    ("right", "questions", "judgments"),
    [
        (lambda s: s - 0.12, 95, 1),  # surer than it is right
        (lambda s: np.full(s.shape, 0.499), 200, 1),  # below every target
        (lambda s: np.where(s > 0.9, 0.85, 0.95), 200, 1),  # worst on top
        (lambda s: np.where(s > 0.8, 0.89, 0.77), 150, 1),  # a hair below some targets
        (lambda s: s - 0.12, 60, 3),
    ],
    ids=["bold", "all below", "worst on top", "hair", "three a question"],
)
def test_the_chance_of_a_false_promise_stays_below_delta(right, questions, judgments):
    """Its truth is the precision of 300,000 judgments; the limit is delta and 2.6 standard errors."""
    draws, false = 100, 0
    scores = np.round(expit(np.random.default_rng(99).normal(1.2, 1.3, size=300_000)), 4)
    order = np.argsort(-scores)
    falling, precision = scores[order], np.cumsum(np.clip(right(scores[order]), 0, 1)) / np.arange(1, 300_001)
    for seed in range(draws):
        found = sought(np.random.default_rng([7, seed]), questions, right, judgments=judgments)
        if not isinstance(found, Abstention):
            last = np.searchsorted(-falling, -found.threshold, side="right") - 1
            false += precision[last] < found.target
    assert false / draws <= DELTA + 2.6 * (DELTA * (1 - DELTA) / draws) ** 0.5


def test_a_target_within_reach_keeps_as_much_as_by_itself():
    rng = np.random.default_rng(2)
    scores, correct, names = sample(rng, 300, lambda s: np.full(s.shape, 0.97))
    about = {"target": 0.9, "delta": DELTA, "reference": scores[::2], "reference_questions": names[::2]}
    alone = guaranteed_threshold(scores, correct, names, **about)
    assert guaranteed_threshold(scores, correct, names, **about, or_lower=True) == alone
    assert alone.target == 0.9


def test_it_is_one_look_and_the_same_one_again_spends_nothing():
    looks = Looks()
    for _ in range(2):
        found = sought(np.random.default_rng(3), 95, lambda s: s, looks=looks)
        assert found.level == pytest.approx(0.075)
        (entry,) = looks.entries
    assert f"target 0.95, level 0.075 of delta 0.1: passed at {found.target:g}" in entry.line()
    sought(np.random.default_rng(3), 95, lambda s: s, target=0.94, looks=looks)
    assert [round(one.level, 4) for one in looks.entries] == [0.075, 0.0125]


def test_where_not_even_the_first_passes_it_says_so():
    found = sought(np.random.default_rng(3), 40, lambda s: np.full(s.shape, 0.3))
    assert isinstance(found, Abstention)
    assert found.target == 0.95
    assert "not even 50 % can be promised: " in found.reason


def test_without_probabilities_of_other_questions_it_is_refused():
    scores, correct, names = sample(np.random.default_rng(1), 40, lambda s: s)
    for reference in (None, scores * 5):
        with pytest.raises(InputError, match="leave out the lower targets"):
            guaranteed_threshold(scores, correct, names, target=0.9, delta=0.1, reference=reference, or_lower=True)


@pytest.mark.parametrize(("target", "before"), [(0.5, []), (0.55, [0.5, 0.52, 0.54]), (0.3, [])])
def test_targets_rise_to_the_one_asked_for(target, before):
    assert rising(target) == before
