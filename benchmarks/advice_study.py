"""Whether advice after an abstention is right, and whether looking again by it keeps the promise.

    python -m metajudge.benchmarks.advice_study loop [--way advice|twenty|double] [--target .85] [--repetitions 200]
    python -m metajudge.benchmarks.advice_study cross-fit [--repetitions 200] [--target .85]
    python -m metajudge.benchmarks.advice_study plan [--repetitions 600]
    python -m metajudge.benchmarks.advice_study table [--repetitions 200] [--draws 100] [--data DIR] [--seed 0]

``loop`` draws labels from populations whose truth is known and looks through the ledger until a threshold passes: by
the advice (as many further labels as it recommends, or where it recommends none the most it tried), 20 labels at a
time, or twice the labels each time; ``--outside`` looks at the full delta each time, as if there were no ledger.
*Broken* is the share of repetitions that end with a threshold whose precision is below the target.

``table`` compares the chances that the advice states with how often the next look passes, by tenths of the stated
chance. In simulation the further labels come from the population; with ``--data`` (JudgeBench) a calibration is fitted
on 40 % of the questions, the first look takes a part of the others, and the further labels are questions that are left.
The interval is by repetition: the chances of one repetition hang together.

``plan`` compares the power that `calibrate plan` states with how often the first look passes, where the scores are
calibrated, timid (log-odds times 0.6) or bold (times 1.6).

``cross-fit`` compares labels that are split between fit and threshold with labels that serve both, out of fold.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np
import typer
from scipy.special import expit
from threadpoolctl import threadpool_limits

from metajudge.calibration import Abstention, Guarantee, Looks, guaranteed_threshold
from metajudge.calibration.advice import SIZES, Advice, advise
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.folds import question_split
from metajudge.calibration.planning import SPLIT_SHARE, Curve, LabelPlan, Use, plan
from metajudge.calibration.table import SignalTable, absent_from, build_table
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.clustered import ClusteredTally
from metajudge.types import Judgment
from metajudge.vetting.labelled import threshold_rows
from metajudge.vetting.looking import LookRequest, ReferenceScores

from .guarantee_rivals import SETS

DELTA = 0.1
MOST_LOOKS = 8
MOST_LABELS = 2_000
STEP = 20
UP_TO = 600
TARGETS = (0.75, 0.8, 0.85, 0.9)
FITS = 2
PLANNED = ((0.8, 0.92, 0.6), (0.85, 0.95, 0.6), (0.85, 0.92, 0.8), (0.9, 0.96, 0.5), (0.9, 0.97, 0.8))
"""Target, and the precision expected at a share kept."""

Way = Literal["advice", "twenty", "double"]
Rows = tuple[Floats, Bools, list[str]]


@dataclass(frozen=True, slots=True)
class Population:
    """Scores in atoms of known mass and precision, one judgment a question.

    Attributes:
        scores, mass, right: [atoms].
    """

    name: str
    scores: Floats
    mass: Floats
    right: Floats

    def precision(self, threshold: float) -> float:
        """Share of right ones among all at or above a threshold."""
        above = self.scores >= threshold - 1e-9
        return float((self.mass * self.right)[above].sum() / self.mass[above].sum()) if above.any() else 1.0

    def draw(self, number: int, rng: np.random.Generator, first: int = 0) -> Rows:
        """So many questions, named from ``first`` on."""
        at = rng.choice(len(self.scores), size=number, p=self.mass)
        return self.scores[at], rng.random(number) < self.right[at], [f"q{one}" for one in range(first, first + number)]


def populations(target: float) -> list[Population]:
    """Made populations: precision a hair below the target at every threshold, and scores that separate."""
    even = (np.arange(200) + 0.5) / 200
    logits = np.linspace(-2.5, 5.5, 161)
    bell = np.exp(-np.square(logits - 1.9) / (2 * 1.4**2))
    sharp = np.exp(-np.square(logits - 2.6) / (2 * 2.0**2))
    alike = np.full(200, 1 / 200)
    step = np.where(even > 0.5, min(target + 0.1, 0.99), 0.5)

    def logistic(values: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-values)))

    return [
        Population("flat, a hair below the target", even, alike, np.full(200, target - 1e-6)),
        Population("flat, a point below the target", even, alike, np.full(200, target - 0.01)),
        Population("best part a hair below, rest worse", even, alike, np.where(even > 0.5, target - 1e-6, 0.6)),
        Population("worst on top", even, alike, np.where(even > 0.85, target - 0.05, target + 0.01)),
        Population("calibrated", logistic(logits), bell / bell.sum(), logistic(logits)),
        Population("timid", logistic(0.6 * logits), bell / bell.sum(), logistic(logits)),
        Population("bold", logistic(1.6 * logits), bell / bell.sum(), logistic(logits)),
        Population("a step", even, alike, step),
        Population("calibrated, separates well", logistic(logits), sharp / sharp.sum(), logistic(logits)),
    ]


def advice_for(
    rows: Rows,
    target: float,
    level: float,
    draws: int,
    seed: int,
    sizes: Sequence[float] = SIZES,
    reference: ReferenceScores | None = None,
) -> Advice:
    """The advice for the next look at a level."""
    request = LookRequest(target=target, delta=DELTA, reference=reference)
    return advise(*rows, passes=partial(request.passes, level), level=level, draws=draws, seed=seed, sizes=sizes)


def looked(
    population: Population,
    target: float,
    way: Way,
    rng: np.random.Generator,
    *,
    start: int = 60,
    draws: int = 20,
    ledger: bool = True,
) -> Guarantee | None:
    """Looks until a threshold passes or the way ends; the threshold found.

    Args:
        population: that labels are drawn from.
        target: precision to guarantee.
        way: how many labels are added after an abstention.
        rng: of the labels.
        start: labels at the first look.
        draws: of the advice.
        ledger: whether looks are recorded and spend; else each is tested at the full delta.
    """
    rows, looks = population.draw(start, rng), Looks()
    for _ in range(UP_TO // STEP if way == "twenty" else MOST_LOOKS):
        found = guaranteed_threshold(*rows, target=target, delta=DELTA, looks=looks if ledger else None)
        if isinstance(found, Guarantee):
            return found
        made = len(rows[2])
        further = STEP if way == "twenty" else made
        if way == "advice":
            level = DELTA * (looks.next_share() if ledger else 1)
            advice = advice_for(rows, target, level, draws, int(rng.integers(2**31)))
            further = advice.recommended or advice.chances[-1].further
        if made + further > (UP_TO if way == "twenty" else MOST_LABELS):
            return None
        more = population.draw(further, rng, made)
        rows = (np.concatenate([rows[0], more[0]]), np.concatenate([rows[1], more[1]]), rows[2] + more[2])
    return None


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How often looking again broke the promise, and how often it found a threshold."""

    population: str
    repetitions: int
    broken: int
    found: int

    @property
    def share(self) -> float:
        """Share of repetitions that end with a promise that is not true."""
        return self.broken / self.repetitions

    @property
    def standard_error(self) -> float:
        """Of a share of delta over so many repetitions."""
        return float(np.sqrt(DELTA * (1 - DELTA) / self.repetitions))


