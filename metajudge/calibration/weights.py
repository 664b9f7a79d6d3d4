"""Weights of a panel's agents, fitted to labels by category."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from metajudge.calibration.folds import question_folds
from metajudge.calibration.quality import Figure, auc, log_losses
from metajudge.calibration.row_columns import SPREAD
from metajudge.calibration.table import SignalTable
from metajudge.errors import ConfigurationError, InputError
from metajudge.providers.families import family_of
from metajudge.providers.spec import parse_agent_spec
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.bootstrap import bootstrap_mean

LEAST_WEIGHT = 0.01
"""No agent is weighed less: a weight of 0 would take it off the panel."""

SHRINKAGE = 5.0
"""Penalty on the squared distance of standardised coefficients from those they are shrunk to."""

_DRAWS = re.compile(r"mean of (\d+) draws")

PROVIDER_OF = {"anthropic": "anthropic", "gemini": "gemini", "mistral": "mistral", "deepseek": "deepseek"}
"""Providers by a model's family; others are taken for OpenAI's."""

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
        gain: equal_log_loss less log_loss, with a 95 % interval from resampled questions; below 0 fitting harmed.
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
    gain: Figure
    auc: float | None
    equal_auc: float | None
    fitted: bool


def fit_weights(table: SignalTable, *, seed: int = 0, folds: int = 5) -> list[CategoryWeights]:
    """Fits agents' weights over all categories and for each of them, out of fold by question.

    The weights are the non-negative coefficients of a logistic regression of correctness on the agents' scores,
    scaled to 1, and never below .01; those of all categories are shrunk to equal weights, those of a category to all
    categories'. Where that does not lower the log loss on questions not fitted on, the weights stay what they were
    shrunk to. For the figures all of this is done anew without each fold, what is shrunk to included.

    Args:
        table: with the signal ``agents``; rows without a label or without a score of every agent are left out.
        seed: of the folds and of resampling.
        folds: by question.

    Raises:
        InputError: no agents' scores, a single agent, no row that all of them scored, one class only, or fewer
            questions than folds.
    """
    agents, scores, rows = _scores(table)
    if rows.correct.all() or not rows.correct.any():
        raise InputError(
            f"all {len(rows)} judgments that are labelled and scored are {'right' if rows.correct.all() else 'wrong'}: "
            "weights are learnt from both right and wrong ones"
        )
    fold = question_folds(rows.questions, folds, [seed])
    with threadpool_limits(limits=1):
        return _all_weights(agents, scores, rows, fold, folds, seed)


def _all_weights(
    agents: Sequence[str], scores: Floats, rows: SignalTable, fold: Indices, folds: int, seed: int
) -> list[CategoryWeights]:
    # What each fold's weights are shrunk to, from the rows outside it; None means the final fit on all rows.
    every = np.ones(len(rows), dtype=bool)
    equal = np.full(len(agents), 1 / len(agents))
    parts = [*range(folds), None]
    overall = {
        part: _fitted(scores, rows.correct, fold, fold != part if part is not None else every, equal) for part in parts
    }
    found = [_summary(None, agents, scores, rows, fold, overall, equal, seed)]
    for category in sorted(set(rows.categories) - {""}):
        mine = np.array(rows.categories) == category
        own = rows.select(mine)
        enough = mine.sum() >= MIN_JUDGMENTS and len(set(own.questions)) >= folds
        if len(set(rows.categories)) > 1 and enough and own.correct.any() and not own.correct.all():
            weights = {
                part: _fitted(scores, rows.correct, fold, mine & (fold != part if part is not None else every), base)
                for part, base in overall.items()
            }
            found.append(_summary(category, agents, scores[mine], own, fold[mine], weights, overall[None], seed))
    return found


def to_toml(found: Sequence[CategoryWeights], models: Mapping[str, str] | None = None) -> str:
    """Fitted weights as part of a panel file: the agents with the weights of all together, a route for each category.

    Args:
        found: see :func:`fit_weights`.
        models: agent -> model as recorded; given, each agent is a complete table. A recorded model that names no
            provider gets one by its name, to be checked by the reader.
    """
    lines = []
    for one in found:
        lines += [f"# {one.category or 'all categories'}: {_figures(one)}"]
        if one.category is not None:
            lines.append(f"[routes.{json.dumps(one.category, ensure_ascii=False)}.agent_weights]")
            lines += [f"{json.dumps(agent, ensure_ascii=False)} = {value:.4f}" for agent, value in one.weights.items()]
        elif models is None:
            lines += [f"#   agent {json.dumps(agent)}: weight = {value:.4f}" for agent, value in one.weights.items()]
        else:
            lines += ['strategy = "weighted_average"', ""]
            for agent, value in one.weights.items():
                lines += _agent(agent, models[agent], value)
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _figures(one: CategoryWeights) -> str:
    gain = f"{one.gain.estimate:+.4f}"
    if one.gain.low is not None and one.gain.high is not None:
        gain += f" (95 %: {one.gain.low:+.4f} to {one.gain.high:+.4f}, questions resampled)"
    note = "" if one.fitted else "; fitting did not help"
    return (
        f"{one.n} judgments of {one.questions} questions, out-of-fold log loss {one.log_loss:.4f}, equal weights "
        f"{one.equal_log_loss:.4f}, gain {gain}{note}"
    )


def _agent(name: str, model: str, weight: float) -> list[str]:
    plain, _, how = model.partition(" (")
    try:
        parse_agent_spec(plain)
        spec, note = plain, ""
    except ConfigurationError:
        provider = "openrouter" if "/" in plain else PROVIDER_OF.get(family_of(plain), "openai")
        spec, note = f"{provider}:{plain}", "   # the provider is a guess by the model's name: check it"
    draws = _DRAWS.search(how)
    return [
        "[[agents]]",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        f"model = {json.dumps(spec, ensure_ascii=False)}{note}",
        f"weight = {weight:.4f}",
        *(['score = "expected"'] if "expected" in how else []),
        *([f"samples = {draws[1]}"] if draws else []),
        "",
    ]


def _scores(table: SignalTable) -> tuple[list[str], Floats, SignalTable]:
    names = [name for name in table.of_group("agents") if name != "agents.mean" and not name.endswith(SPREAD)]
    if len(names) < 2:
        raise InputError(f"weights need at least two agents; there {'is one' if names else 'are none'} with scores")
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


def _fitted(scores: Floats, correct: Bools, fold: Indices, train: Bools, base: Floats) -> Floats:
    """Weights from the training rows: fitted where that helps on folds left out of them, else ``base``."""
    rows = np.flatnonzero(train)
    inner, right = fold[rows], correct[rows]
    if len(np.unique(inner)) < 2 or right.all() or not right.any():
        return base
    losses = {"fitted": 0.0, "base": 0.0}
    for part in np.unique(inner):
        learn, test = inner != part, inner == part
        for name in losses:
            weights = _weights(scores[rows][learn], right[learn], base) if name == "fitted" else base
            predicted = _probabilities(scores[rows] @ weights, right, learn, test)
            losses[name] += float(log_losses(predicted, right[test]).sum())
    return _weights(scores[rows], right, base) if losses["fitted"] < losses["base"] else base


def _summary(
    category: str | None,
    agents: Sequence[str],
    scores: Floats,
    rows: SignalTable,
    fold: Indices,
    weights: Mapping[int | None, Floats],
    base: Floats,
    seed: int,
) -> CategoryWeights:
    """The weights fitted on all rows (under None), with the figures of those fitted without each fold."""
    equal = np.full(len(agents), 1 / len(agents))
    averages, by_weights, by_equal = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    for part in np.unique(fold):
        train, test = fold != part, fold == part
        average = scores @ weights[int(part)]
        averages[test] = average[test]
        by_weights[test] = _probabilities(average, rows.correct, train, test)
        by_equal[test] = _probabilities(scores @ equal, rows.correct, train, test)
    losses, equal_losses = log_losses(by_weights, rows.correct), log_losses(by_equal, rows.correct)
    gain = bootstrap_mean(equal_losses - losses, rows.questions, rng=np.random.default_rng([seed, 13]))
    return CategoryWeights(
        category=category,
        weights={agent: float(value) for agent, value in zip(agents, weights[None], strict=True)},
        n=len(rows),
        questions=len(set(rows.questions)),
        log_loss=float(losses.mean()),
        equal_log_loss=float(equal_losses.mean()),
        gain=Figure(estimate=gain.estimate, low=gain.low, high=gain.high),
        auc=auc(averages, rows.correct),
        equal_auc=auc(scores @ equal, rows.correct),
        fitted=not np.array_equal(weights[None], base),
    )


def _weights(scores: Floats, correct: Bools, base: Floats) -> Floats:
    """Positive weights that sum to 1, from coefficients shrunk to the direction of ``base``."""
    from scipy.optimize import minimize

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
    from metajudge.calibration.item_model import logistic

    right = correct[train]
    if right.all() or not right.any():
        return np.full(int(test.sum()), (right.sum() + 1) / (len(right) + 2))
    scale = max(float(average[train].std()), 1e-9)
    matrix = ((average - average[train].mean()) / scale)[:, None]
    (model,) = logistic(matrix[train], right, [10.0], np.ones(len(right)))
    return model.probabilities(matrix[test])
