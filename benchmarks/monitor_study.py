"""The monitor of promised precisions against known truth: false alarms, delays beside CUSUM, coverage, false
discoveries.

    python benchmarks/monitor_study.py [--runs 1000] [--steps 10000] [--json OUT]

Audited questions are made, no data are read. Printed:

- false alarms: share of runs with any alarm in so many audited questions while the precision stays at the target, or
  above it; also with up to three judgments a question whose errors occur together, with judgments drawn with two
  different probabilities, and where people decide the doubtful ones first and one looks after each;
- delays: mean number of audited questions from a drop to its alarm, over the runs without an earlier one. CUSUM (Page,
  1954) knows both precisions; its threshold is the quantile of its maximum in as many steps at the target, so that it
  raises as many false alarms in that time as delta allows, while the monitor's bound has no end. ``plain`` is the
  mixture over the same bets with one start;
- coverage of the precision's confidence sequence at all looks together, and of the estimate with probabilities;
- drift: share of false findings (mean over runs) and share of the shifted streams found.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.monitor.change import FRACTIONS, ChangeTest, bets_on_errors, precision_sequence
from metajudge.monitor.drift import Seen, find_drift
from metajudge.monitor.sampling import precision_estimate
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.intervals import wilson

DELTA = 0.1
DROPS = ((0.90, 0.80), (0.95, 0.85), (0.85, 0.80))
BLOCK = 250
LOOKS = tuple(sorted({round(5 * 1.25**k) for k in range(35)}))

Draw = Callable[[np.random.Generator, int, int], Floats]
"""Generator, questions, runs -> increments [questions, runs] against a target."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of runs with its Wilson interval."""

    what: str
    share: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class DelayRow:
    """Mean delays after one drop.

    Attributes:
        good: audited questions before it.
        ratio: of the monitor's delay and CUSUM's; ``ratio_se`` its standard error.
        missed: share of the runs without an alarm in the time given.
    """

    before: float
    after: float
    good: int
    monitor: float
    cusum: float
    ratio: float
    ratio_se: float
    plain: float
    missed: float


def alone(target: float, precision: float) -> Draw:
    """One judgment a question."""

    def draw(rng: np.random.Generator, n: int, runs: int) -> Floats:
        return np.asarray((rng.random((n, runs)) > precision) - (1 - target), dtype=np.float64)

    return draw


def clustered(target: float) -> Draw:
    """One to three judgments a question, right or wrong together; questions with three are harder."""
    right = np.array([target + 0.05, target, target - 0.05 / 3])

    def draw(rng: np.random.Generator, n: int, runs: int) -> Floats:
        kept = rng.integers(1, 4, (n, runs))
        wrong = rng.random((n, runs)) > right[kept - 1]
        return np.asarray(kept * (wrong - (1 - target)), dtype=np.float64)

    return draw


def weighted(target: float, share: float = 0.25) -> Draw:
    """Half of the questions are easy and drawn with probability ``share``, the others always; what is drawn is seen."""

    def draw(rng: np.random.Generator, n: int, runs: int) -> Floats:
        easy = rng.random((n, runs)) < share / (1 + share)
        wrong = rng.random((n, runs)) > np.where(easy, target + 0.04, target - 0.04)
        return np.asarray(np.where(easy, 1.0, share) * (wrong - (1 - target)), dtype=np.float64)

    return draw


