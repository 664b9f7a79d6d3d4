"""What a cascade saves at equal precision, on recorded verdicts.

    python benchmarks/cascade.py DATA_DIR [--repeats 10] [--resamples 1000] [--cut .5,.7] [--given-up 0]
                                 [--json OUT]

DATA_DIR has ``judgebench/`` and ``llmbar/``. Nothing is asked: **the stages are replayed**. A stage is a model that
judges the item blind in both orders, as strategy ``rejudge`` has it do; its score is the support of its two recorded
verdicts for the judgment that is vetted. What is real: verdicts, labels, the fitting and choosing of curves and band.
What is simulated: that these verdicts were asked for as meta-judgments, and dollars: list prices
(PaLM2's and Mercury's, in no price list, are assumed) over tokens estimated as a quarter of the characters of
question and responses (twice, once an order) and of the recorded text, in which a model's hidden reasoning is missing.

Curves and band are chosen on four fifths of the questions (the band on out-of-fold probabilities within them) and
applied to the fifth, five times round, with several divisions. The reference asks the last stage about everything, with
the same cut and curves. ``--given-up`` lets the band lose so much precision, and so large a share of the kept, on the
questions it is chosen on. Differences are cascade minus reference on the same judgments; intervals are percentiles over
resampled questions, all divisions together.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import typer

from metajudge.calibration.cascade_fit import (
    StagedScores,
    choose_band,
    fit_curve,
    last_stage_alone,
    out_of_fold,
    probabilities,
    run_cascade,
    says_something,
)
from metajudge.calibration.folds import question_folds
from metajudge.judging.support import support
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import Judgment, Pairwise, text_digest

FOLDS = 5
_FIGURES = 6


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A judge in the records, and its list price in dollars a million tokens of input and output."""

    judge: str
    price: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Study:
    """Whose judgments are vetted, and by which stages."""

    folder: str
    vetted: str
    stages: tuple[RecordedModel, RecordedModel]


MERCURY_CODER = RecordedModel("openrouter/inception/mercury-coder", (0.25, 1.0))
HAIKU = RecordedModel("claude-3-haiku-20240307", (0.25, 1.25))
MINIMAX = RecordedModel("openrouter/minimax/minimax-m2.1", (0.3, 1.2))
CHATGPT = RecordedModel("ChatGPT/Vanilla", (0.5, 1.5))
PALM2 = RecordedModel("PaLM2/Vanilla", (1.0, 2.0))
GPT4 = RecordedModel("GPT-4/Vanilla", (30.0, 60.0))

STUDIES = (
    Study("judgebench", "openrouter/inception/mercury", (MERCURY_CODER, MINIMAX)),
    Study("judgebench", "claude-3-haiku-20240307", (MERCURY_CODER, MINIMAX)),
    Study("judgebench", "openrouter/inception/mercury", (HAIKU, MINIMAX)),
    Study("llmbar", "PaLM2/CoT", (CHATGPT, GPT4)),
    Study("llmbar", "ChatGPT/CoT", (PALM2, GPT4)),
    Study("llmbar", "LLaMA2/CoT", (PALM2, GPT4)),
)


@dataclass(frozen=True, slots=True)
class DifferenceInterval:
    """A mean over divisions, and the 2.5 and 97.5 percentiles over resampled questions."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:6.1f} [{100 * self.low:6.1f}, {100 * self.high:6.1f}]"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one study found, in shares of judgments; None where the last stage alone, or the cascade, keeps nothing."""

    vetted: str
    stages: tuple[str, ...]
    cut: float
    judgments: int
    questions: int
    left_out: int
    raw_precision: float
    reference_precision: DifferenceInterval | None
    reference_kept: DifferenceInterval | None
    precision_difference: DifferenceInterval | None
    kept_difference: DifferenceInterval | None
    strong_calls_saved: DifferenceInterval | None
    dollars_saved: DifferenceInterval | None


def load(study: Study, folder: Path) -> tuple[StagedScores, int]:
    """The vetted judgments that have a score by both stages, and how many do not."""
    wanted = {study.vetted, *(stage.judge for stage in study.stages)}
    judgments: dict[tuple[str, str], list[Judgment]] = defaultdict(list)
    vetted: list[Judgment] = []
    for judgment in open_judgments([str(folder / study.folder)]):
        if judgment.judge not in wanted:
            continue
        if judgment.judge == study.vetted and judgment.correct is not None:
            vetted.append(judgment)
        judgments[judgment.judge, judgment.item.id].append(judgment)
    rows = [(one, scores) for one in vetted if (scores := _scores(study, one, judgments)) is not None]
    data = StagedScores(
        scores=np.array([scores for _, scores in rows]),
        correct=np.array([one.correct is True for one, _ in rows]),
        questions=tuple(text_digest(one.item.opening) for one, _ in rows),
        costs=np.array([_costs(study, one, judgments) for one, _ in rows]),
    )
    return data, len(vetted) - len(rows)


def _games(judge: str, judgment: Judgment, judgments: dict[tuple[str, str], list[Judgment]]) -> list[Judgment]:
    """A judge's two games on an item, one an order; nothing where one is missing or has no verdict."""
    by_order = {one.order: one for one in judgments[judge, judgment.item.id] if isinstance(one.verdict, Pairwise)}
    return list(by_order.values()) if len(by_order) == 2 else []


def _scores(study: Study, judgment: Judgment, judgments: dict[tuple[str, str], list[Judgment]]) -> list[float] | None:
    found = []
    assert judgment.verdict is not None
    for stage in study.stages:
        games = _games(stage.judge, judgment, judgments)
        if not games:
            return None
        found.append(
            3 + 2 * support(judgment.verdict, [one.verdict for one in games if isinstance(one.verdict, Pairwise)])
        )
    return found


