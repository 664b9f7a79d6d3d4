"""How often a guaranteed threshold on grades breaks its promise, in a made population whose truth is known.

    python benchmarks/grade_guarantee.py [--fits 20] [--draws 100] [--delta .1] [--seed 0]

Six judges grade the responses of 12,000 questions from 1 to 5. Each adds its own severity and noise to people's
grade; two of them share half of their noise, and one mostly gives 4. A grade is right where it equals people's grade.
For each fit a calibration is fitted on 200 questions drawn anew; for each draw, a threshold is sought on 300 other
questions with all their grades; the precision of all kept grades is then known from all questions left. The promise
is broken where that precision is below the target. The rate must be at most delta, up to its standard error,
which takes the fits as the units. Mean coverage is over all draws, an abstention counting 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.table import SignalTable, build_table
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import Grade, Item, Judgment
from metajudge.vetting.looking import ReferenceScores

TARGETS = (0.85, 0.9)
NOISE = {"ash": 0.45, "birch": 0.5, "cedar": 0.7, "elm": 0.7, "fir": 1.0, "oak": 0.6}
SEVERITY = {"ash": 0.0, "birch": -0.3, "cedar": 0.2, "elm": 0.2, "fir": 0.5, "oak": 0.0}
COPIES = ("cedar", "elm")
GENEROUS = "oak"
FIT_QUESTIONS, THRESHOLD_QUESTIONS = 200, 300


@dataclass(frozen=True, slots=True)
class Broken:
    """What became of one target's thresholds.

    Attributes:
        target: precision promised.
        rate: share of the draws whose threshold has a lower precision than the target.
        error: its standard error over fits.
        coverage: mean share kept.
        abstained: share of the draws without a threshold.
    """

    target: float
    rate: float
    error: float
    coverage: float
    abstained: float


def population(questions: int, seed: int) -> Iterator[Judgment]:
    """Grades of six judges on one response to each question, with people's grade as label."""
    rng = np.random.default_rng([seed, 1])
    for number in range(questions):
        label = _grade(rng.normal(3.2, 1.2))
        shared = rng.normal()
        item = Item(id=f"i{number}", question=f"question {number}", responses={"A": "text"}, label=Grade(label))
        for judge, noise in NOISE.items():
            own = rng.normal()
            mixed = (shared + own) / np.sqrt(2) if judge in COPIES else own
            grade = _grade(label + SEVERITY[judge] + noise * mixed)
            if judge == GENEROUS and rng.random() < 0.6:
                grade = 4.0
            yield Judgment(id=f"{number}/{judge}", item=item, judge=judge, verdict=Grade(grade))


def _grade(value: float) -> float:
    return float(np.clip(round(value), 1, 5))


def true_precision(scores: Floats, correct: Bools, questions: Indices, threshold: float) -> tuple[float, float]:
    """Precision and coverage of a threshold for one judgment drawn from each question."""
    kept = scores >= threshold - 1e-9
    share = 1 / np.bincount(questions)[questions]
    held = float(share[kept].sum())
    return (float(share[kept & correct].sum()) / held if held else 1.0), held / float(share.sum())


def study(fits: int, draws: int, delta: float, seed: int, questions: int = 12_000) -> list[Broken]:
    """One result a target."""
    table = build_table(population(questions, seed), ["peers", "scale"])
    _, number = np.unique(np.array(table.questions), return_inverse=True)
    broken = {target: np.zeros((fits, draws)) for target in TARGETS}
    coverage, without = dict.fromkeys(TARGETS, 0.0), dict.fromkeys(TARGETS, 0)
    for fit in range(fits):
        rng = np.random.default_rng([seed, 2, fit])
        order = rng.permutation(number.max() + 1)
        chosen = np.isin(number, order[:FIT_QUESTIONS])
        rest = table.select(~chosen)
        scores, known = _scores(table.select(chosen), rest, fit)
        _, place = np.unique(number[~chosen], return_inverse=True)
        rows_of = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        for draw in range(draws):
            picked = rng.integers(0, len(rows_of), THRESHOLD_QUESTIONS)
            rows = np.concatenate([rows_of[one] for one in picked])
            names = [f"{at}" for at, one in enumerate(picked) for _ in rows_of[one]]
            for target in TARGETS:
                made = guaranteed_threshold(
                    scores[rows],
                    rest.correct[rows],
                    names,
                    target=target,
                    delta=delta,
                    reference=known.scores,
                    reference_questions=known.questions,
                )
                if not isinstance(made, Guarantee):
                    without[target] += 1
                    continue
                precision, kept = true_precision(scores, rest.correct, place, made.threshold)
                broken[target][fit, draw] = precision < target
                coverage[target] += kept
    every = fits * draws
    return [
        Broken(
            target,
            float(broken[target].mean()),
            float(broken[target].mean(axis=1).std(ddof=1) / np.sqrt(fits)) if fits > 1 else 0.0,
            coverage[target] / every,
            without[target] / every,
        )
        for target in TARGETS
    ]


def _scores(fit: SignalTable, rest: SignalTable, seed: int) -> tuple[Floats, ReferenceScores]:
    """P(correct) of the judgments not fitted on, and out of fold of those fitted on."""
    fitted = fit_calibration(fit, pooled=True, seed=seed, repeats=1)
    values: Floats = np.ma.getdata(fitted.probabilities(rest).probabilities).astype(np.float64)
    return np.round(values, 9), ReferenceScores.of_fit(fitted, ())


def main(
    fits: Annotated[int, typer.Option(min=1)] = 20,
    draws: Annotated[int, typer.Option(min=1)] = 100,
    delta: Annotated[float, typer.Option()] = 0.1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Measure violations and coverage of guaranteed thresholds on grades."""
    print("| target | broken (standard error) | allowed | mean coverage | abstained |")
    print("| --- | --- | --- | --- | --- |")
    for one in study(fits, draws, delta, seed):
        print(
            f"| {one.target:g} | {100 * one.rate:.1f} % ({100 * one.error:.1f}) | {100 * delta:g} % | "
            f"{100 * one.coverage:.0f} % | {100 * one.abstained:.0f} % |"
        )


if __name__ == "__main__":
    typer.run(main)