def false_alarms(target: float, draw: Draw, most: int, runs: int, steps: int, seed: int) -> int:
    """Runs with an alarm."""
    rng = np.random.default_rng(seed)
    test = ChangeTest(bets_on_errors(target, most), runs)
    seen = np.zeros(runs, dtype=bool)
    for _ in range(steps // BLOCK):
        seen |= (test.extend(draw(rng, BLOCK, runs)) >= 1 / DELTA).any(axis=0)
    return int(seen.sum())


def doubtful_first(target: float, runs: int, seed: int, questions: int = 300) -> int:
    """Runs with an alarm where the doubtful half is decided first and one looks after each tenth decision."""
    rng = np.random.default_rng(seed)
    alarms = 0
    for _ in range(runs):
        doubtful = rng.random(questions) < 0.5
        wrong = rng.random(questions) > np.where(doubtful, target - 0.04, target + 0.04)
        order = np.argsort(~doubtful, kind="stable")
        for known in range(10, questions + 1, 10):
            errors = np.zeros(questions)
            errors[order[:known]] = wrong[order[:known]]
            values = ChangeTest(bets_on_errors(target, 1)).extend(errors - (1 - target))
            if values.max() >= 1 / DELTA:
                alarms += 1
                break
    return alarms


def cusum_paths(target: float, after: float, draw: Bools, start: Floats) -> Iterator[Floats]:
    """CUSUM of the log likelihood ratio after each question; draw [n, runs] says what is wrong."""
    wrong, right = np.log((1 - after) / (1 - target)), np.log(after / target)
    level = start
    for row in draw:
        level = np.maximum(level, 0) + np.where(row, wrong, right)
        yield level


def cusum_threshold(target: float, after: float, runs: int, steps: int, seed: int) -> float:
    """The threshold that a share of DELTA of the runs reaches in so many steps at the target."""
    rng = np.random.default_rng(seed)
    last, largest = np.zeros(runs), np.zeros(runs)
    for _ in range(steps // BLOCK):
        for level in cusum_paths(target, after, rng.random((BLOCK, runs)) > target, last):
            last, largest = level, np.maximum(largest, level)
    return float(np.quantile(largest, 1 - DELTA))


def delays(before: float, after: float, good: int, runs: int, steps: int, seed: int, cap: int = 5_000) -> DelayRow:
    """Delays of the three tests on the same questions; the target is the precision before the drop."""
    threshold = cusum_threshold(before, after, max(runs, 2_000), steps, seed + 1)
    rng = np.random.default_rng(seed)
    wrong = np.concatenate((rng.random((good, runs)) > before, rng.random((cap, runs)) > after))
    test = ChangeTest(bets_on_errors(before, 1), runs)
    parts = [test.extend(wrong[at : at + BLOCK] - (1 - before)) for at in range(0, len(wrong), BLOCK)]
    first = {"monitor": _first(np.concatenate(parts) >= 1 / DELTA)}
    first["cusum"] = _first(np.array(list(cusum_paths(before, after, wrong, np.zeros(runs)))) >= threshold)
    growth = [np.cumsum(np.log1p(bet / (1 - before) * (wrong - (1 - before))), axis=0) for bet in FRACTIONS]
    first["plain"] = _first(np.logaddexp.reduce(growth) - np.log(len(growth)) >= np.log(1 / DELTA))
    found = {name: np.minimum(at[at >= good] - good + 1, cap).astype(np.float64) for name, at in first.items()}
    ours, theirs = found["monitor"], found["cusum"]
    ratio = ours.mean() / theirs.mean()
    errors = [np.var(one, ddof=1) / len(one) / one.mean() ** 2 for one in (ours, theirs)]
    return DelayRow(
        *(before, after, good, float(ours.mean()), float(theirs.mean()), float(ratio)),
        *(float(ratio * np.sqrt(sum(errors))), float(found["plain"].mean()), float((ours >= cap).mean())),
    )


def _first(reached: Any) -> Any:
    """[runs] index of the first alarm; the number of questions in runs without an alarm."""
    return np.where(reached.any(axis=0), reached.argmax(axis=0), len(reached))


def sequence_misses(precision: float, runs: int, seed: int) -> int:
    """Runs in which the confidence sequence misses the precision at any of the looks."""
    rng = np.random.default_rng(seed)
    misses = 0
    for _ in range(runs):
        wrong = (rng.random(LOOKS[-1]) > precision).astype(np.float64)
        looks = (precision_sequence(wrong[:n], np.ones(n)) for n in LOOKS)
        misses += any(not one.low <= precision <= one.high for one in looks)
    return misses


def estimate_hits(runs: int, seed: int, size: int = 1_000) -> int:
    """Runs in which the 95 % interval with probabilities covers: two judgments a question, drawn unequally."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(runs):
        question = np.arange(size) // 2
        true = rng.beta(9, 1, size // 2)[question]
        right = (rng.random(size) < true).astype(np.float64)
        stated = np.clip(true + rng.normal(0, 0.05, size), 0, 1)
        chance = np.clip(0.05 + 0.4 * (1 - stated), 0, 1)
        drawn = rng.random(size) < chance
        order = [str(one) for one in (*question[drawn], *question[~drawn])]
        found = precision_estimate(right[drawn], stated[drawn], chance[drawn], stated[~drawn], order)
        hits += found.low <= 0.9 <= found.high
    return hits


@dataclass(frozen=True, slots=True)
class DriftRow:
    """Drift: false discovery proportion (mean), and the share of the shifted streams found."""

    false_discoveries: float
    power: float
    runs: int


def drift(runs: int, seed: int, streams: int = 20, shifted: int = 4, questions: int = 300) -> DriftRow:
    """Streams of one signal each, some of which shift by a standard deviation half way."""
    rng = np.random.default_rng(seed)
    false, found = [], []
    for _ in range(runs):
        values = rng.normal(size=(questions, streams))
        values[questions // 2 :, :shifted] += 1
        seen = (
            Seen(f"judge{j}", None, f"q{i}", float(i), {"signal": float(values[i, j])})
            for i in range(questions)
            for j in range(streams)
        )
        names = [int(one.judge.removeprefix("judge")) for one in find_drift(seen).found]
        false.append(sum(one >= shifted for one in names) / max(1, len(names)))
        found.append(sum(one < shifted for one in names) / shifted)
    return DriftRow(float(np.mean(false)), float(np.mean(found)), runs)


def _share(what: str, count: int, runs: int) -> Share:
    found = wilson(count, runs)
    return Share(what, found.estimate, found.low, found.high, runs)


def study(runs: int, steps: int, seed: int = 0) -> dict[str, Any]:
    """All of it, as dataclasses."""
    cases: list[tuple[str, float, Draw, int]] = []
    for target in (0.85, 0.9, 0.95):
        cases.append((f"target {target:g}, precision at the target", target, alone(target, target), 1))
        cases.append((f"target {target:g}, precision .02 above", target, alone(target, target + 0.02), 1))
    cases.append(("target .9, one to three judgments a question, at the target", 0.9, clustered(0.9), 3))
    cases.append(("target .9, two inclusion probabilities, at the target", 0.9, weighted(0.9), 1))
    alarms = [
        _share(what, false_alarms(target, draw, most, runs, steps, seed + at), runs)
        for at, (what, target, draw, most) in enumerate(cases)
    ]
    some = max(runs // 10, 20)
    alarms.append(_share("target .9, doubtful ones decided first, 30 looks", doubtful_first(0.9, some, seed), some))
    return {
        "false alarms": alarms,
        "delays": [delays(*drop, good, runs, steps, seed + 50) for drop in DROPS for good in (0, 500)],
        "sequence misses": [
            _share(
                f"precision {one:g}, {len(LOOKS)} looks to n = {LOOKS[-1]:,}", sequence_misses(one, some, seed), some
            )
            for one in (0.8, 0.9, 0.95)
        ],
        "estimate covers": [_share("95 % interval with probabilities", estimate_hits(runs, seed), runs)],
        "drift": [drift(max(runs // 10, 10), seed)],
    }


def markdown(found: dict[str, Any]) -> str:
    """Tables of the study."""
    lines = []
    for name in ("false alarms", "sequence misses", "estimate covers"):
        lines += ["", f"| {name} | share of runs | 95 % | runs |", "| --- | --- | --- | --- |"]
        for one in found[name]:
            lines.append(f"| {one.what} | {one.share:.3f} | {one.low:.3f} to {one.high:.3f} | {one.runs} |")
    lines += ["", "| drop | good audits before | monitor | CUSUM | ratio (SE) | one start |", "| --- " * 6 + "|"]
    for one in found["delays"]:
        lines.append(
            f"| {one.before:.2f} to {one.after:.2f} | {one.good} | {one.monitor:.0f} | {one.cusum:.0f} | "
            f"{one.ratio:.2f} ({one.ratio_se:.2f}) | {one.plain:.0f} |"
        )
    (one,) = found["drift"]
    lines += ["", f"Drift: false discoveries {one.false_discoveries:.3f}, power {one.power:.2f}, {one.runs} runs."]
    return "\n".join(lines[1:])


def main(
    runs: Annotated[int, typer.Option(min=20)] = 1_000,
    steps: Annotated[int, typer.Option(min=BLOCK)] = 10_000,
    seed: int = 0,
    out: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Measures the monitor on made audits."""
    found = study(runs, steps, seed)
    typer.echo(markdown(found))
    if out is not None:
        plain = {name: [asdict(one) for one in rows] for name, rows in found.items()}
        out.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