def loop_results(
    target: float,
    way: Way,
    repetitions: int,
    *,
    draws: int = 20,
    ledger: bool = True,
    seed: int = 0,
    first: int | None = None,
) -> Iterator[LoopResult]:
    """One line for each population, or for the first so many."""
    for number, population in enumerate(populations(target)[:first]):
        rng = np.random.default_rng([seed, number])
        ends = [looked(population, target, way, rng, draws=draws, ledger=ledger) for _ in range(repetitions)]
        thresholds = [one.threshold for one in ends if one is not None]
        broken = sum(population.precision(one) < target for one in thresholds)
        yield LoopResult(population.name, repetitions, broken, len(thresholds))


@dataclass(slots=True)
class AdviceTable:
    """Stated chances against looks that passed, by tenths of the stated chance."""

    stated: list[list[float]] = field(default_factory=lambda: [[] for _ in range(10)])
    passed: list[ClusteredTally] = field(default_factory=lambda: [ClusteredTally() for _ in range(10)])

    def add(self, cluster: int, chance: float, passed: bool) -> None:
        """Enters one look of a cluster."""
        tenth = min(int(10 * chance), 9)
        self.stated[tenth].append(chance)
        self.passed[tenth].add(cluster, passed)

    def lines(self) -> Iterator[str]:
        """A table in Markdown."""
        yield "| stated chance | looks | mean stated | passed (95 %) |"
        yield "| --- | --- | --- | --- |"
        for tenth, (stated, passed) in enumerate(zip(self.stated, self.passed, strict=True)):
            if stated:
                found = passed.proportion()
                yield (
                    f"| {10 * tenth} to {10 * tenth + 10} % | {len(stated)} | {100 * np.mean(stated):.0f} % | "
                    f"{100 * found.estimate:.0f} % ({100 * found.low:.0f} to {100 * found.high:.0f}) |"
                )

    def worst(self, least: int = 30) -> float:
        """The largest distance of stated and seen share over tenths with at least so many looks."""
        gaps = [
            abs(float(np.mean(stated)) - passed.proportion().estimate)
            for stated, passed in zip(self.stated, self.passed, strict=True)
            if len(stated) >= least
        ]
        return max(gaps, default=0.0)


