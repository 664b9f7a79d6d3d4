"""The study of promises: its shortcuts give what the product gives, and it would notice a broken promise."""

import numpy as np
import pytest
from metajudge.benchmarks.promise_study import (
    DELTA,
    HAIR,
    POPULATIONS,
    TARGET,
    Population,
    Recorded,
    flat,
    refused,
    sought,
)

from metajudge.calibration.guarantee import Abstention, guaranteed_threshold
from metajudge.calibration.procedures import Reference, Setting, procedure_in_ranks


@pytest.mark.parametrize(("sizes", "n"), [((1,), 120), ((1, 3), 80)])
def test_what_it_counts_by_types_is_what_the_product_finds_in_the_questions(sizes, n):
    one = Population(lambda score, size: 0.75 + 0.2 * score, (n,), sizes=sizes)
    rng, most = np.random.default_rng(4), max(sizes)
    score, size = (part.ravel() for part in np.meshgrid(one.atoms, one.sizes, indexing="ij"))
    counts = rng.multinomial(n, np.full(len(score), 1 / len(score)), size=6)
    wrong = rng.binomial(counts, 1 - one.right(score, size))
    setting, reference = Setting(TARGET, DELTA, n, most), Reference.of(one.reference, None)
    made = procedure_in_ranks("ranks", reference, setting)
    promised, at = sought(counts, wrong, score[:, None] >= np.array(made.grid) - 1e-9, size, setting, made)
    for row in range(6):
        types = np.repeat(np.arange(len(score)), counts[row])
        first = np.cumsum(counts[row]) - counts[row]
        right = np.arange(n) - first[types] >= wrong[row][types]
        names = np.repeat([f"q{at:03}" for at in range(n)], size[types]).tolist()
        found = guaranteed_threshold(
            np.repeat(score[types], size[types]), np.repeat(right, size[types]), names, target=TARGET, delta=DELTA,
            reference=one.reference, most_per_question=most, or_lower=True,
        )  # fmt: skip
        assert isinstance(found, Abstention) == (at[row] < 0)
        if at[row] >= 0:
            assert (found.target, found.threshold) == (promised[row], made.grid[at[row]])


def test_promises_hold_in_populations_at_the_edge_and_a_test_of_too_high_a_level_is_noticed(monkeypatch):
    assert len(POPULATIONS) == 13
    assert 0.03 < Population(flat(HAIR), (200,)).broken(600) <= DELTA + 2 * (0.09 / 600) ** 0.5
    monkeypatch.setattr("metajudge.benchmarks.promise_study.DELTA", 0.4)
    assert Population(flat(HAIR), (200,)).broken(600) > 0.2


def test_picked_labels_are_refused():
    assert refused()


def test_no_rule_keeps_more_than_the_bound():
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    one = Recorded(scores, rng.random(400) < 0.5 + 0.5 * scores, np.ones(400), 100)
    kept = np.mean([one.kept(one.found(0.8, np.random.default_rng(at), None)) for at in range(40)])
    assert 0 < kept < one.bound(0.8, rng) + 0.05 < 0.9
