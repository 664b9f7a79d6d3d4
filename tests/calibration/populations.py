import math
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.procedures import last_rejected
from metajudge.calibration.question_test import binomial_p_values

DELTA = 0.1


TARGET = 0.85


@dataclass(frozen=True)
class Population:
    """Scores in atoms of known mass and precision, so the precision of every threshold is known exactly."""

    scores: np.ndarray
    mass: np.ndarray
    right: np.ndarray
    n: int

    def precision(self, threshold):
        above = self.scores >= threshold - 1e-9
        kept = (self.mass * above).sum()
        return (self.mass * self.right * above).sum() / kept if kept else 1.0

    def tallies(self, procedure, rng, repetitions):
        """Kept and wrong at each threshold, [repetitions, grid]."""
        counts = rng.multinomial(self.n, self.mass, size=repetitions)
        wrong = rng.binomial(counts, 1 - self.right)
        above = (self.scores[:, None] >= np.array(procedure.grid) - 1e-9).astype(np.int64)
        return counts @ above, wrong @ above


def population(right, n, atoms=60, scores=None):
    values = (np.arange(atoms) + 0.5) / atoms if scores is None else np.array(scores)
    chance = np.clip(np.array([right(value) for value in values]), 0, 1)
    return Population(values, np.full(len(values), 1 / len(values)), chance, n)


SHAPES = {
    "well separated": population(lambda s: 0.98 if s > 0.5 else 0.2, 300),
    "calibrated": population(lambda s: s, 300),
    "flat at the target less a hair": population(lambda _: TARGET - 1e-6, 300),
    "just below the target": population(lambda _: TARGET - 0.01, 1000),
    "tiny": population(lambda s: 0.84 if s > 0.3 else 0.5, 25),
    "ties": population(lambda s: {0.2: 0.6, 0.6: 0.8, 0.9: 0.849}[s], 200, scores=[0.2, 0.6, 0.9]),
    "worst on top": population(lambda s: 0.8 if s > 0.9 else 0.9 if s > 0.7 else 0.83, 400),
    "waves around the target": population(lambda s: TARGET - 0.002 + 0.08 * math.sin(25 * s), 400),
    "good until every start, then bad": population(lambda s: 0.95 if s > 0.95 else 0.82, 500),
}


def least_selective(kept, errors, target, delta, procedure, questions):
    """The last rejected threshold of the procedure by the test of one judgment a question; -1 for none."""
    return last_rejected(binomial_p_values(errors, kept, questions, 1 - target), delta)


def violations(shape, procedure, rng, repetitions, select=least_selective):
    kept, errors = shape.tallies(procedure, rng, repetitions)
    found = select(kept, errors, TARGET, DELTA, procedure, shape.n)
    bad = np.array([shape.precision(threshold) < TARGET for threshold in procedure.grid] + [False])
    return float(bad[found].mean())
