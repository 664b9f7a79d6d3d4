"""What further labels can do: chances by simulation of the procedure, and never a bare number."""

import numpy as np
import pytest

from metajudge.calibration.advice import _Labelled, _lean, advise
from metajudge.errors import InputError


def drawn(n, right, seed=0, size=1):
    rng = np.random.default_rng(seed)
    scores = np.repeat(rng.random(n), size)
    return scores, rng.random(n * size) < right(scores), [f"q{at // size}" for at in range(n * size)]


def enough(number):
    """A procedure that passes from so many questions on."""
    return lambda scores, correct, questions: len(set(questions)) >= number


def precise(target, least=20):
    """Passes where the better half, of at least so many, is right often enough."""

    def passes(scores, correct, questions):
        kept = scores >= 0.5
        return kept.sum() >= least and correct[kept].mean() - 1 / np.sqrt(kept.sum()) >= target

    return passes


def advised(rows, passes, **options):
    return advise(*rows, passes=passes, level=0.0125, **{"draws": 60, **options})


def test_the_procedure_itself_is_simulated_on_old_and_new_labels_together():
    found = advised(drawn(100, lambda s: 0.9), enough(150))
    assert [(one.further, one.probability) for one in found.chances] == [
        (25, 0.0),
        (50, 1.0),
        (100, 1.0),
        (200, 1.0),
        (400, 1.0),
    ]
    assert 25 < found.recommended <= 50


def test_more_labels_help_where_the_scores_separate_and_not_where_they_cannot():
    good = advised(drawn(120, lambda s: np.where(s > 0.5, 0.98, 0.5)), precise(0.8))
    assert good.chances[-1].probability > 0.8
    hopeless = advised(drawn(120, lambda s: np.full(len(s), 0.7)), precise(0.85))
    assert hopeless.recommended is None
    assert hopeless.chances[-1].probability < 0.2
    assert "not reachable" in "\n".join(hopeless.lines())


def test_few_labels_leave_the_chance_open_and_many_settle_it():
    shape = lambda s: 0.5 + 0.4 * s  # noqa: E731
    few = [advised(drawn(15, shape, seed), precise(0.8), sizes=(40,)).chances[0].probability for seed in range(6)]
    many = [advised(drawn(900, shape, seed), precise(0.8), sizes=(1,)).chances[0].probability for seed in range(6)]
    open_few, open_many = (np.mean([one * (1 - one) for one in found]) for found in (few, many))
    assert open_few > 2 * open_many


def test_judgments_of_one_question_that_lean_together_tell_less():
    rng = np.random.default_rng(3)
    right = np.repeat(rng.random(60) < 0.85, 5)
    scores = np.full(300, 0.6)
    together = [f"q{at // 5}" for at in range(300)]
    alike = advise(scores, right, together, passes=precise(0.84), level=0.1, draws=100, sizes=(10,))
    apart = advise(
        scores, right, [f"q{at}" for at in range(300)], passes=precise(0.84), level=0.1, draws=100, sizes=(10,)
    )
    assert 0.5 < alike.chances[0].probability < apart.chances[0].probability - 0.05


def test_how_judgments_lean_together_is_the_mean_product_of_two_of_a_question():
    residuals = np.array([1.0, 0.5, 1.0, -0.25, 2.0, 9.0, 9.0])  # the last two score below the median
    data = _Labelled.of([0.9, 0.8, 0.9, 0.8, 0.9, 0.1, 0.1], np.ones(7), list("aabbcdd"))
    assert _lean(residuals, data) == pytest.approx((1 * 0.5 + 1 * -0.25) / 2)


def test_order_and_seed_of_the_same_labels_give_the_same_advice():
    scores, right, questions = drawn(80, lambda s: 0.6 + 0.4 * s)
    first = advised((scores, right, questions), precise(0.8))
    order = np.random.default_rng(1).permutation(80)
    assert advised((scores[order], right[order], [questions[at] for at in order]), precise(0.8)) == first


def test_nothing_labelled_is_no_basis():
    with pytest.raises(InputError, match="no labelled judgment"):
        advise([], [], [], passes=enough(1), level=0.1)
