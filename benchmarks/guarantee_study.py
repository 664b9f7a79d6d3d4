"""How guaranteed thresholds do on recorded judgments: coverage, realised precision, abstentions, by procedure.

    python benchmarks/guarantee_study.py DATA_DIR [--splits 200] [--protocol split|cross] [--shares .3,.5,.2]
                                         [--procedure NAME] [--json OUT]

DATA_DIR has JudgeBench's recorded judgments. With ``split`` the questions are divided into three parts: a calibration
is chosen by cross-validated log loss and fitted on the first, the threshold is sought on the second with one seeded
judgment a question, and its precision and coverage are measured on the third, likewise. With ``cross`` probabilities
are cross-fitted, the threshold is sought on all questions, and coverage and precision are those of the same questions:
many more labels for each step, but nothing is proven and the precision is flattered. Procedures:

- ``single``: one start, a fixed sequence from the most selective threshold that can pass to the least;
- ``bonferroni``: four starts, each a fixed sequence with a quarter of delta, nothing passed on;
- ``reference``: four starts whose shares pass on (fallback), on the same quantiles of the first part's scores;
- ``default``: what ``metajudge calibrate threshold`` uses; needs no reference, even in log-odds around the target.

An abstention counts as coverage 0 and as no violation. Three readings of how often the promise is broken:

- ``broken``, the one to compare with delta: the questions outside the first part are taken as the whole population, so
  that the precision of every threshold is known, and threshold parts are drawn from them with replacement, 20 for each
  split. The proof on made populations is in tests/calibration/test_guarantee.py.
- ``below``: the share of splits whose precision on the third part is below the target. A third part of a few dozen
  questions is noise by itself: of 25 kept at a true precision of 87 %, fewer than 80 % are right in one draw of six.
  And parts of one finite set lean against each other: a lucky second part leaves an unlucky third.
- ``clearly_below``: the same by an exact one-sided binomial test at .05.

Splits overlap, so the spread over them is not a standard error.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from scipy.special import bdtr
from threadpoolctl import threadpool_limits

from metajudge.calibration.candidates import Candidate, Workbench
from metajudge.calibration.design import (
    BaseMatrix,
    varying_factors,
)
from metajudge.calibration.folds import question_folds
from metajudge.calibration.guarantee import one_per_question
from metajudge.calibration.procedures import (
    Procedure,
    default_procedure,
    least_selective,
    reference_procedure,
)
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats, Indices

JUDGES = (
    "openrouter/inception/mercury",
    "openrouter/inception/mercury-coder",
    "openrouter/minimax/minimax-m2.1",
    "openrouter/z-ai/glm-4.7",
)
SIGNALS = ("order", "strength", "peers")
TARGETS = (0.80, 0.85, 0.90)
DELTA = 0.10
TOLERANCE = 1e-9
SHARES = (0.3, 0.5, 0.2)
"""Most of the evidence needs no label, so few suffice for the fit; every one in the second part buys coverage."""
REDRAWS = 20
FOLDS = 5
CANDIDATES = (
    Candidate("main", 0.1),
    Candidate("moderated", 0.1),
    Candidate("moderated", 0.3),
    Candidate("judges", 0.1),
)


@dataclass(frozen=True, slots=True)
class SplitResult:
    """One procedure on one split.

    Attributes:
        threshold: None for an abstention.
        kept: questions kept of the third part, with ``errors`` among them.
        questions: questions in the third part.
        broken: share of redrawn second parts whose threshold has a precision below the target; None without redraws.
    """

    threshold: float | None
    kept: int = 0
    errors: int = 0
    questions: int = 0
    broken: float | None = None


@dataclass(slots=True)
class StudyCounts:
    """Outcomes of one judge, target and procedure."""

    outcomes: list[SplitResult] = field(default_factory=list)

    def summary(self, target: float) -> dict[str, float | int | None]:
        splits = len(self.outcomes)
        kept, errors = (np.array([getattr(one, name) for one in self.outcomes]) for name in ("kept", "errors"))
        questions = np.array([max(one.questions, 1) for one in self.outcomes])
        known = [one.broken for one in self.outcomes if one.broken is not None]
        precision = (kept - errors) / np.maximum(kept, 1)
        below = (kept > 0) & (precision < target)
        clearly = below & (bdtr(kept - errors, np.maximum(kept, 1), target) <= 0.05)
        return {
            "splits": splits,
            "coverage": float(np.mean(kept / questions)),
            "precision": float((kept - errors).sum() / kept.sum()) if kept.sum() else None,
            "broken": float(np.mean(known)) if known else None,
            "below": float(below.mean()),
            "clearly_below": float(clearly.mean()),
            "abstained": sum(one.threshold is None for one in self.outcomes) / splits,
        }


def three_parts(questions: tuple[str, ...], seed: int, shares: Sequence[float] = SHARES) -> Indices:
    """[n] 0, 1 or 2: the part of each row's question."""
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    ends = np.round(np.cumsum(shares)[:-1] * len(names)).astype(np.intp)
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
    }


def found(tried: list[Procedure], scores: Floats, correct: Bools, target: float) -> float | None:
    """The least selective threshold that one of some procedures accepts."""
    thresholds = []
    for one in tried:
        above = scores[:, None] >= np.array(one.grid) - TOLERANCE
        at = int(least_selective(above.sum(axis=0), (above & ~correct[:, None]).sum(axis=0), target, DELTA, one))
        thresholds += [one.grid[at]] if at >= 0 else []
    return min(thresholds, default=None)


