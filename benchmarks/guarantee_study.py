"""How guaranteed thresholds do on recorded judgments: coverage, realised precision, abstentions, by procedure.

    python benchmarks/guarantee_study.py DATA_DIR [--splits 200] [--protocol split|cross] [--json OUT]

DATA_DIR holds JudgeBench's recorded judgments. With ``split`` the questions are divided into three parts: a calibration
is chosen by cross-validated log loss and fitted on the first, the threshold is sought on the second with one seeded
judgment a question, and its precision and coverage are measured on the third, likewise. With ``cross`` probabilities
are cross-fitted, the threshold is sought on all questions, and coverage and precision are those of the same questions:
many more labels for each step, but nothing is proven and the precision is flattered. Procedures:

- ``single``: one start, a fixed sequence from the most selective threshold that can pass to the least;
- ``bonferroni``: four starts, each a fixed sequence with a quarter of delta, nothing passed on;
- ``reference``: four starts whose shares pass on (fallback), on the same quantiles of the first part's scores;
- ``default``: the same on the grid that needs no reference, even in log-odds around the target;
- ``planned``: starts where the first part's probabilities make a pass most likely.

An abstention counts as coverage 0. The true precision is unknown here: ``below`` is the share of splits whose precision
on the third part is below the target, which the noise of a few dozen questions alone makes large; ``clearly_below``
asks for an exact one-sided binomial test at .05. The proof with known truth is in tests/calibration/test_guarantee.py.
Splits overlap, so the spread over them is not a standard error.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from scipy.special import bdtr
from threadpoolctl import threadpool_limits

from metajudge.calibration.candidates import Candidate, Workbench
from metajudge.calibration.design import BaseMatrix, Bools, Floats, Indices, varying_factors
from metajudge.calibration.folds import question_folds
from metajudge.calibration.guarantee import (
    Procedure,
    default_procedure,
    least_selective,
    one_per_question,
    planned_procedure,
    reference_procedure,
)
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments

JUDGES = (
    "openrouter/inception/mercury",
    "openrouter/inception/mercury-coder",
    "openrouter/minimax/minimax-m2.1",
    "openrouter/z-ai/glm-4.7",
)
SIGNALS = ("order", "strength", "peers")
TARGETS = (0.80, 0.85, 0.90)
DELTA = 0.10
SHARES = (0.4, 0.4, 0.2)
FOLDS = 5
CANDIDATES = (
    Candidate("main", 0.1),
    Candidate("moderated", 0.1),
    Candidate("moderated", 0.3),
    Candidate("judges", 0.1),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One procedure on one split; None for ``precision`` where nothing is kept of the third part."""

    threshold: float | None
    kept: int = 0
    errors: int = 0
    questions: int = 0


@dataclass(slots=True)
class Tally:
    """Outcomes of one judge, target and procedure."""

    outcomes: list[Outcome] = field(default_factory=list)

    def summary(self, target: float) -> dict[str, float | int | None]:
        splits = len(self.outcomes)
        kept, errors = (np.array([getattr(one, name) for one in self.outcomes]) for name in ("kept", "errors"))
        questions = np.array([max(one.questions, 1) for one in self.outcomes])
        precision = (kept - errors) / np.maximum(kept, 1)
        below = (kept > 0) & (precision < target)
        clearly = below & (bdtr(kept - errors, np.maximum(kept, 1), target) <= 0.05)
        return {
            "splits": splits,
            "coverage": float(np.mean(kept / questions)),
            "precision": float((kept - errors).sum() / kept.sum()) if kept.sum() else None,
            "below": float(below.mean()),
            "clearly_below": float(clearly.mean()),
            "abstained": sum(one.threshold is None for one in self.outcomes) / splits,
        }


def three_parts(questions: tuple[str, ...], seed: int) -> Indices:
    """[n] 0, 1 or 2: the part of each row's question."""
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    ends = np.round(np.cumsum(SHARES)[:-1] * len(names)).astype(np.intp)
    part = np.zeros(len(names), dtype=np.intp)
    order = np.random.default_rng([seed, 23]).permutation(len(names))
    for number, rows in enumerate(np.split(order, ends)):
        part[rows] = number
    return np.asarray(part[place.ravel()])


def scores_of_split(bench: Workbench, table: SignalTable, part: Indices, seed: int) -> Floats:
    """[n] P(correct): out of fold on the first part, from a fit on the first part elsewhere."""
    fit = np.flatnonzero(part == 0)
    rest = np.flatnonzero(part != 0)
    fold = question_folds([table.questions[row] for row in fit], FOLDS, [seed, 29])
    inside = {one: np.zeros(len(fit)) for one in CANDIDATES}
    for number in range(FOLDS):
        for one in CANDIDATES:
            (inside[one][fold == number],) = bench.fit_predict(one, fit[fold != number], [fit[fold == number]])
    best = min(CANDIDATES, key=lambda one: (float(log_losses(inside[one], table.correct[fit]).mean()), one.name))
    scores = np.zeros(len(table))
    scores[fit] = inside[best]
    (scores[rest],) = bench.fit_predict(best, fit, [rest])
    return np.round(scores, 9)


