"""Weights of a panel's agents, fitted to labels by category."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from metajudge.calibration.design import Bools, Floats
from metajudge.calibration.folds import question_folds
from metajudge.calibration.quality import auc, log_losses
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError

LEAST_WEIGHT = 0.01
"""No agent is weighed less: a weight of 0 would take it off the panel."""

SHRINKAGE = 5.0
"""Penalty on the squared distance of standardised coefficients from those they are shrunk to."""

MIN_JUDGMENTS = 30
"""A category with fewer labelled judgments keeps the weights of all together."""


@dataclass(frozen=True, slots=True)
class CategoryWeights:
    """Weights for one category, None for all together.

    Attributes:
        weights: agent -> weight; positive, together 1.
        n: judgments fitted on.
        questions: questions among them.
        log_loss: out of fold, of a logistic function of the weighted average.
        equal_log_loss: the same with equal weights.
        auc: out of fold, of the weighted average; None where one class is missing.
        equal_auc: of the plain average.
        fitted: whether fitted weights did better out of fold; if not, the weights are equal (or all categories').
    """

    category: str | None
    weights: dict[str, float]
    n: int
    questions: int
    log_loss: float
    equal_log_loss: float
    auc: float | None
    equal_auc: float | None
    fitted: bool


def fit_weights(table: SignalTable, *, seed: int = 0, folds: int = 5) -> list[CategoryWeights]:
    """Fits agents' weights over all categories and for each of them, out of fold by question.

    The weights are the non-negative coefficients of a logistic regression of correctness on the agents' scores,
    scaled to 1, and never below .01; those of all categories are shrunk to equal weights, those of a category to all
    categories'. Where that does not lower the log loss on questions not fitted on, the weights stay what they were
    shrunk to.

    Args:
        table: with the signal ``agents``; rows without a label or without a score of every agent are left out.
        seed: of the folds.
        folds: by question.

    Raises:
        InputError: no agents' scores, a single agent, no row that all of them scored, one class only, or fewer
            questions than folds.
    """
    agents, scores, rows = _scores(table)
    if rows.correct.all() or not rows.correct.any():
        raise InputError(f"all {len(rows)} labelled judgments are {'right' if rows.correct.all() else 'wrong'}")
    fold = question_folds(rows.questions, folds, [seed])
    equal = np.full(len(agents), 1 / len(agents))
    overall = _fit_one(None, agents, scores, rows, fold, equal)
    base = np.array(list(overall.weights.values()))
    found = [overall]
    for category in sorted(set(rows.categories) - {""}):
        mine = np.array(rows.categories) == category
        part = rows.select(mine)
        enough = mine.sum() >= MIN_JUDGMENTS and len(set(part.questions)) >= folds
        if len(set(rows.categories)) > 1 and enough and part.correct.any() and not part.correct.all():
            found.append(_fit_one(category, agents, scores[mine], part, fold[mine], base))
    return found


def to_toml(found: Sequence[CategoryWeights]) -> str:
    """Fitted weights as part of a panel file: weights of all together as a comment, a route for each category."""
    lines = []
    for one in found:
        figures = f"out-of-fold log loss {one.log_loss:.4f}, equal weights {one.equal_log_loss:.4f}"
        note = "" if one.fitted else "; fitting did not help"
        lines.append(
            f"# {one.category or 'all categories'}: {one.n} judgments of {one.questions} questions, {figures}{note}"
        )
        if one.category is None:
            lines += [f"#   agent {json.dumps(agent)}: weight = {value:.4f}" for agent, value in one.weights.items()]
        else:
            lines.append(f"[routes.{json.dumps(one.category)}.agent_weights]")
            lines += [f"{json.dumps(agent)} = {value:.4f}" for agent, value in one.weights.items()]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _scores(table: SignalTable) -> tuple[list[str], Floats, SignalTable]:
    names = [name for name in table.of_group("agents") if name != "agents.mean"]
    if len(names) < 2:
        raise InputError(f"weights take two agents at least; there {'is one' if names else 'are none'} with scores")
    every = np.all([table.columns[name].present for name in names], axis=0) & table.labelled
    if not every.any():
        raise InputError(
            "no labelled judgment was scored by every agent: give assessments of labelled judgments, made without "
            "early exit"
        )
    rows = table.select(every)
    return (
        [name.removeprefix("agents.") for name in names],
        np.column_stack([rows.columns[name].values for name in names]),
        rows,
    )


def _fit_one(
    category: str | None,
    agents: Sequence[str],
    scores: Floats,
    rows: SignalTable,
    fold: "np.ndarray[tuple[int], np.dtype[np.intp]]",
    base: Floats,
) -> CategoryWeights:
    equal = np.full(len(agents), 1 / len(agents))
    by_weights: dict[str, Floats] = {}
    averages = np.zeros(len(rows))
    for name, start in (("equal", equal), ("base", base), ("fitted", base)):
        out = np.zeros(len(rows))
        for part in np.unique(fold):
            train, test = fold != part, fold == part
            weights = _weights(scores[train], rows.correct[train], base) if name == "fitted" else start
            out[test] = _probabilities(scores @ weights, rows.correct, train, test)
            if name == "fitted":
                averages[test] = (scores @ weights)[test]
        by_weights[name] = out
    loss = {name: float(log_losses(values, rows.correct).mean()) for name, values in by_weights.items()}
    better = loss["fitted"] < loss["base"]
    chosen = _weights(scores, rows.correct, base) if better else base
    return CategoryWeights(
        category=category,
        weights={agent: float(value) for agent, value in zip(agents, chosen, strict=True)},
        n=len(rows),
        questions=len(set(rows.questions)),
        log_loss=loss["fitted" if better else "base"],
        equal_log_loss=loss["equal"],
        auc=auc(averages if better else scores @ base, rows.correct),
        equal_auc=auc(scores @ equal, rows.correct),
        fitted=better,
    )


def _weights(scores: Floats, correct: Bools, base: Floats) -> Floats:
    """Positive weights that sum to 1, from coefficients shrunk to the direction of ``base``."""
    scale = max(float(scores.std()), 1e-9)
    centred = (scores - scores.mean(axis=0)) / scale
    sign = np.where(correct, 1.0, -1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        intercept, steepness, coefficients = parameters[0], parameters[1], parameters[2:]
        margin = sign * (intercept + centred @ coefficients)
        away = coefficients - steepness * base
        slope = -sign * expit(-margin)
        gradient = centred.T @ slope + 2 * SHRINKAGE * away
        value = float(np.logaddexp(0, -margin).sum() + SHRINKAGE * away @ away)
        return value, np.concatenate([[slope.sum(), -2 * SHRINKAGE * away @ base], gradient])

    start = np.concatenate([[0.0, 1.0], base])
    bounds = [(None, None), (1e-6, None), *[(0.0, None)] * len(base)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[2:]
    if found.sum() <= 0:
        return base
    weights = np.maximum(found / found.sum(), LEAST_WEIGHT)
    return np.asarray(weights / weights.sum())


def _probabilities(average: Floats, correct: Bools, train: Bools, test: Bools) -> Floats:
    from metajudge.calibration.estimators import logistic

    right = correct[train]
    if right.all() or not right.any():
        return np.full(int(test.sum()), (right.sum() + 1) / (len(right) + 2))
    scale = max(float(average[train].std()), 1e-9)
    model = logistic(((average - average[train].mean()) / scale)[train][:, None], right, 10.0)
    return model.probabilities(((average - average[train].mean()) / scale)[test][:, None])
