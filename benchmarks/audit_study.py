"""Whether an audit finds planted biases as its power promises, leaves unbiased judges alone, and covers true rates.

    python benchmarks/audit_study.py unbiased [--cards 1000] [--json OUT]
    python benchmarks/audit_study.py planted [--draws 200] [--json OUT]
    python benchmarks/audit_study.py rates [--draws 1000] [--json OUT]

``unbiased``: five equally good judges without bias (:data:`metajudge.audit.simulate.UNBIASED`), at three sizes and in
several shapes. A card with any finding is wrong; their share must be at most 5 % plus two standard errors.

``planted``: seven judges on the same pairs in both orders, six of them with one bias each (:data:`PLANTED`). ``found``
is the share of draws in which the check of that bias is a finding. ``promised`` follows from the check's smallest
effect S, which it states to see in 80 of 100 cases at its level a: ``Phi(effect / S * (z(a) + z(.8)) - z(a))``, with
the mean estimate of all draws as the effect.

``rates``: the coverage and the mean width of 95 % intervals of the share that passes, by prediction-powered inference,
by Rogan and Gladen, by the labels alone and by the verdicts alone, for judges of several sensitivities and
specificities.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist, mean
from typing import Annotated, Any, Literal

import numpy as np
import typer

from metajudge.audit.report import audit
from metajudge.audit.simulate import UNBIASED, SimulatedJudge, SimulatedKind, simulate
from metajudge.stats.association import share_of
from metajudge.stats.corrected_rates import Confused, prediction_powered_mean, rogan_gladen

SIZES = (100, 300, 1_000)
LABELS = (50, 200, 1_000)

PLANTED: Mapping[str, tuple[SimulatedJudge, str]] = {
    "kestrel-32b": (SimulatedJudge(), "copy"),
    "osprey-70b": (SimulatedJudge(position=0.2), "position"),
    "heron-70b": (SimulatedJudge(length=0.3), "length"),
    "merlin-70b": (SimulatedJudge(own_family=0.5), "own_family"),
    "plover-2": (SimulatedJudge(drift=0.4), "drift"),
    "wren-mini": (SimulatedJudge(accuracy=0.55), "weaker_than_peers"),
    "finch-large": (SimulatedJudge(copies="kestrel-32b"), "copy"),
}
"""Judge -> what is planted, and the check that must find it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A simulated file: kind of verdicts, orders of pairs, items for each question, share labelled."""

    kind: SimulatedKind
    orders: Literal["both", "one"] = "one"
    per_question: int = 1
    labelled: float = 1.0
    annotators: int = 0

    def __str__(self) -> str:
        parts = [self.kind, f"{self.orders} orders" if self.orders == "both" else "one order"]
        parts += [f"{self.per_question} a question"] if self.per_question > 1 else []
        parts += ["no labels"] if not self.labelled else [f"{self.annotators} people"] if self.annotators else []
        return ", ".join(parts)


SHAPES = (
    Shape("pairwise", "both"),
    Shape("pairwise", "both", per_question=3),
    Shape("pairwise"),
    Shape("pairwise", "both", annotators=3),
    Shape("category"),
    Shape("category", annotators=3),
    Shape("category", labelled=0.0),
    Shape("grade"),
)


@dataclass(frozen=True, slots=True)
class Unbiased:
    """Cards of judges without bias: how many have a finding, and which checks made it."""

    shape: str
    items: int
    cards: int
    with_finding: int
    by_check: dict[str, int]

    @property
    def share(self) -> float:
        return self.with_finding / self.cards

    @property
    def limit(self) -> float:
        """5 % plus two standard errors."""
        return 0.05 + 2 * math.sqrt(0.05 * 0.95 / self.cards)


def unbiased(shape: Shape, items: int, cards: int, seed: int = 0) -> Unbiased:
    """Audits judges without bias until there are so many cards."""
    counted = found = 0
    checks: Counter[str] = Counter()
    for draw in range(-(-cards // len(UNBIASED))):
        options: dict[str, Any] = asdict(shape)
        for card in audit(simulate(UNBIASED, items=items, seed=seed + draw, **options)).judges:
            names = [check.name for check in card.checks if check.status == "finding"]
            counted, found = counted + 1, found + bool(names)
            checks.update(names)
    return Unbiased(str(shape), items, counted, found, dict(checks))


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted bias at one size.

    Attributes:
        judge: who has it.
        check: that must find it.
        items: of the file.
        draws: simulated files.
        effect: mean distance of the estimate from the null hypothesis.
        smallest: mean smallest effect.
        promised: share that the power promises.
        found: share found.
        wrong: share of draws in which another check of the card is a finding that nothing was planted for.
    """

    judge: str
    check: str
    items: int
    draws: int
    effect: float
    smallest: float
    promised: float
    found: float
    wrong: float