def cross_fitted(bench: Workbench, table: SignalTable, seed: int) -> Floats:
    """[n] P(correct), each fold from a calibration chosen and fitted on the others."""
    fold = question_folds(table.questions, FOLDS, [seed, 31])
    scores = np.zeros(len(table))
    for number in range(FOLDS):
        held_out = fold == number
        scores[held_out] = scores_of_split(bench, table, held_out.astype(np.intp), seed)[held_out]
    return scores


def alone(procedure: Procedure) -> list[Procedure]:
    """Each start of a procedure as a fixed sequence of its own: Bonferroni over starts."""
    return [
        procedure.model_copy(update={"starts": (start,), "shares": (share,)})
        for start, share in zip(procedure.starts, procedure.shares, strict=True)
    ]


def procedures(reference: Floats, target: float, questions: int) -> dict[str, list[Procedure]]:
    """The procedures compared; of several the least selective threshold found counts."""
    four = reference_procedure(reference, target, DELTA, questions, starts=4)
    return {
        "single": [reference_procedure(reference, target, DELTA, questions, starts=1)],
        "bonferroni": alone(four),
        "reference": [four],
        "default": [default_procedure(target)],
        "planned": [planned_procedure(reference, target, DELTA, questions)],
    }


def found(tried: list[Procedure], scores: Floats, correct: Bools, target: float) -> float | None:
    """The least selective threshold that one of some procedures accepts."""
    thresholds = []
    for one in tried:
        above = scores[:, None] >= np.array(one.grid)
        at = int(least_selective(above.sum(axis=0), (above & ~correct[:, None]).sum(axis=0), target, DELTA, one))
        thresholds += [one.grid[at]] if at >= 0 else []
    return min(thresholds, default=None)


def outcomes(
    table: SignalTable, scores: Floats, part: Indices | None, seed: int
) -> Iterator[tuple[str, float, str, Outcome]]:
    """Judge, target, procedure and outcome on one split; without parts all three are the same questions."""
    judges, names = np.array(table.judges), np.array(table.questions)
    for judge in JUDGES:
        mine = judges == judge
        rows = [np.flatnonzero(mine if part is None else mine & (part == number)) for number in range(3)]
        reference = scores[rows[0]]
        seek, test = (at[one_per_question(names[at].tolist(), scores[at], table.correct[at], seed)] for at in rows[1:])
        for target in TARGETS:
            for name, tried in procedures(reference, target, len(seek)).items():
                threshold = found(tried, scores[seek], table.correct[seek], target)
                if threshold is None:
                    yield judge, target, name, Outcome(None, questions=len(test))
                    continue
                kept = scores[test] >= threshold
                wrong = kept & ~table.correct[test]
                yield judge, target, name, Outcome(threshold, int(kept.sum()), int(wrong.sum()), len(test))


def study(data: Path, splits: int, protocol: str) -> list[dict[str, object]]:
    """One row per judge, target and procedure."""
    source = open_judgments([str(data)])
    table = build_table(source.all(), SIGNALS, report=lambda judgment: "o1-mini" not in judgment.judge).sorted()
    table = table.select(table.labelled)
    factors = varying_factors(table, table.categories, judges=True)
    bench = Workbench(factors, BaseMatrix.of(table, table.categories, factors), table.correct)
    tallies: dict[tuple[str, float, str], Tally] = {}
    for seed in range(splits):
        part = three_parts(table.questions, seed) if protocol == "split" else None
        scores = cross_fitted(bench, table, seed) if part is None else scores_of_split(bench, table, part, seed)
        for judge, target, name, outcome in outcomes(table, scores, part, seed):
            tallies.setdefault((judge, target, name), Tally()).outcomes.append(outcome)
    return [
        {"judge": judge.rpartition("/")[2], "target": target, "procedure": name, **tally.summary(target)}
        for (judge, target, name), tally in tallies.items()
    ]


def shown(value: object) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, metavar="DATA_DIR")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--protocol", choices=("split", "cross"), default="split")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.splits < 1:
        parser.error(f"--splits must be at least 1, not {options.splits}")
    with threadpool_limits(limits=1):
        rows = study(options.data, options.splits, options.protocol)
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(shown, row.values())) + " |")
    if options.json:
        provenance = {
            "splits": options.splits,
            "protocol": options.protocol,
            "shares": SHARES,
            "delta": DELTA,
            "signals": SIGNALS,
        }
        candidates = [asdict(one) for one in CANDIDATES]
        options.json.write_text(json.dumps({**provenance, "candidates": candidates, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
