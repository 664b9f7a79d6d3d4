"""The model of the item against other models of P(judgment correct), out of fold by question, on recorded sets.

    python benchmarks/model_study.py --data DIR [--set NAME]... [--json OUT]

DIR contains the folders of :data:`~benchmarks.kinds_study.SETS` and ``llmbar`` (any may be missing). The model of the
item is fitted as ``metajudge calibrate fit`` does it (shared or per judge, penalty chosen inside every fold). Beside
it, on the same folds and the same signals:

- ``one model a judge`` and ``shared``: both ways of sharing.
- ``rows``: L2 logistic regression on the row's signals, categories and judges, standardised, C = .1.
- ``boosting``: gradient boosted trees on the same.
- ``isotonic``: isotonic regression on the strongest single score (the consensus's log-odds).
- ``softmax``: of the best of four: one score for each candidate, from the votes for it and their products with the
  category, and the share of its exponential among the item's candidates; L2, strength chosen on the other folds.
- ``recalibrated``: the shared model of the item, its log-odds recalibrated by a logistic curve fitted on the other
  folds' out-of-fold probabilities.

Printed for each: log loss, expected calibration error (ten bins of equal size, in points), per cent right among the
best 60 and 40 %; and the 95 % interval of the difference to the model of the item, questions resampled 1,000 times (200
times above 10,000 judgments). A positive difference of log loss or calibration error, and a negative one of precision,
speaks for the model of the item.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.optimize import minimize
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.folds import question_folds
from metajudge.calibration.item_model import MOST_JUDGES, PENALTIES
from metajudge.calibration.quality import log_losses, precision_at
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats, Indices

from .kinds_study import SETS, Recorded

ALL_SETS = {**SETS, "LLMBar": Recorded("llmbar")}
ITEM = "item model"
FOLDS = 5
BINS = 10
RESAMPLES = 1000
EDGE = 1e-6

Estimator = Callable[[Floats, Bools, Floats], Floats]
"""(training matrix, training outcomes, test matrix) -> probabilities of the test rows."""


def calibration_error(probabilities: Floats, correct: Bools) -> float:
    """Mean absolute difference of mean probability and share of right ones over ten bins of equal size, in points."""
    bins = np.array_split(np.argsort(probabilities, kind="stable"), BINS)
    gaps = [abs(probabilities[at].mean() - correct[at].mean()) * len(at) for at in bins if len(at)]
    return 100 * float(np.sum(gaps)) / len(correct)


def figures(probabilities: Floats, correct: Bools) -> dict[str, float]:
    """The measures of one set of probabilities."""
    return {
        "log loss": float(log_losses(probabilities, correct).mean()),
        "ECE": calibration_error(probabilities, correct),
        "best 60 %": 100 * precision_at(probabilities, correct, 0.6),
        "best 40 %": 100 * precision_at(probabilities, correct, 0.4),
    }


def matrix_of(table: SignalTable) -> Floats:
    """[n, columns] signals (absent ones 0, with an indicator), categories and judges, standardised."""
    columns = [np.where(one.present, one.values, 0.0) for one in table.columns.values()]
    columns += [~one.present * 1.0 for one in table.columns.values() if not one.present.all()]
    for labels in (table.categories, table.judges, table.sides):
        names = sorted(set(labels))
        columns += [np.array([label == name for label in labels], dtype=float) for name in names if len(names) > 1]
    found = np.column_stack(columns)
    spread = found.std(axis=0)
    return np.asarray((found[:, spread > 0] - found.mean(axis=0)[spread > 0]) / spread[spread > 0])


def by_rows(train: Floats, correct: Bools, test: Floats) -> Floats:
    """L2 logistic regression."""
    fitted = LogisticRegression(C=0.1, solver="newton-cholesky", max_iter=300).fit(train, correct)
    return np.asarray(fitted.predict_proba(test)[:, 1])


def by_boosting(train: Floats, correct: Bools, test: Floats) -> Floats:
    """Gradient boosted trees, small ones for small data."""
    large = len(train) > 10_000
    fitted = HistGradientBoostingClassifier(
        max_iter=100 if large else 30,
        learning_rate=0.1,
        max_leaf_nodes=15 if large else 6,
        min_samples_leaf=30,
        l2_regularization=5,
        early_stopping=False,
        random_state=0,
    ).fit(train, correct)
    return np.asarray(fitted.predict_proba(test)[:, 1])


def by_isotonic(train: Floats, correct: Bools, test: Floats) -> Floats:
    """Isotonic regression on the first column, between .02 and .98."""
    fitted = IsotonicRegression(y_min=0.02, y_max=0.98, out_of_bounds="clip").fit(train[:, 0], correct)
    return np.asarray(fitted.predict(test[:, 0]))


def by_curve(train: Floats, correct: Bools, test: Floats) -> Floats:
    """A logistic curve, hardly penalised."""
    fitted = LogisticRegression(C=100.0).fit(train, correct)
    return np.asarray(fitted.predict_proba(test)[:, 1])


@dataclass(frozen=True, slots=True)
class Choices:
    """The candidates of every item that has judgments, for the model of the choice.

    Attributes:
        features: [candidates, features] votes and their products with the category.
        item: [candidates] number of the item.
        right: [candidates] whether it is the right one; of an item whose right one no judgment chose, one of those.
        often: [candidates] how many candidates it stands for: those of an item that no judgment chose are alike.
        of_row: [n] the candidate that each judgment chose.
        questions: [items].
    """

    features: Floats
    item: Indices
    right: Bools
    often: Floats
    of_row: Indices
    questions: tuple[str, ...]

    @classmethod
    def of(cls, table: SignalTable, candidates: int) -> "Choices":
        """Judgments of an item that have the same votes and outcome chose the same candidate."""
        names = [name for name in sorted(table.columns) if name.startswith("voices.")]
        votes = np.column_stack(
            [np.where(one.present, one.values, 0.0) for one in map(table.columns.get, names) if one]
        )
        ids, place = np.unique(np.array(table.item_ids), return_inverse=True)
        key = np.column_stack([place.ravel(), table.correct, votes])
        chosen, first, of_row = np.unique(key, axis=0, return_index=True, return_inverse=True)
        item, right = chosen[:, 0].astype(np.intp), chosen[:, 1] > 0
        known = np.bincount(item[right], minlength=len(ids)) > 0
        left = np.maximum(candidates - np.bincount(item, minlength=len(ids)), ~known).astype(np.float64)
        one_of = np.array([np.flatnonzero(place.ravel() == at)[0] for at in range(len(ids))])
        rows = np.concatenate([first, one_of])
        votes = np.concatenate([votes[first], np.full((len(ids), len(names)), -1.0)])
        categories = np.array(table.categories, dtype=object)[rows]
        products = [votes * (categories == name)[:, None] for name in sorted(set(table.categories))]
        return cls(
            np.column_stack([votes, *products]).astype(np.float64),
            np.concatenate([item, np.arange(len(ids))]),
            np.concatenate([right, ~known]),
            np.concatenate([np.ones(len(item)), left]),
            of_row.ravel(),
            tuple(np.array(table.questions, dtype=object)[one_of].tolist()),
        )

    def shares(self, weights: Floats) -> Floats:
        """[candidates] the chance to be the right one, of a candidate that stands for several each one's."""
        scores = np.exp(np.clip(self.features @ weights, -30, 30))
        return np.asarray(scores / np.bincount(self.item, self.often * scores)[self.item])

    def fitted(self, penalty: float, train: Bools) -> Floats:
        """Weights with the least penalised loss on some items [items]."""
        used, right = train[self.item], self.right

        def loss(weights: Floats) -> tuple[float, Floats]:
            share = self.shares(weights)
            gaps = self.often * share * used - (right & used)
            value = -np.log(np.maximum(share[right & used], EDGE)).sum() + weights @ weights / (2 * penalty)
            return float(value), self.features.T @ gaps + weights / penalty

        return np.asarray(minimize(loss, np.zeros(self.features.shape[1]), jac=True, method="L-BFGS-B").x)


