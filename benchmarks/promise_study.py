"""Is the promise kept, and how much does it keep? Made populations whose truth is known, and recorded judgments.

    python -m metajudge.benchmarks.promise_study [--repetitions 4000] [--data DIR] [--splits 20] [--redraws 10]

Validity: a promise is broken where less than its target of all that its threshold keeps is right in the population. The
share of broken ones may be at most delta, up to two standard errors of the number of repetitions. Labels grow and are
looked at through a ledger in two populations: one broken promise of any look counts. Picked labels are refused; beside
that is the share broken where they are declared a random draw.

Coverage: on JudgeBench under DIR, four judges by themselves. By question 30 % go to the fit; the others are the whole
population, from which half as many questions as there are is drawn with replacement, one judgment of each. The bound
is on what any valid rule can keep that sees a random draw: at each rank, the power of the most powerful test against
the nearest population in which all that keeps as much breaks the promise (the error curve, smoothed and shifted).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.optimize import brentq, isotonic_regression
from scipy.special import bdtr, expit, logit
from threadpoolctl import threadpool_limits

from metajudge.calibration.files import shipped_calibration
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold, rising
from metajudge.calibration.looks import Schedule
from metajudge.calibration.procedures import Procedure, Reference, Setting, floor_for, last_rejected, rounded
from metajudge.calibration.procedures import procedure_in_ranks as fixed
from metajudge.calibration.question_test import binomial_p_values
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import Item, Judgment, Label, parse_verdict
from metajudge.vetting.drawing import drawn_rows

TARGET, TARGETS, DELTA, HAIR = 0.85, (0.80, 0.85, 0.90), 0.1, 0.85 - 1e-6
MODELS = ("inception/mercury", "inception/mercury-coder", "minimax/minimax-m2.1", "z-ai/glm-4.7")
JUDGES = tuple(f"openrouter/{name}" for name in MODELS)
ATOMS = (np.arange(60) + 0.5) / 60
REFERENCE = np.random.default_rng(1).choice(ATOMS, 200)

Right = Callable[[Floats, Indices], Floats]


@dataclass(frozen=True, slots=True)
class Population:
    """Questions whose judgments have scores in atoms of equal mass.

    Attributes:
        right: the chance to be right by score and number of judgments of the question.
        n: labelled questions of each look.
        atoms: the scores.
        sizes: numbers of judgments of a question, equally likely; those of one question have one score and are right
            or wrong together.
        reference: scores without labels.
        floored: whether labels are drawn above a floor.
        worst: whether the labelled ones are the worst of ten times as many.
    """

    right: Right
    n: tuple[int, ...] = (200,)
    atoms: Floats = field(default_factory=lambda: ATOMS)
    sizes: tuple[int, ...] = (1,)
    reference: Floats = field(default_factory=lambda: REFERENCE)
    floored: bool = False
    worst: bool = False

    def broken(self, repetitions: int) -> float:
        """Share of repetitions in which any look promises more than is true."""
        rng = np.random.default_rng(5)
        floor = floor_for(self.reference, TARGET) if self.floored else None
        score, size = np.repeat(self.atoms, len(self.sizes)), np.tile(np.array(self.sizes), len(self.atoms))
        mass = (score >= (0 if floor is None else floor)) / 1.0
        right, bad = self.right(score, size), np.zeros(repetitions, dtype=bool)
        counts = wrong = np.zeros((repetitions, len(score)), dtype=np.intp)
        for number, (before, n) in enumerate(pairwise((0, *self.n)), start=1):
            more = rng.multinomial((n - before) * (10 if self.worst else 1), mass / mass.sum(), size=repetitions)
            if self.worst:
                more = np.clip(n - (np.cumsum(more, axis=1) - more), 0, more)
            counts, wrong = counts + more, wrong + rng.binomial(more, 1 - right)
            level = DELTA * (Schedule().share(number) if len(self.n) > 1 else 1)
            setting = Setting(TARGET, level, n, max(self.sizes))
            made = fixed("ranks", Reference.of(self.reference, None), setting, floor)
            above = score[:, None] >= np.array(made.grid) - 1e-9
            promised, at = sought(counts, wrong, above, size, setting, made)
            precise = (right * size) @ above / np.maximum(size @ above, 1)
            bad |= (at >= 0) & (precise[at] < promised - 1e-12)
        return float(bad.mean())


def sought(
    counts: Indices, wrong: Indices, above: Bools, size: Indices, setting: Setting, made: Procedure
) -> tuple[Floats, Indices]:
    """What one look promises in each repetition, and the place of its threshold; -1 for an abstention.

    Args:
        counts, wrong: [repetitions, types] questions of each type, and those whose judgments are wrong.
        above: [types, thresholds] whether a type is kept.
        size: [types] judgments of a question.
    """

    def p_values(target: float, above: Bools) -> Floats:
        if setting.most == 1:
            return binomial_p_values(wrong @ above, counts @ above, setting.questions, 1 - target)
        table = replace(setting, target=target, credited=made.credited or setting.most).table
        good, lost = table.credit[0, size][:, None] * above, table.credit[size, size][:, None] * above
        return table.p_values(counts @ above, (counts - wrong) @ good + wrong @ lost)

    lower = rising(setting.target)
    ladder = np.stack([p_values(one, above[:, :1])[:, 0] for one in lower], axis=1)
    reached = last_rejected(ladder, setting.level)
    at = np.where(reached == len(lower) - 1, last_rejected(p_values(setting.target, above), setting.level), -1)
    return np.where(at >= 0, setting.target, np.array(lower)[reached]), np.where(reached < 0, -1, np.maximum(at, 0))


def flat(right: float) -> Right:
    """The same chance at every score."""
    return lambda score, size: np.full(len(score), right)


def bad_top(score: Floats, size: Indices) -> Floats:
    """The highest scores are worse than those below."""
    return np.where(score > 0.9, 0.8, np.where(score > 0.7, 0.9, 0.83))


def cliff(score: Floats, size: Indices) -> Floats:
    """A hair below the target at high scores."""
    return np.where(score >= 0.7, HAIR, 0.3)


POPULATIONS: dict[str, Population] = {
    "independent": Population(lambda score, size: score, (95,)),
    "clusters of 1 and 6, wrong together": Population(flat(HAIR), (150,), sizes=(1, 6)),
    "more judgments on hard questions": Population(
        lambda score, size: np.where(size > 1, (7 * HAIR - 0.95) / 6, 0.95), (150,), sizes=(1, 6)
    ),
    "precision falls at the top": Population(bad_top, (400,)),
    "three scores": Population(
        lambda score, size: np.select([score < 0.3, score < 0.7], [0.6, 0.8], 0.849),
        atoms=np.array([0.2, 0.6, 0.9]),
        reference=np.random.default_rng(2).choice([0.2, 0.6, 0.9], 200),
    ),
    "a hair below the target": Population(flat(HAIR)),
    "15 questions": Population(flat(HAIR), (15,)),
    "23 questions": Population(flat(HAIR), (23,)),
    "400 questions": Population(flat(HAIR), (400,)),
    "reference of another distribution": Population(flat(HAIR), reference=np.random.default_rng(3).beta(5, 2, 200)),
    "seven looks as labels grow": Population(flat(HAIR), (60, 80, 100, 120, 140, 160, 180)),
    "labels above a floor, in turn": Population(cliff, (60, 120, 180), floored=True),
    "picked, worst first": Population(bad_top, (400,), worst=True),
}


def refused() -> bool:
    """Whether picked labels are refused as the basis of a promise."""
    said = parse_verdict("A>B")
    item = Item(id="i", question="?", responses={"A": "a", "B": "b"}, labels=(Label(value=said, chosen="picked"),))
    table = build_table([Judgment(id="j", item=item, judge="j", verdict=said)], ["strength"])
    with suppress(InputError):
        drawn_rows(shipped_calibration(), table, (), stated_random=False)
        return False
    return True


@dataclass(frozen=True, slots=True)
class Recorded:
    """A judge's judgments outside the fit: scores, right ones, weights in the draw, all [n], and labelled questions."""

    scores: Floats
    correct: Bools
    weights: Floats
    labelled: int

    def kept(self, threshold: float | None) -> float:
        return 0.0 if threshold is None else float((self.scores >= threshold).mean())

    def breaks(self, threshold: float | None, target: float) -> bool:
        kept = self.scores >= (np.inf if threshold is None else threshold)
        return bool(self.weights[kept] @ (self.correct[kept] - (target - 1e-9)) < 0)

    def found(self, target: float, rng: np.random.Generator, floor: float | None) -> float | None:
        """The product's threshold on a draw above a floor."""
        inside = np.flatnonzero(self.scores >= (-np.inf if floor is None else floor))
        rows = rng.choice(inside, self.labelled, p=self.weights[inside] / self.weights[inside].sum())
        names = [f"q{at}" for at in range(self.labelled)]
        asked = partial(guaranteed_threshold, target=target, delta=DELTA, reference=self.scores, floor=floor)
        result = asked(self.scores[rows], self.correct[rows], names)
        return result.threshold if isinstance(result, Guarantee) else None

    def trust_or_escalate(self, target: float, rng: np.random.Generator) -> float | None:
        """Jung, Brahman and Choi ("Trust or Escalate", 2024): from the highest confidence down in steps of .001."""
        rows = rng.choice(len(self.scores), self.labelled, p=self.weights / self.weights.sum())
        grid = 1 - np.arange(1, 1000) / 1000
        above = self.scores[rows, None] >= grid
        number, wrong = above.sum(axis=0), (above & ~self.correct[rows, None]).sum(axis=0)
        p_values = bdtr(wrong.astype(np.float64), np.maximum(number, 1), 1 - target)
        possible = np.flatnonzero(target**number <= DELTA)  # steps that cannot pass depend on no label
        passing = np.logical_and.accumulate(p_values[possible] <= DELTA)
        return float(grid[possible[passing.sum() - 1]]) if passing.any() else None

    def bound(self, target: float, rng: np.random.Generator, ranks: int = 25, draws: int = 400) -> float:
        """What any valid rule can keep on average that sees one judgment of each randomly drawn question."""
        order = np.argsort(-self.scores, kind="stable")
        wrong, weights = 1.0 - self.correct[order], self.weights[order] / self.weights.sum()
        steps = isotonic_regression(wrong, weights=weights).x
        _, place, sizes = np.unique(steps, return_inverse=True, return_counts=True)
        error = (steps * sizes[place] + wrong.mean()) / (sizes[place] + 1)  # one mean judgment added to each step
        reached = []
        for share in (np.arange(ranks) + 0.5) / ranks:
            top = np.arange(len(order)) < max(1, round(share * len(order)))
            if weights[top] @ (error[top] - (1 - target)) >= 0:
                reached.append(DELTA)  # the promise is broken here in truth
                continue
            e, w = logit(error[top]), weights[top]
            by = brentq(lambda shift, e=e, w=w: w @ (expit(e + shift) - (1 - target)), 0, 30)
            false = np.where(top, expit(logit(error) + by), np.maximum(error, 1 - target))
            gain = np.stack([np.log((1 - false) / (1 - error)), np.log(false / error)])  # of a right and a wrong one
            at = rng.choice(len(order), (2, draws, self.labelled), p=weights)
            drawn = rng.random(at.shape) < np.stack([false[at[0]], error[at[1]]])
            ratio = np.where(drawn, gain[1][at], gain[0][at]).sum(axis=2)
            reached.append(float((ratio[1] <= np.quantile(ratio[0], DELTA)).mean()))
        return float(np.mean(reached))


