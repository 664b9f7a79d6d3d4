"""Fitting a cascade's plan on labelled scores; pure.

Curves are logistic regressions of correctness on a stage's score (ridge 1/n on the standardised slope). Probabilities
that the band is chosen on are out of fold, by question. The band is the cheapest one with which, on these labels, the
cascade's kept judgments are as precise, and as many, as those that the last stage keeps when asked about all. What that
is worth on other questions is measured by making the whole plan without each fold in turn (:func:`held_out`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from metajudge.calibration.cascade import CascadePlan, CascadeProvenance, CascadeStage, HeldOut
from metajudge.calibration.folds import question_folds
from metajudge.calibration.item_model import logistic
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.stats.bootstrap import Ratio, bootstrap_difference
from metajudge.types import digest

_STEPS = 21
_FEWEST = 20
_SURE = 2.33
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class StagedScores:
    """Labelled judgments with a score by every stage.

    Attributes:
        scores: [n, stages].
        correct: [n].
        questions: [n] the unit of independence.
        costs: [n, stages] what asking a stage costs, on top of those before.
        cost_unit: of the costs.
        left_out: labelled judgments that some stage had no score for.
    """

    scores: Floats
    correct: Bools
    questions: tuple[str, ...]
    costs: Floats
    cost_unit: Literal["dollars", "calls"] = "dollars"
    left_out: int = 0

    def select(self, rows: Ints | Bools) -> "StagedScores":
        """Some of the judgments."""
        questions = np.array(self.questions, dtype=object)[rows]
        return replace(
            self,
            scores=self.scores[rows],
            correct=self.correct[rows],
            questions=tuple(questions),
            costs=self.costs[rows],
        )


@dataclass(frozen=True, slots=True)
class CascadeRun:
    """What a cascade decides about judgments, and what that costs.

    Attributes:
        accepted: [n].
        decided_by: [n] stage, from 0.
        cost: [n].
    """

    accepted: Bools
    decided_by: Ints
    cost: Floats

    def precision(self, correct: Bools) -> float | None:
        """Share of the kept that are right; None where nothing is kept."""
        return float(correct[self.accepted].mean()) if self.accepted.any() else None


def fit_curve(scores: Floats, correct: Bools) -> tuple[float, float]:
    """Intercept and slope of P(correct) over the score, by L2-penalised logistic regression.

    Raises:
        InputError: fewer than 20 judgments, or all right or all wrong.
    """
    n = len(scores)
    if n < _FEWEST or correct.all() or not correct.any():
        raise InputError(
            f"a stage's curve needs at least {_FEWEST} labelled judgments, right and wrong ones; there are {n}, "
            f"{int(correct.sum())} of them right"
        )
    mean, spread = float(scores.mean()), float(scores.std()) or 1.0
    (model,) = logistic(((scores - mean) / spread)[:, None], correct, [1.0], np.ones(n))
    slope = model.coefficients[0] / spread
    return model.intercept - slope * mean, slope


def says_something(scores: Floats, correct: Bools) -> bool:
    """Whether a score rises with correctness beyond chance: its slope is 2.33 standard errors above 0 (one-sided 1 %).

    Without that a band chosen on labels would follow their noise. Judgments count as independent here.
    """
    intercept, slope = fit_curve(scores, correct)
    p = 1 / (1 + np.exp(-(intercept + slope * scores)))
    information = p * (1 - p)
    centre = (information * scores).sum() / information.sum()
    return bool(slope * np.sqrt((information * (scores - centre) ** 2).sum()) > _SURE)


def curves(data: StagedScores, agents: Sequence[tuple[str, ...]]) -> tuple[CascadeStage, ...]:
    """One curve a stage, fitted on all the data."""
    found = [fit_curve(data.scores[:, stage], data.correct) for stage in range(data.scores.shape[1])]
    return tuple(CascadeStage(agents=names, intercept=a, slope=b) for names, (a, b) in zip(agents, found, strict=True))


def probabilities(data: StagedScores, fitted: Sequence[tuple[float, float]]) -> Floats:
    """[n, stages] from intercepts and slopes."""
    return np.column_stack([1 / (1 + np.exp(-(a + b * data.scores[:, stage]))) for stage, (a, b) in enumerate(fitted)])


def out_of_fold(data: StagedScores, *, folds: int, seed: int) -> Floats:
    """[n, stages] probabilities by curves that did not see the question.

    Raises:
        InputError: too few questions or judgments.
    """
    fold = question_folds(data.questions, folds, [seed])
    found = np.zeros_like(data.scores)
    for number in range(folds):
        held = fold == number
        seen = data.select(~held)
        fitted = [fit_curve(seen.scores[:, stage], seen.correct) for stage in range(data.scores.shape[1])]
        found[held] = probabilities(data.select(held), fitted)
    return found


def run_cascade(probability: Floats, costs: Floats, band: tuple[float, float], cut: float) -> CascadeRun:
    """What the cascade would do, stage by stage, as :meth:`CascadePlan.step` says."""
    n, stages = probability.shape
    rounded = np.round(probability, 9)
    low, high = round(band[0], 9), round(band[1], 9)
    accepted, decided_by = np.zeros(n, dtype=bool), np.full(n, stages - 1)
    open_, cost = np.ones(n, dtype=bool), np.zeros(n)
    for stage in range(stages):
        cost[open_] += costs[open_, stage]
        p = rounded[:, stage]
        if stage == stages - 1:
            accepted[open_] = p[open_] > round(cut, 9)
            break
        sure = open_ & ((p > high) | (p < low))
        accepted[sure] = p[sure] > high
        decided_by[sure] = stage
        open_ &= ~sure
    return CascadeRun(accepted, decided_by, cost)


def last_stage_alone(probability: Floats, costs: Floats, cut: float) -> CascadeRun:
    """What asking the last stage about every judgment would do, and cost."""
    n, stages = probability.shape
    accepted = np.round(probability[:, -1], 9) > round(cut, 9)
    return CascadeRun(accepted, np.full(n, stages - 1), costs[:, -1].copy())


def choose_band(
    probability: Floats,
    correct: Bools,
    costs: Floats,
    cut: float,
    *,
    precision_given_up: float = 0.0,
    kept_given_up: float = 0.0,
) -> tuple[float, float]:
    """The cheapest band with which the cascade keeps as precisely, and as many, as the last stage alone.

    Bands run between quantiles of the first stage's probability, 0 and 1, on both sides of the cut. Escalating
    everything is always among them.

    Args:
        probability: [n, stages], out of fold.
        precision_given_up: by so much the precision may be lower.
        kept_given_up: by so large a share fewer may be kept.
    """
    reference = last_stage_alone(probability, costs, cut)
    target = reference.precision(correct)
    least = (1 - kept_given_up) * int(reference.accepted.sum())
    best, found = float("inf"), (0.0, 1.0)
    edges = np.quantile(probability[:, 0], np.linspace(0, 1, _STEPS))
    lows = sorted({0.0, *(float(one) for one in edges if one <= cut), cut})
    highs = sorted({1.0, *(float(one) for one in edges if one >= cut), cut})
    for low in lows:
        for high in highs:
            run = run_cascade(probability, costs, (low, high), cut)
            precision = run.precision(correct)
            good = target is None or (precision is not None and precision >= target - precision_given_up - 1e-12)
            cost = float(run.cost.sum())
            if good and run.accepted.sum() >= least and cost < best - 1e-12:
                best, found = cost, (low, high)
    return found


def held_out(
    data: StagedScores,
    cut: float,
    *,
    precision_given_up: float = 0.0,
    kept_given_up: float = 0.0,
    folds: int = 5,
    seed: int = 0,
) -> HeldOut | None:
    """Curves and band made on the other folds, run on each fold by question; None where either keeps nothing.

    Args:
        data: all labelled judgments.
        cut: probability that what is kept must exceed.
        precision_given_up, kept_given_up: see :func:`choose_band`.
    """
    fold = question_folds(data.questions, folds, [seed, 1])
    kept, alone = np.zeros(len(fold), dtype=bool), np.zeros(len(fold), dtype=bool)
    cost = reference_cost = 0.0
    for number in range(folds):
        seen, new = data.select(fold != number), data.select(fold == number)
        band = choose_band(
            out_of_fold(seen, folds=folds, seed=seed),
            seen.correct,
            seen.costs,
            cut,
            precision_given_up=precision_given_up,
            kept_given_up=kept_given_up,
        )
        fitted = [fit_curve(seen.scores[:, stage], seen.correct) for stage in range(data.scores.shape[1])]
        probability = probabilities(new, fitted)
        run, reference = run_cascade(probability, new.costs, band, cut), last_stage_alone(probability, new.costs, cut)
        kept[fold == number], alone[fold == number] = run.accepted, reference.accepted
        cost, reference_cost = cost + float(run.cost.sum()), reference_cost + float(reference.cost.sum())
    if not kept.any() or not alone.any():
        return None
    ratios = [Ratio((data.correct & chosen).astype(float), chosen.astype(float)) for chosen in (kept, alone)]
    rng = np.random.default_rng([seed, 3])
    found = bootstrap_difference(ratios[0], ratios[1], data.questions, rng=rng, resamples=_RESAMPLES)
    return HeldOut(
        precision=float(data.correct[kept].mean()),
        reference_precision=float(data.correct[alone].mean()),
        low=found.low,
        high=found.high,
        kept=int(kept.sum()),
        reference_kept=int(alone.sum()),
        share_of_cost=cost / reference_cost,
    )


def plan_cascade(
    data: StagedScores,
    agents: Sequence[tuple[str, ...]],
    *,
    cut: float = 0.5,
    precision_given_up: float = 0.0,
    kept_given_up: float = 0.0,
    folds: int = 5,
    seed: int = 0,
    scale: tuple[float, float] = (1.0, 5.0),
) -> CascadePlan:
    """Curves for every stage, and the cheapest band that gives up no more than allowed.

    Args:
        agents: of each stage, in the order asked.
        cut: probability that what is kept must exceed.
        precision_given_up, kept_given_up: see :func:`choose_band`.

    Raises:
        InputError: too few judgments or questions, or stages whose scores say nothing for correctness.
    """
    stages = curves(data, agents)
    for number, stage in enumerate(stages):
        if not says_something(data.scores[:, number], data.correct):
            raise InputError(
                f"the scores of {', '.join(stage.agents)} do not rise with correctness beyond chance: such a stage "
                "cannot decide anything; choose other agents"
            )
    probability = out_of_fold(data, folds=folds, seed=seed)
    band = choose_band(
        probability,
        data.correct,
        data.costs,
        cut,
        precision_given_up=precision_given_up,
        kept_given_up=kept_given_up,
    )
    run = run_cascade(probability, data.costs, band, cut)
    reference = last_stage_alone(probability, data.costs, cut)
    provenance = CascadeProvenance(
        judgments=len(data.correct),
        questions=len(set(data.questions)),
        left_out=data.left_out,
        data_digest=digest([data.scores.tolist(), data.correct.tolist(), list(data.questions)]),
        seed=seed,
        folds=folds,
        precision=run.precision(data.correct),
        kept=int(run.accepted.sum()),
        reference_precision=reference.precision(data.correct),
        reference_kept=int(reference.accepted.sum()),
        share_of_cost=float(run.cost.sum() / reference.cost.sum()),
        cost_unit=data.cost_unit,
        asked=tuple(int((run.decided_by >= stage).sum()) for stage in range(len(agents))),
        held_out=held_out(
            data,
            cut,
            precision_given_up=precision_given_up,
            kept_given_up=kept_given_up,
            folds=folds,
            seed=seed,
        ),
    )
    return CascadePlan(stages=stages, band=band, cut=cut, scale=scale, provenance=provenance)
