"""What answers for a category that was not fitted on: a coarser model, less sure of itself.

Categories differ more than their judgments do, so a model that does not know the category is wrong in a way that
cross-validation by question cannot see. It is measured by leaving out whole categories: the model and the slope of its
log-odds (1 as they are, 0 the base rate) with the lowest log loss there answer for categories to come. The spread
between categories so works as a random effect would, and draws probabilities to what is right on the whole. One choice
serves all judges fitted apart: a single judge's few categories are too few to choose on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit

from metajudge.calibration.candidates import Candidate, Workbench
from metajudge.calibration.quality import log_losses
from metajudge.stats.arrays import Bools, Floats, Indices

SLOPES = (1.0, 0.75, 0.5, 0.35, 0.25)

FEWEST_CATEGORIES = 3
"""With fewer there is nothing to measure on: the model chosen by question answers as it is."""

QUICK_PARTS = 5
"""Where time matters, categories are left out in so many parts, not one by one."""

EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Fallback:
    """How categories not fitted on are answered.

    Attributes:
        candidate: the model; None for the one chosen by question.
        slope: of the log-odds about the base rate.
    """

    candidate: Candidate | None = None
    slope: float = 1.0


@dataclass(slots=True)
class FallbackLosses:
    """Log losses on categories left out, each category of each group of judges with equal weight."""

    found: dict[Fallback, list[float]] = field(default_factory=dict)

    def measure(
        self,
        bench: Workbench,
        models: dict[Candidate | None, Candidate],
        categories: Sequence[str],
        known_as: Sequence[str],
        *,
        seed: int = 0,
        quick: bool = False,
    ) -> None:
        """Adds the losses of one group of judges.

        Args:
            bench: rows with the categories as the level knows them.
            models: models to try, by the name under which they are compared.
            categories: [n] full names.
            known_as: [n] names at the level; a category counts where others of its name at the level remain.
            seed: of the fits.
            quick: leaves categories out in few parts.
        """
        names, place = np.unique(np.array(categories, dtype=str), return_inverse=True)
        if len(names) < FEWEST_CATEGORIES:
            return
        category = place.ravel()
        held_out = category % QUICK_PARTS if quick else category
        level = np.array(known_as, dtype=str)
        for part in range(held_out.max() + 1):
            train = np.flatnonzero(held_out != part)
            test = np.flatnonzero((held_out == part) & np.isin(level, level[train]))
            if len(test):
                self._enter(bench, models, train, test, category[test], seed)

    def best(self) -> Fallback:
        """The fallback with the lowest mean loss; as it is where nothing was measured."""

        def key(one: Fallback) -> tuple[float, str, float]:
            return float(np.mean(self.found[one])), one.candidate.name if one.candidate else "", -one.slope

        return min(self.found, key=key, default=Fallback())

    def _enter(
        self,
        bench: Workbench,
        models: dict[Candidate | None, Candidate],
        train: Indices,
        test: Indices,
        category: Indices,
        seed: int,
    ) -> None:
        centre = base_odds(bench.correct[train])
        for name, one in models.items():
            (predicted,) = bench.fit_predict(one, train, [test], seed)
            for slope in SLOPES:
                losses = log_losses(draw_in(predicted, slope, centre), bench.correct[test])
                means = [float(losses[category == number].mean()) for number in np.unique(category)]
                self.found.setdefault(Fallback(name, slope), []).extend(means)


def draw_in(probabilities: Floats, slope: float, centre: float) -> Floats:
    """Probabilities with their log-odds drawn to a centre: ``centre + slope (log-odds - centre)``."""
    if slope == 1:
        return probabilities
    odds = logit(np.clip(probabilities, EDGE, 1 - EDGE))
    return np.asarray(expit(centre + slope * (odds - centre)))


def base_odds(correct: Bools) -> float:
    """Log-odds of the share of right ones, drawn a little to 1/2 so that it is finite."""
    return float(logit((correct.sum() + 1) / (len(correct) + 2)))