def by_softmax(table: SignalTable, candidates: int = 4, seed: int = 0) -> Floats:
    """[n] out of fold: the chance that the candidate chosen is the right one."""
    choices = Choices.of(table, candidates)
    fold = question_folds(choices.questions, FOLDS, [seed, 0])
    found = np.zeros((len(PENALTIES), len(choices.item)))
    for at, penalty in enumerate(PENALTIES):
        for part in range(FOLDS):
            test = (fold == part)[choices.item]
            found[at, test] = choices.shares(choices.fitted(penalty, fold != part))[test]
    by_row, of_fold = found[:, choices.of_row], fold[choices.item][choices.of_row]
    losses = np.array([log_losses(one, table.correct) for one in by_row])
    best = [int(np.argmin(losses[:, of_fold != part].sum(axis=1))) for part in range(FOLDS)]
    return np.asarray(by_row[np.array(best)[of_fold], np.arange(len(of_fold))])


def cross_fitted(matrix: Floats, table: SignalTable, estimator: Estimator, seed: int = 0) -> Floats:
    """[n] each fold from the others."""
    fold = question_folds(table.questions, FOLDS, [seed, 0])
    found = np.zeros(len(table))
    for part in range(FOLDS):
        train, test = fold != part, fold == part
        found[test] = estimator(matrix[train], table.correct[train], matrix[test])
    return found