def enter(
    table: AdviceTable,
    cluster: int,
    rows: Rows,
    further: Callable[[int], Rows | None],
    request: LookRequest,
    draws: int,
    *,
    seed: int,
    sizes: Sequence[float] = SIZES,
) -> None:
    """One first look; after an abstention its advice, and for each number stated a second look."""
    looks = Looks()
    if not isinstance(request.test(*rows, approximate=False, looks=looks), Abstention):
        return
    level = DELTA * looks.next_share(request.judges)
    advice = advice_for(rows, request.target, level, draws, seed, sizes, request.reference)
    for chance in advice.chances:
        more = further(chance.further)
        if more is None:
            continue
        both = (np.concatenate([rows[0], more[0]]), np.concatenate([rows[1], more[1]]), [*rows[2], *more[2]])
        second = request.test(*both, approximate=False, looks=Looks(looks.ledger))
        table.add(cluster, chance.probability, isinstance(second, Guarantee))


def simulated_table(
    repetitions: int, draws: int, seed: int = 0, targets: Sequence[float] = (0.8, 0.85, 0.9)
) -> AdviceTable:
    """Over all populations that separate, targets and first looks of 40 to 160 labels."""
    table, rng = AdviceTable(), np.random.default_rng(seed)
    for number in range(repetitions):
        target = float(rng.choice(targets))
        population = populations(target)[int(rng.integers(1, 9))]
        start = int(rng.integers(40, 161))

        def further(count: int, population: Population = population, start: int = start) -> Rows:
            return population.draw(count, rng, start)

        request = LookRequest(target=target, delta=DELTA)
        enter(table, number, population.draw(start, rng), further, request, draws, seed=number)
    return table


def recorded_table(
    data: Path, repetitions: int, draws: int, seed: int = 0, sets: Sequence[str] = tuple(SETS)
) -> AdviceTable:
    """On recorded judgments: so many first looks for each judge, at parts of what two fits have left.

    The cluster of the interval is the judge: all its looks share questions and fits.
    """
    table, rng = AdviceTable(), np.random.default_rng(seed)
    for cluster, (judge, judged) in enumerate(_by_judge(data, sets)):
        for fit in range(FITS):
            rows, reference = _recorded(judged, fit)
            names = sorted(set(rows[2]))
            for number in range(fit, repetitions, FITS):
                order = [names[at] for at in rng.permutation(len(names))]
                start = max(20, round(float(rng.uniform(0.2, 0.5)) * len(names)))
                request = LookRequest(
                    target=float(rng.choice(TARGETS)), delta=DELTA, judges=(judge,), reference=reference
                )

                def further(count: int, order: list[str] = order, start: int = start, rows: Rows = rows) -> Rows | None:
                    return _of(rows, order[start : start + count]) if start + count <= len(order) else None

                first = _of(rows, order[:start])
                enter(table, cluster, first, further, request, draws, seed=number, sizes=(0.25, 0.5, 1, 1.5, 2, 3))
    return table


def _is_by(judges: Sequence[str], judgment: Judgment) -> bool:
    return judgment.judge in judges


def _by_judge(data: Path, sets: Sequence[str]) -> Iterator[tuple[str, SignalTable]]:
    """Each judge and its labelled judgments, of the sets that are there."""
    for name in sets:
        if (data / name).is_dir():
            records, judges = open_judgments([str(data / name)]).all(), SETS[name]
            table = build_table(records, None, report=partial(_is_by, judges))
            for judge in judges:
                mine = np.array([one == judge for one in table.judges])
                yield judge, table.select(mine & table.labelled)