def _costs(study: Study, judgment: Judgment, judgments: dict[tuple[str, str], list[Judgment]]) -> list[float]:
    shown = len(judgment.item.question) + sum(map(len, judgment.item.responses.values()))
    costs = []
    for stage in study.stages:
        written = sum(len(one.rationale or "") for one in _games(stage.judge, judgment, judgments))
        costs.append((2 * shown / 4 * stage.price[0] + written / 4 * stage.price[1]) / 1e6)
    return costs


@dataclass(frozen=True, slots=True)
class Held:
    """What cascade and reference decided about every judgment while it was held out."""

    accepted: Bools
    strong: Bools
    cost: Floats
    reference: Bools
    reference_cost: Floats


def held_out(data: StagedScores, cut: float, seed: int, given_up: float = 0.0) -> Held:
    """Plans on the other folds and decides on each."""
    n = len(data.correct)
    accepted, strong, reference = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    cost, reference_cost = np.zeros(n), np.zeros(n)
    folds = question_folds(data.questions, FOLDS, [seed])
    for fold in range(FOLDS):
        inside, outside = data.select(folds != fold), folds == fold
        # A first stage that says nothing decides nothing: all goes to the last one.
        knows = says_something(inside.scores[:, 0], inside.correct)
        band = (0.0, 1.0)
        if knows:
            band = choose_band(
                out_of_fold(inside, folds=FOLDS, seed=seed),
                inside.correct,
                inside.costs,
                cut,
                precision_given_up=given_up,
                kept_given_up=given_up,
            )
        fitted = [fit_curve(inside.scores[:, stage], inside.correct) for stage in range(2)]
        held = data.select(outside)
        p = probabilities(held, fitted)
        run, alone = run_cascade(p, held.costs, band, cut), last_stage_alone(p, held.costs, cut)
        accepted[outside], strong[outside], cost[outside] = run.accepted, run.decided_by == 1, run.cost
        reference[outside], reference_cost[outside] = alone.accepted, alone.cost
    return Held(accepted, strong, cost, reference, reference_cost)


def study_findings(study: Study, data: StagedScores, left_out: int, cut: float, args: SimpleNamespace) -> Finding:
    """Differences between cascade and reference, with intervals."""
    names, place = np.unique(np.array(data.questions), return_inverse=True)
    rows = [np.flatnonzero(place == number) for number in range(len(names))]
    rng = np.random.default_rng(args.seed)
    points, draws = [], []
    for seed in range(args.repeats):
        held = held_out(data, cut, seed, args.given_up)
        points.append(_figures(held, data.correct, np.arange(len(place))))
        for _ in range(args.resamples // args.repeats):
            chosen = rng.integers(0, len(names), len(names))
            draws.append(_figures(held, data.correct, np.concatenate([rows[number] for number in chosen])))
    intervals = [_interval([row[n] for row in points], [row[n] for row in draws]) for n in range(_FIGURES)]
    return Finding(
        study.vetted,
        tuple(stage.judge for stage in study.stages),
        cut,
        len(data.correct),
        len(names),
        left_out,
        float(data.correct.mean()),
        *intervals,
    )


def _interval(points: Sequence[float | None], draws: Sequence[float | None]) -> DifferenceInterval | None:
    """None where there is nothing to count in some division; draws without anything to count are left out."""
    values = [one for one in points if one is not None]
    drawn = [one for one in draws if one is not None]
    if len(values) < len(points):
        return None
    low, high = np.percentile(drawn, [2.5, 97.5])
    return DifferenceInterval(float(np.mean(values)), float(low), float(high))


def _figures(held: Held, correct: Bools, rows: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> list[float | None]:
    accepted, reference, right = held.accepted[rows], held.reference[rows], correct[rows]
    mine = float(right[accepted].mean()) if accepted.any() else None
    other = float(right[reference].mean()) if reference.any() else None
    return [
        other,
        float(reference.mean()),
        None if mine is None or other is None else mine - other,
        float(accepted.mean() - reference.mean()),
        float(1 - held.strong[rows].mean()),
        float(1 - held.cost[rows].sum() / held.reference_cost[rows].sum()),
    ]


def report(findings: Sequence[Finding]) -> Iterator[str]:
    """The findings as text; in per cent."""
    for one in findings:
        yield f"{one.vetted}, vetted by {' then '.join(one.stages)}; cut {one.cut:g}"
        yield (
            f"  n = {one.judgments} judgments of {one.questions} questions, {one.left_out} left out (a stage has no "
            f"verdict in both orders); raw precision {100 * one.raw_precision:.1f}"
        )
        yield f"  last stage alone: precision {one.reference_precision}, kept {one.reference_kept}"
        yield f"  cascade minus that: precision {one.precision_difference}, kept {one.kept_difference}"
        yield f"  saved: strong calls {one.strong_calls_saved}, dollars {one.dollars_saved}"


def main(
    ctx: typer.Context,
    data: Path,
    repeats: int = 10,
    resamples: int = 1000,
    cut: str = ".5,.7",
    given_up: float = 0.0,
    seed: int = 0,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Reads the arguments, runs every study, prints and writes what was found."""
    args = SimpleNamespace(**ctx.params)
    findings = []
    for study in STUDIES:
        found, left_out = load(study, data)
        findings += [study_findings(study, found, left_out, float(one), args) for one in cut.split(",")]
    print("\n".join(report(findings)))
    if out is not None:
        out.write_text(json.dumps([asdict(one) for one in findings], indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