RULES: dict[str, Callable[[Recorded, float, np.random.Generator], float | None]] = {
    "labels at random": lambda one, target, rng: one.found(target, rng, None),
    "labels above the floor of `calibrate plan`": lambda one, at, rng: one.found(at, rng, floor_for(one.scores, at)),
    "Trust or Escalate": Recorded.trust_or_escalate,
}


def recorded(data: Path, splits: int) -> list[Recorded]:
    """The populations of JudgeBench, four judges in each split."""
    source = open_judgments([str(data / "judgebench")])
    table = build_table(source.all(), None, report=lambda one: one.judge in JUDGES).sorted()
    table = table.select(table.labelled)
    names, place = np.unique(np.array(table.questions), return_inverse=True)
    found = []
    for seed in range(splits):
        order = np.random.default_rng([seed, 23]).permutation(len(names))
        fitted = np.isin(place.ravel(), order[: round(0.3 * len(names))])
        calibration = fit_calibration(table.select(fitted), seed=seed, repeats=1)
        for judge in JUDGES:
            mine = np.array([one == judge for one in table.judges])
            rows = table.select(~fitted & mine)
            size = np.unique(np.array(rows.questions), return_inverse=True, return_counts=True)
            scores = rounded(np.ma.getdata(calibration.probabilities(rows).probabilities))
            number = round(0.5 * len({*table.select(mine).questions}))
            found.append(Recorded(scores, rows.correct, 1 / size[2][size[1].ravel()], number))
    return found