def _recorded(rows: SignalTable, seed: int) -> tuple[Rows, ReferenceScores]:
    """Scores, labels and questions that are left of a fit to the signals there are, and its own scores."""
    rows = replace(rows, signals=tuple(one for one in rows.signals if not absent_from(rows.columns, one)))
    part = question_split(rows.questions, SPLIT_SHARE, seed)
    fitted = fit_calibration(rows.select(part == 0), repeats=1)
    found = threshold_rows(fitted, rows.select(part == 1))
    return (found.probabilities, found.table.correct, list(found.table.questions)), ReferenceScores.of_fit(fitted, ())


def _of(rows: Rows, names: Sequence[str]) -> Rows:
    at = np.flatnonzero(np.isin(np.array(rows[2], dtype=str), list(names)))
    return rows[0][at], rows[1][at], [rows[2][one] for one in at]


@dataclass(frozen=True, slots=True)
class FitResult:
    """Thresholds of fits to few labels: how often the promise was broken, and the mean share kept (none: 0)."""

    use: Use
    questions: int
    target: float
    repetitions: int
    broken: float
    kept: float


def fit_results(
    questions: int, target: float, repetitions: int, *, signals: int = 6, seed: int = 0
) -> Iterator[FitResult]:
    """Labels split between fit and threshold, and cross-fitted, in a population whose truth is known.

    Half of the signals say something and half do not; the fit is a logistic regression with an L2 penalty.
    Cross-fitted, the threshold is sought on out-of-fold scores of all questions and used on those of the fit to all.
    """
    rng, weights = np.random.default_rng([seed, questions]), np.array([1.0, 0.7, 0.5] + [0.0] * (signals - 3))
    broken, kept = dict.fromkeys(get_args(Use), 0), dict.fromkeys(get_args(Use), 0.0)

    def drawn(number: int) -> tuple[Floats, Bools]:
        x = rng.standard_normal((number, signals))
        return x, rng.random(number) < 1 / (1 + np.exp(-(1.8 + x @ weights)))

    new, new_right = drawn(20_000)
    for _ in range(repetitions):
        x, right = drawn(questions)
        fold = rng.permutation(questions) % 5
        out_of_fold = np.zeros(questions)
        for part in range(5):
            out_of_fold[fold == part] = _fitted(x[fold != part], right[fold != part], x[fold == part])
        first = rng.permutation(questions) < round(SPLIT_SHARE * questions)
        ways: dict[Use, tuple[Floats, Bools, Floats, Floats]] = {
            "cross-fit": (out_of_fold, right, out_of_fold, _fitted(x, right, new)),
            "split": (
                _fitted(x[first], right[first], x[~first]),
                right[~first],
                _fitted(x[first], right[first], x[first]),
                _fitted(x[first], right[first], new),
            ),
        }
        for use, (scores, labels, reference, later) in ways.items():
            names = [f"q{one}" for one in range(len(scores))]
            found = guaranteed_threshold(scores, labels, names, target=target, delta=DELTA, reference=reference)
            if isinstance(found, Guarantee):
                above = later >= found.threshold
                broken[use] += bool(above.any() and new_right[above].mean() < target)
                kept[use] += float(above.mean())
    for use in ways:
        yield FitResult(use, questions, target, repetitions, broken[use] / repetitions, kept[use] / repetitions)


def _fitted(x: Floats, right: Bools, new: Floats) -> Floats:
    """P(right) of new rows by a logistic regression fitted to some rows."""
    rows, ridge = np.column_stack([np.ones(len(x)), x]), np.diag([1e-3, *[1.0] * x.shape[1]])
    weights = np.zeros(rows.shape[1])
    for _ in range(12):
        chance = expit(rows @ weights)
        hessian = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        weights = weights + np.linalg.solve(hessian, rows.T @ (right - chance) - ridge @ weights)
    return np.asarray(expit(np.column_stack([np.ones(len(new)), new]) @ weights))


app = typer.Typer(add_completion=False)


