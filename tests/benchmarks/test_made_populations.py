"""Made populations: their exact truth is that of what is drawn."""

import numpy as np
import pytest
from metajudge.benchmarks.made_populations import populations

EVERY = {one.name: one for one in populations()}


def test_there_are_at_least_forty_with_names_of_their_own():
    assert len(EVERY) == len(list(populations())) >= 40


@pytest.mark.parametrize("name", ["hard questions carry more, n 190", "scores differ within questions", "ties"])
def test_the_exact_precision_is_that_of_many_draws(name):
    one, rng = EVERY[name], np.random.default_rng(1)
    threshold = float(np.quantile(one.scores, 0.4))
    kept = right = every = 0
    for _ in range(200):
        sample = one.draw(rng)
        above = sample.scores >= round(threshold, 9)
        kept, right, every = kept + above.sum(), right + sample.correct[above].sum(), every + len(above)
    assert right / kept == pytest.approx(one.precision(threshold), abs=0.015)
    assert kept / every == pytest.approx(one.coverage(threshold), abs=0.015)


def test_where_hard_questions_carry_more_all_kept_are_worse_than_one_drawn_of_each():
    one = EVERY["hard questions carry more, n 190"]
    assert one.precision(-1) < one.target < one.right.mean() + 0.02
    assert one.right.mean() - one.precision(-1) > 0.03