def planted(items: int, draws: int, seed: int = 0) -> list[Planted]:
    """Audits the seven judges of :data:`PLANTED` over and over."""
    judges = {name: judge for name, (judge, _) in PLANTED.items()}
    seen: dict[str, list[tuple[float, float, bool, bool, int]]] = {name: [] for name in PLANTED}
    for draw in range(draws):
        report = audit(simulate(judges, items=items, seed=10_000 + seed + draw))
        for card in report.judges:
            tested = [check for check in card.checks if check.p_value is not None]
            for check in tested:
                if check.name == PLANTED[card.judge][1] and check.estimate is not None and check.smallest_effect:
                    effect = check.estimate - check.null
                    other = any(one.status == "finding" for one in tested if one.name != check.name)
                    size, hit = check.smallest_effect, check.status == "finding"
                    seen[card.judge].append((effect, size, hit, other, len(tested)))
    return [_planted(name, items, draws, values) for name, values in seen.items() if values]


def _planted(name: str, items: int, draws: int, values: Sequence[tuple[float, float, bool, bool, int]]) -> Planted:
    effects, sizes, hits, others, counts = zip(*values, strict=True)
    check = PLANTED[name][1]
    sides = 1 if check in ("weaker_than_peers", "copy") else 2
    parts = len(PLANTED) - 1 if check == "copy" else 1
    level = 0.05 / mean(counts) / parts / sides
    z, power = NormalDist().inv_cdf(1 - level), NormalDist().inv_cdf(0.8)
    effect, smallest = abs(mean(effects)), mean(sizes)
    promised = NormalDist().cdf(effect / smallest * (z + power) - z)
    found = sum(hits) / draws
    return Planted(name, check, items, draws, effect, smallest, promised, found, sum(others) / draws)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often 95 % intervals cover the true share, and their mean widths.

    Attributes:
        labels: labelled items; ten times as many have a verdict (five times for 1,000).
        rate: true share that passes.
        sensitivity, specificity: of the judge.
        per_question: items for each question, with a common chance to pass.
        draws: simulated files.
        ppi, rogan_gladen, labels_only, naive: (coverage, mean width).
        absent: draws without Rogan and Gladen's estimate.
    """

    labels: int
    rate: float
    sensitivity: float
    specificity: float
    per_question: int
    draws: int
    ppi: tuple[float, float]
    rogan_gladen: tuple[float, float]
    labels_only: tuple[float, float]
    naive: tuple[float, float]
    absent: int


RATES = (0.5, 0.7, 0.9, 0.95)
JUDGES = ((0.8, 0.8), (0.9, 0.7), (0.65, 0.95))


def coverage(
    labels: int, rate: float, sensitivity: float, specificity: float, draws: int, per_question: int = 1, seed: int = 0
) -> Coverage:
    """Draws files, labels a random part, and counts intervals that contain the rate."""
    rng = np.random.default_rng([seed, labels, round(1000 * rate), round(1000 * sensitivity), per_question])
    verdicts = labels * (10 if labels < 1_000 else 5)
    questions = -(-verdicts // per_question)
    inside: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("ppi", "rogan_gladen", "labels_only", "naive")
    }
    for _ in range(draws):
        chance = np.full(questions, rate) if per_question == 1 else rng.beta(4 * rate, 4 * (1 - rate), questions)
        question = np.repeat(np.arange(questions), per_question)[:verdicts]
        truth = (rng.random(verdicts) < chance[question]).astype(np.float64)
        said = (rng.random(verdicts) < np.where(truth == 1, sensitivity, 1 - specificity)).astype(np.float64)
        ours = question < -(-labels // per_question)
        y, f = truth[ours], said[ours]
        powered = prediction_powered_mean(y, f, said[~ours], np.concatenate((question[ours], question[~ours])))
        inside["ppi"].append((powered.low, powered.high))
        only, naive = share_of(y, question[ours]), share_of(said, question)
        inside["labels_only"].append((only.low, only.high))
        inside["naive"].append((naive.low, naive.high))
        if 0 < y.sum() < len(y):
            hit, miss = f[y == 1], 1 - f[y == 0]
            errors = Confused(len(hit), float(hit.mean()), len(miss), float(miss.mean()))
            size = min(len(said), naive.estimate * (1 - naive.estimate) / naive.error**2) if naive.error else len(said)
            corrected = rogan_gladen(naive.estimate, size, errors)
            if corrected is not None:
                inside["rogan_gladen"].append((corrected.low, corrected.high))
    found = {name: _covered(intervals, rate) for name, intervals in inside.items()}
    absent = draws - len(inside["rogan_gladen"])
    return Coverage(
        labels,
        rate,
        sensitivity,
        specificity,
        per_question,
        draws,
        found["ppi"],
        found["rogan_gladen"],
        found["labels_only"],
        found["naive"],
        absent,
    )


def _covered(intervals: Sequence[tuple[float, float]], rate: float) -> tuple[float, float]:
    if not intervals:
        return float("nan"), float("nan")
    return mean(low <= rate <= high for low, high in intervals), mean(high - low for low, high in intervals)


app = typer.Typer(add_completion=False, help=__doc__)
Out = Annotated[Path | None, typer.Option("--json", help="Write the rows to this file.")]


@app.command("unbiased")
def run_unbiased(cards: int = 1_000, out: Out = None) -> None:
    """Cards of judges without bias."""
    rows = []
    for shape in SHAPES:
        for items in SIZES:
            one = unbiased(shape, items, cards)
            rows.append(one)
            verdict = "" if one.share <= one.limit else "  TOO MANY"
            print(
                f"{one.shape:32} {items:5} items  {one.with_finding:4} of {one.cards} cards  {one.share:.3f}{verdict}",
                flush=True,
            )
    _write(out, rows)


@app.command("planted")
def run_planted(draws: int = 200, out: Out = None) -> None:
    """Planted biases."""
    rows = []
    for items in SIZES:
        for one in planted(items, draws):
            rows.append(one)
            print(
                f"{one.check:18} {one.judge:12} {items:5} items  effect {one.effect:.3f}  smallest {one.smallest:.3f}  "
                f"promised {one.promised:.2f}  found {one.found:.2f}  other findings {one.wrong:.2f}",
                flush=True,
            )
    _write(out, rows)


@app.command("rates")
def run_rates(draws: int = 1_000, out: Out = None) -> None:
    """Coverage of corrected rates."""
    rows = []
    for labels in LABELS:
        for per_question in (1, 3):
            for rate in RATES:
                for sensitivity, specificity in JUDGES:
                    one = coverage(labels, rate, sensitivity, specificity, draws, per_question)
                    rows.append(one)
                    parts = (f"{name} {value[0]:.3f} ({value[1]:.3f})" for name, value in _named(one))
                    where = f"{labels:5} labels, {per_question} a question, rate {rate}, {sensitivity}/{specificity}"
                    print(f"{where}: {'  '.join(parts)}", flush=True)
    _write(out, rows)


def _named(one: Coverage) -> Iterable[tuple[str, tuple[float, float]]]:
    return (("ppi", one.ppi), ("rogan-gladen", one.rogan_gladen), ("labels", one.labels_only), ("naive", one.naive))


def _write(out: Path | None, rows: Sequence[Any]) -> None:
    if out is not None:
        out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