@app.command("cross-fit")
def cross_fit(
    repetitions: Annotated[int, typer.Option(min=1)] = 200,
    questions: Annotated[list[int] | None, typer.Option()] = None,
    target: Annotated[float, typer.Option()] = 0.85,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Compare labels that are split with labels that are cross-fitted."""
    print("| labels | use | broken | mean share kept |\n| --- | --- | --- | --- |")
    with threadpool_limits(limits=1):
        for number in questions or (60, 100, 150, 200, 300):
            for one in fit_results(number, target, repetitions, seed=seed):
                print(f"| {number} | {one.use} | {100 * one.broken:.1f} % | {100 * one.kept:.0f} % |", flush=True)


def seen_power(planned: LabelPlan, curve: Curve, target: float, fit: float, repetitions: int, seed: int = 0) -> float:
    """Share of first looks that pass with the labels planned.

    Args:
        planned: for the threshold and the fit, whose scores fix the thresholds tried.
        curve: the population planned for.
        target: precision to guarantee.
        fit: by which the log-odds of the scores are multiplied.
        repetitions: draws of labels.
        seed: of the draws.
    """
    rng, passed = np.random.default_rng([seed, 29]), 0
    names = [f"q{at}" for at in range(planned.threshold)]
    for _ in range(repetitions):
        odds = curve.centre + curve.spread * rng.standard_normal(planned.total)
        scores, right = expit(fit * odds), rng.random(planned.total) < expit(odds)
        reference, new = ReferenceScores(tuple(scores[: planned.fit].tolist()), None), slice(planned.fit, None)
        request = LookRequest(target=target, delta=DELTA, reference=reference)
        passed += isinstance(request.test(scores[new], right[new], names, approximate=False, looks=Looks()), Guarantee)
    return passed / repetitions


@app.command("plan")
def planned_power(
    repetitions: Annotated[int, typer.Option(min=1)] = 600, seed: Annotated[int, typer.Option()] = 0
) -> None:
    """Compare the stated power of plans with the looks that passed."""
    print("| target | rate, coverage | labels | stated | timid | calibrated | bold |\n|" + " --- |" * 7)
    with threadpool_limits(limits=1):
        for target, rate, coverage in PLANNED:
            made, curve = plan(target, DELTA, rate, coverage=coverage), Curve.of(rate, coverage)
            seen = [seen_power(made, curve, target, fit, repetitions, seed) for fit in (0.6, 1.0, 1.6)]
            cells = " | ".join(f"{one:.2f}" for one in (made.power, *seen))
            print(f"| {target} | {rate}, {coverage} | {made.fit} + {made.threshold} | {cells} |", flush=True)


@app.command("loop")
def loop(
    way: Annotated[str, typer.Option(help="advice, twenty or double.")] = "advice",
    target: Annotated[float, typer.Option()] = 0.85,
    repetitions: Annotated[int, typer.Option(min=1)] = 200,
    draws: Annotated[int, typer.Option(min=1)] = 20,
    outside: Annotated[bool, typer.Option("--outside", help="Look without a ledger, for comparison.")] = False,
    seed: Annotated[int, typer.Option()] = 0,
    first: Annotated[int | None, typer.Option(help="Only the first so many populations.")] = None,
) -> None:
    """Measure how often looking again breaks the promise."""
    ways: dict[str, Way] = {"advice": "advice", "twenty": "twenty", "double": "double"}
    print(f"| population | broken, of {repetitions} | found a threshold |\n| --- | --- | --- |")
    for one in loop_results(target, ways[way], repetitions, draws=draws, ledger=not outside, seed=seed, first=first):
        print(f"| {one.population} | {100 * one.share:.1f} % | {100 * one.found / one.repetitions:.0f} % |")
    print(f"Allowed: {100 * (DELTA + 2 * one.standard_error):.1f} % (delta + 2 standard errors)")


@app.command("table")
def advice_table(
    repetitions: Annotated[int, typer.Option(min=1)] = 200,
    draws: Annotated[int, typer.Option(min=1)] = 100,
    data: Annotated[Path | None, typer.Option(help="Folder of recorded sets.", metavar="DIR")] = None,
    sets: Annotated[str, typer.Option(help="Sets with commas between them.")] = "judgebench,realmistake",
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Compare the chances that the advice states with how often the next look passes."""
    with threadpool_limits(limits=1):
        if data is None:
            made = simulated_table(repetitions, draws, seed)
        else:
            made = recorded_table(data, repetitions, draws, seed, sets.split(","))
    for line in made.lines():
        print(line)


if __name__ == "__main__":
    app()