def models(table: SignalTable) -> Iterator[tuple[str, Floats, float]]:
    """Name, out-of-fold probabilities and CPU seconds of every model; the model of the item first."""

    def timed(name: str, made: Callable[[], Floats]) -> tuple[str, Floats, float]:
        start = time.process_time()
        return name, made(), time.process_time() - start

    yield timed(ITEM, lambda: out_of_fold(table))
    shared = timed("shared", lambda: out_of_fold(table, pooled=True))
    if 1 < len(set(table.judges)) <= MOST_JUDGES:
        yield shared
        yield timed("one model a judge", lambda: out_of_fold(table, pooled=False))
    odds = logit(np.clip(shared[1], EDGE, 1 - EDGE))[:, None]
    yield timed("recalibrated", lambda: cross_fitted(odds, table, by_curve))
    if table.kind == "ranking":
        yield timed("softmax", lambda: by_softmax(table))
    matrix = matrix_of(table)
    yield timed("rows", lambda: cross_fitted(matrix, table, by_rows))
    yield timed("boosting", lambda: cross_fitted(matrix, table, by_boosting))
    consensus = table.columns.get("consensus.log_odds")
    if consensus is not None:
        yield timed("isotonic", lambda: cross_fitted(consensus.values[:, None], table, by_isotonic))


def differences(one: Floats, item: Floats, table: SignalTable) -> dict[str, tuple[float, float]]:
    """95 % intervals of a model's figures less the item model's, whole questions resampled."""
    names, place = np.unique(np.array(table.questions, dtype=str), return_inverse=True)
    rows = np.split(np.argsort(place.ravel(), kind="stable"), np.cumsum(np.bincount(place.ravel()))[:-1])
    rng, drawn = np.random.default_rng(0), []
    for _ in range(RESAMPLES if len(table) < 10_000 else RESAMPLES // 5):
        at = np.concatenate([rows[number] for number in rng.integers(0, len(names), len(names))])
        mine, theirs = (figures(values[at], table.correct[at]) for values in (one, item))
        drawn.append([mine[name] - theirs[name] for name in mine])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return {name: (float(low[at]), float(high[at])) for at, name in enumerate(mine)}


def study(data: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """One result for each set that is there."""
    for name in names:
        one = ALL_SETS[name]
        if not (data / one.folder).is_dir():
            continue
        records = [judgment for judgment in open_judgments([str(data / one.folder)]).all() if one.evidence(judgment)]
        table = build_table(records, None, report=one.report)
        table = table.select(table.labelled).sorted()
        found: dict[str, Any] = {"set": name, "n": len(table), "questions": len(set(table.questions)), "models": []}
        with threadpool_limits(limits=1):
            made = list(models(table))
        item = made[0][1]
        for model, probabilities, seconds in made:
            apart = None if model == ITEM else differences(probabilities, item, table)
            row = {"model": model, **figures(probabilities, table.correct), "intervals": apart, "cpu_s": seconds}
            found["models"].append(row)
        yield found


def lines(found: dict[str, Any]) -> Iterator[str]:
    """A table in Markdown."""
    yield f"\n{found['set']}: {found['n']:,} judgments of {found['questions']:,} questions"
    yield "| model | log loss | ECE | best 60 % | best 40 % | CPU s |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in found["models"]:
        cells = []
        for name, digits in (("log loss", 3), ("ECE", 1), ("best 60 %", 1), ("best 40 %", 1)):
            between = row["intervals"] and row["intervals"][name]
            apart = "" if not between else f" ({between[0]:+.{digits}f} to {between[1]:+.{digits}f})"
            cells.append(f"{row[name]:.{digits}f}{apart}")
        yield f"| {row['model']} | {' | '.join(cells)} | {row['cpu_s']:.1f} |"


def main(
    data: Annotated[Path, typer.Option("--data", metavar="DIR")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Only sets with this in their name.")] = None,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Compare the model of the item with other models, out of fold by question."""
    names = [name for name in ALL_SETS if not sets or any(part in name for part in sets)]
    results = []
    for found in study(data, names):
        results.append(found)
        for line in lines(found):
            print(line, flush=True)
    if out:
        out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
