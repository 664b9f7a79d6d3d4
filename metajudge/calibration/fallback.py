"""What answers for a category that was not fitted on: the model without categories, less sure of itself.

Categories differ more than their judgments do, so a model that does not know the category is wrong in a way that
cross-validation by question cannot see. It is measured by leaving out whole categories: the slope of the log-odds (1 as
they are, 0 the centre) with the lowest log loss there answers for categories to come. The spread between categories so
works as a random effect would. One choice serves all judges fitted apart: a single judge's few categories are too few
to choose on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit

from metajudge.calibration.item_model import Workbench
from metajudge.calibration.quality import log_losses
from metajudge.stats.arrays import Floats

SLOPES = (1.0, 0.75, 0.5, 0.35, 0.25)

FEWEST_CATEGORIES = 3
"""With fewer there is nothing to measure on: the model answers as it is."""

MOST_PARTS = 20
"""More categories than this are left out several at a time."""

EDGE = 1e-6


@dataclass(slots=True)
class SlopeLosses:
    """Log losses on categories left out, each category of each group of judges with equal weight."""

    found: dict[float, list[float]] = field(default_factory=lambda: {slope: [] for slope in SLOPES})

    def measure(self, bench: Workbench, penalty: float, categories: Sequence[str], known_as: Sequence[str]) -> None:
        """Adds the losses of one group of judges.

        Args:
            categories: [n] full names.
            known_as: [n] names at the level; a category counts where others of its name at the level remain.
        """
        names, place = np.unique(np.array(categories, dtype=str), return_inverse=True)
        if len(names) < FEWEST_CATEGORIES:
            return
        category, level = place.ravel(), np.array(known_as, dtype=str)
        held_out = category % MOST_PARTS
        for part in range(held_out.max() + 1):
            train = np.flatnonzero(held_out != part)
            test = np.flatnonzero((held_out == part) & np.isin(level, level[train]))
            if not len(test):
                continue
            ((predicted,),) = bench.fit_predict([penalty], train, [test])
            for slope in SLOPES:
                losses = log_losses(draw_in(predicted, slope, bench.centre(train)), bench.correct[test])
                of_test = category[test]
                self.found[slope] += [float(losses[of_test == number].mean()) for number in np.unique(of_test)]

    def best(self) -> float:
        """The slope with the lowest mean loss, of equal ones the surest; 1 where nothing was measured."""
        return min(SLOPES, key=lambda one: (float(np.mean(self.found[one])) if self.found[one] else 0.0, -one))


def draw_in(probabilities: Floats, slope: float, centre: float) -> Floats:
    """Probabilities with their log-odds drawn to a centre: ``centre + slope (log-odds - centre)``."""
    if slope == 1:
        return probabilities
    odds = logit(np.clip(probabilities, EDGE, 1 - EDGE))
    return np.asarray(expit(centre + slope * (odds - centre)))