def coverage_lines(populations: Sequence[Recorded], redraws: int) -> list[str]:
    """Coverage at each target, and the largest share of draws whose threshold breaks the promise."""
    lines = ["| rule | " + " | ".join(f"{one:.2f}" for one in TARGETS) + " | broken |", "| --- |" + " --- |" * 4]
    for name, rule in RULES.items():
        kept, broken = np.zeros((3, len(populations), redraws)), np.zeros((3, len(populations), redraws))
        for at, one in enumerate(populations):  # one table of the test is made for each number of labels and target
            for t, target in enumerate(TARGETS):
                for draw in range(redraws):
                    found = rule(one, target, np.random.default_rng([at, draw]))
                    kept[t, at, draw] = one.kept(found)
                    broken[t, at, draw] = one.breaks(found, target)
        cells = [f"{value:.3f}" for value in kept.mean(axis=(1, 2))]
        lines.append(f"| {name} | {' | '.join(cells)} | {100 * broken.mean(axis=(1, 2)).max():.1f} % |")
    bounds = [np.mean([one.bound(t, np.random.default_rng(7)) for one in populations]) for t in TARGETS]
    lines.append(f"| bound of any valid rule, labels at random | {' | '.join(f'{one:.3f}' for one in bounds)} | |")
    return lines


def main(
    repetitions: Annotated[int, typer.Option(min=1)] = 4000,
    data: Annotated[Path | None, typer.Option(help="The folder of recorded sets; without it, validity alone.")] = None,
    splits: Annotated[int, typer.Option(min=1)] = 20,
    redraws: Annotated[int, typer.Option(min=1)] = 10,
) -> None:
    """Measure whether promises are kept, and what they keep."""
    error = (DELTA * (1 - DELTA) / repetitions) ** 0.5
    print(f"| population | broken | standard error | at most {100 * (DELTA + 2 * error):.1f} % |\n|" + " --- |" * 4)
    for name, population in POPULATIONS.items():
        share = population.broken(repetitions)
        kept = "yes" if share <= DELTA + 2 * error else "no"
        kept = ("refused; this if declared random" if refused() else "not refused") if population.worst else kept
        own = (share * (1 - share) / repetitions) ** 0.5
        print(f"| {name} | {100 * share:.2f} % | {100 * own:.2f} | {kept} |", flush=True)
    if data is not None:
        with threadpool_limits(limits=1):
            print("", *coverage_lines(recorded(data, splits), redraws), sep="\n")


if __name__ == "__main__":
    typer.run(main)
