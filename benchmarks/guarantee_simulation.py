"""How often a guaranteed threshold breaks its promise, in made populations whose truth is known exactly.

    python -m metajudge.benchmarks.guarantee_simulation [--repetitions 4000] [--procedure ranks] [--looks 1]
    [--out FILE] [--only WORD]

The truth is that of the sentence: the precision of all kept judgments of new questions. Each repetition draws
labelled questions and a reference of its own. FILE gets one line a population; with the same FILE a run goes on where
it stopped. With ``--looks 8`` an abstention is followed by a look at 20 questions more, up to eight looks, each at the
level that the ledger's default schedule spends. ``broken`` may be at most delta (.10) and two standard errors. With
``--cross`` the same for scores that are fitted on the very questions of the threshold (out of fold), for which nothing
is proven; the threshold is then used on a fit to all.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from threadpoolctl import threadpool_limits

from metajudge.calibration.labelled_sample import LabelledSample
from metajudge.calibration.looks import Schedule
from metajudge.calibration.procedures import ProcedureName
from metajudge.calibration.starts import Reference, rounded
from metajudge.stats.arrays import Floats

from .made_populations import MadePopulation, populations
from .threshold_rules import Draw, Rule, ours

DELTA = 0.1
SIGNALS = 5
NEW = 40_000
ADDED = 20
"""Questions by which a look is larger than the one before."""


def looked(one: MadePopulation, rule: Rule, looks: int, rng: np.random.Generator) -> float | None:
    """The threshold of the first look that finds one; None where none of the looks does."""
    reference = one.unlabelled(rng)
    sample = replace(one, n=one.n + ADDED * (looks - 1)).draw(rng)
    for look in range(looks):
        number = one.n + ADDED * look
        rows = np.flatnonzero(sample.place < number)
        questions = tuple(sample.questions[row] for row in rows)
        part = replace(
            sample,
            scores=sample.scores[rows],
            correct=sample.correct[rows],
            questions=questions,
            names=sample.names[:number],
            place=sample.place[rows],
        )
        level = DELTA * (Schedule().share(look + 1) if looks > 1 else 1.0)
        threshold = rule(Draw(part, reference, one.target, level, one.most, 0))
        if threshold is not None:
            return threshold
    return None


def simulated(one: MadePopulation, rule: Rule, repetitions: int, seed: int, looks: int = 1) -> dict[str, Any]:
    """Share of broken promises with its standard error at delta, mean coverage and share of abstentions."""
    rng = np.random.default_rng([seed, 53])
    truth: dict[float, tuple[float, float]] = {}
    broken = coverage = abstained = 0.0
    for _ in range(repetitions):
        threshold = looked(one, rule, looks, rng)
        if threshold is None:
            abstained += 1
            continue
        if threshold not in truth:
            truth[threshold] = (one.precision(threshold), one.coverage(threshold))
        precision, share = truth[threshold]
        broken += precision < one.target - 1e-12
        coverage += share
    allowed = DELTA + 2 * float(np.sqrt(DELTA * (1 - DELTA) / repetitions))
    return {
        "population": one.name,
        "target": one.target,
        "n": one.n,
        "looks": looks,
        "repetitions": repetitions,
        "broken": broken / repetitions,
        "allowed": allowed,
        "coverage": coverage / repetitions,
        "abstained": abstained / repetitions,
    }


def cross_fitted(n: int, target: float, strength: float, repetitions: int, seed: int) -> dict[str, Any]:
    """The same where a logistic regression on a few signals is fitted out of fold to the questions of the threshold."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    rng = np.random.default_rng([seed, 59])
    weights = np.concatenate([[strength, strength / 2], np.zeros(SIGNALS - 2)])
    broken = coverage = abstained = 0.0
    rule = ours("ranks")

    def drawn(number: int) -> tuple[Floats, Floats]:
        signals = rng.normal(size=(number, SIGNALS))
        return signals, rng.random(number) < 1 / (1 + np.exp(-1.2 - signals @ weights))

    for _ in range(repetitions):
        signals, correct = drawn(n)
        model = LogisticRegression(C=0.3)
        scores = rounded(cross_val_predict(model, signals, correct, method="predict_proba")[:, 1])
        names = tuple(f"q{number:04}" for number in range(n))
        sample = LabelledSample(scores, np.asarray(correct, dtype=bool), names, names, np.arange(n), 1)
        threshold = rule(Draw(sample, Reference(scores, np.arange(n)), target, DELTA, 1, 0))
        if threshold is None:
            abstained += 1
            continue
        new, right = drawn(NEW)
        kept = model.fit(signals, correct).predict_proba(new)[:, 1] >= threshold
        broken += bool(kept.any()) and float(right[kept].mean()) < target
        coverage += float(kept.mean())
    return {
        "population": cross_name(n, target, strength),
        "target": target,
        "n": n,
        "repetitions": repetitions,
        "broken": broken / repetitions,
        "allowed": None,
        "coverage": coverage / repetitions,
        "abstained": abstained / repetitions,
    }


def cross_name(n: int, target: float, strength: float) -> str:
    return f"cross-fitted, strength {strength:g}, n {n}, target {target:g}"


def line(row: dict[str, Any]) -> str:
    allowed = "-" if row["allowed"] is None else f"{row['allowed']:.4f}"
    return (
        f"{row['population']:45} n {row['n']:4} target {row['target']:.2f} broken {row['broken']:.4f} "
        f"(allowed {allowed}) coverage {row['coverage']:.3f} abstained {row['abstained']:.3f}"
    )


def run(
    cases: Sequence[tuple[str, Callable[[], dict[str, Any]]]], done: set[str], out: Path | None
) -> list[dict[str, Any]]:
    """Runs what is not done yet; each case is a name and a function that gives its row."""
    rows = []
    for name, make in cases:
        if name in done:
            continue
        row = make()
        rows.append(row)
        print(line(row), flush=True)
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def main(
    repetitions: Annotated[int, typer.Option(min=1)] = 4000,
    procedure: Annotated[str, typer.Option(help="A procedure in ranks.")] = "ranks",
    out: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    only: Annotated[str, typer.Option(help="Only populations whose name has this word.")] = "",
    cross: Annotated[bool, typer.Option("--cross", help="Cross-fitted scores in place of the populations.")] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    looks: Annotated[int, typer.Option(min=1, help="Looks at most, 20 questions more each time.")] = 1,
) -> None:
    """Simulate guaranteed thresholds."""
    before = [json.loads(one) for one in out.read_text().splitlines()] if out is not None and out.exists() else []
    name: ProcedureName = procedure  # type: ignore[assignment]
    cases: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        (one.name, partial(simulated, one, ours(name), repetitions, seed, looks))
        for one in populations()
        if only in one.name
    ]
    if cross:
        cases = [
            (cross_name(n, target, strength), partial(cross_fitted, n, target, strength, repetitions, seed))
            for strength in (0.0, 0.7, 1.5)
            for n in (60, 150)
            for target in (0.8, 0.85)
        ]
    with threadpool_limits(limits=1):
        rows = before + run(cases, {one["population"] for one in before}, out)
    judged = [one for one in rows if one["allowed"] is not None]
    failed = [one["population"] for one in judged if one["broken"] > one["allowed"]]
    print(f"{len(judged) - len(failed)} of {len(judged)} populations within what is allowed. {'; '.join(failed)}")
    raise typer.Exit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