def broken(tried: list[Procedure], scores: Floats, correct: Bools, target: float, draw: int, seed: int) -> float:
    """The share of redrawn parts for which the least selective threshold found is not what it promises.

    Args:
        tried: procedures; the least selective threshold that one of them accepts counts.
        scores: [n] one judgment a question: the whole population, so that the precision of a threshold is known.
        correct: [n].
        target: precision promised.
        draw: questions in a part, drawn with replacement.
        seed: of the draws.
    """
    drawn = np.random.default_rng([seed, 37]).multinomial(draw, np.full(len(scores), 1 / len(scores)), size=REDRAWS)
    lowest, true = np.full(REDRAWS, np.inf), np.ones(REDRAWS)
    for one in tried:
        above = scores[:, None] >= np.array(one.grid) - TOLERANCE
        wrong = above & ~correct[:, None]
        at = least_selective(drawn @ above, drawn @ wrong, target, DELTA, one)
        threshold = np.where(at < 0, np.inf, np.array(one.grid)[at])
        precision = 1 - wrong.sum(axis=0) / np.maximum(above.sum(axis=0), 1)
        true = np.where(threshold < lowest, precision[at], true)
        lowest = np.minimum(lowest, threshold)
    return float((true < target - TOLERANCE).mean())


def outcomes(
    table: SignalTable, scores: Floats, part: Indices | None, seed: int, only: str | None
) -> Iterator[tuple[str, float, str, SplitResult]]:
    """Judge, target, procedure and outcome on one split; without parts all three are the same questions."""
    judges, names = np.array(table.judges), np.array(table.questions)

    def one_each(rows: Indices) -> Indices:
        return rows[one_per_question(names[rows].tolist(), scores[rows], table.correct[rows], seed)]

    for judge in JUDGES:
        mine = judges == judge
        rows = [np.flatnonzero(mine if part is None else mine & (part == number)) for number in range(3)]
        seek, test = one_each(rows[1]), one_each(rows[2])
        rest = np.concatenate([seek, test])
        for target in TARGETS:
            for name, tried in procedures(scores[rows[0]], target, len(seek)).items():
                if only not in (None, name):
                    continue
                threshold = found(tried, scores[seek], table.correct[seek], target)
                kept = scores[test] >= (np.inf if threshold is None else threshold - TOLERANCE)
                yield (
                    judge,
                    target,
                    name,
                    SplitResult(
                        threshold,
                        int(kept.sum()),
                        int((kept & ~table.correct[test]).sum()),
                        len(test),
                        None
                        if part is None
                        else broken(tried, scores[rest], table.correct[rest], target, len(seek), seed),
                    ),
                )


def study(data: Path, splits: int, protocol: str, shares: Sequence[float], only: str | None) -> list[dict[str, object]]:
    """One row per judge, target and procedure."""
    source = open_judgments([str(data)])
    table = build_table(source.all(), SIGNALS, report=lambda judgment: "o1-mini" not in judgment.judge).sorted()
    table = table.select(table.labelled)
    factors = varying_factors(table, table.categories, judges=True)
    bench = Workbench(factors, BaseMatrix.of(table, table.categories, factors), table.correct)
    tallies: dict[tuple[str, float, str], StudyCounts] = {}
    for seed in range(splits):
        part = three_parts(table.questions, seed, shares) if protocol == "split" else None
        scores = cross_fitted(bench, table, seed) if part is None else scores_of_split(bench, table, part, seed)
        for judge, target, name, outcome in outcomes(table, scores, part, seed, only):
            tallies.setdefault((judge, target, name), StudyCounts()).outcomes.append(outcome)
    return [
        {"judge": judge.rpartition("/")[2], "target": target, "procedure": name, **tally.summary(target)}
        for (judge, target, name), tally in tallies.items()
    ]


def shown(value: object) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def main(
    data: Annotated[Path, typer.Argument(metavar="DATA_DIR")],
    splits: Annotated[int, typer.Option(min=1)] = 200,
    protocol: Literal["split", "cross"] = "split",
    parts: Annotated[str, typer.Option("--shares", metavar="FIT,THRESHOLD,TEST")] = ",".join(map(str, SHARES)),
    procedure: Literal["single", "bonferroni", "reference", "default"] | None = None,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    try:
        shares = tuple(float(share) for share in parts.split(","))
    except ValueError:
        raise typer.BadParameter(f"--shares must be three numbers with commas between them, not {parts!r}") from None
    if len(shares) != 3 or min(shares) <= 0 or abs(sum(shares) - 1) > TOLERANCE:
        raise typer.BadParameter(f"--shares must be three positive numbers that sum to 1, not {parts!r}")
    with threadpool_limits(limits=1):
        rows = study(data, splits, protocol, shares, procedure)
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(shown, row.values())) + " |")
    if out:
        provenance = {
            "splits": splits,
            "protocol": protocol,
            "shares": shares,
            "delta": DELTA,
            "signals": SIGNALS,
        }
        candidates = [asdict(one) for one in CANDIDATES]
        out.write_text(json.dumps({**provenance, "candidates": candidates, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
