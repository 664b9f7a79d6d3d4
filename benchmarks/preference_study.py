"""What vetting buys a preference dataset: the share of wrong pairs with and without it, on labelled judgments.

    python benchmarks/preference_study.py DATA_DIR [--judges /CoT --judges /Vanilla] [--signals order,strength,peers]
        [--target 0.9] [--delta 0.1] [--min-probability 0.8] [--seed 0] [--json OUT]

DATA_DIR has LLMBar's recorded judgments (items with labels). For every judge whose name ends in one of ``--judges``
the export itself is run over that judge's judgments, both orders reconciled by the rule ``unanimous``, under four
selections:

- ``all``: every verdict;
- ``vetted``: accepted by ``metajudge vet`` without a model, from free evidence at its default threshold of 4.5;
- ``probability``: a calibrated probability of at least ``--min-probability``, out of fold by question;
- ``guarantee``: at or above a guaranteed threshold. Questions are divided into three parts; the calibration is fitted
  on one, the threshold is set on the second, and pairs are exported from the third, in each of the three rotations: no
  question is judged by a fit or a threshold that saw it.

A pair is wrong where its chosen response is the labelled worse one. Printed for each: pairs, wrong share and its 95 %
Wilson interval (a pair is a question, so pairs are independent), and how many parts of three abstained. Peers are all
other judges in the data, dozens of them; ``--signals order,strength,rationale`` shows what a judge's own records give.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import typer

from metajudge.calibration.fit import fit_calibration, out_of_fold
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.table import SignalTable, build_table
from metajudge.errors import InputError
from metajudge.preferences import ExportRequest, Selection, export
from metajudge.readers import open_judgments
from metajudge.stats.intervals import wilson
from metajudge.types import Assessment, GuaranteedThreshold, Judgment
from metajudge.vetting.engine import Engine

SIGNALS = "order,strength,peers,rationale"
PARTS = 3


@dataclass(frozen=True, slots=True)
class WrongShare:
    """Wrong pairs among those exported; ``low`` and ``high`` are absent where there is no pair."""

    judge: str
    selection: str
    pairs: int
    wrong: int
    low: float | None
    high: float | None
    abstained: int = 0

    def line(self) -> str:
        head = f"{self.judge:<34} {self.selection:<12} {self.pairs:>6}"
        if not self.pairs:
            return f"{head}      -" + (f"   (abstained in {self.abstained} of {PARTS} parts)" if self.abstained else "")
        share = f"{100 * self.wrong / self.pairs:6.1f} % [{100 * (self.low or 0):4.1f}, {100 * (self.high or 0):4.1f}]"
        return f"{head} {share}" + (f"   (abstained in {self.abstained} of {PARTS} parts)" if self.abstained else "")


@dataclass(frozen=True, slots=True)
class Bars:
    """Probabilities and guaranteed thresholds for the rotation in which a judgment is exported.

    Attributes:
        probabilities: judgment id -> probability by a fit on other questions.
        thresholds: (judge, part) -> guaranteed threshold, where there is one.
        part: judgment id -> the part it is exported from.
    """

    probabilities: Mapping[str, float]
    thresholds: Mapping[tuple[str, int], Guarantee]
    part: Mapping[str, int]

    def abstained(self, judge: str) -> int:
        return sum((judge, part) not in self.thresholds for part in range(PARTS))


def rotate(table: SignalTable, target: float, delta: float, seed: int) -> Bars:
    """Fits on one part of the questions, sets each judge's threshold on the next, applies both to the third."""
    names, place = np.unique(np.array(table.questions, dtype=str), return_inverse=True)
    of_question = np.arange(len(names)) % PARTS
    part = np.random.default_rng([seed, 41]).permutation(of_question)[place.ravel()]
    probabilities: dict[str, float] = {}
    thresholds: dict[tuple[str, int], Guarantee] = {}
    judges = np.array(table.judges)
    for number in range(PARTS):
        fitted = fit_calibration(table.select(np.flatnonzero(part == (number + 1) % PARTS)), seed=seed, repeats=1)
        setting = table.select(np.flatnonzero(part == (number + 2) % PARTS))
        scores = np.ma.getdata(fitted.probabilities(setting).probabilities)
        for judge in sorted(set(judges)):
            mine = np.flatnonzero(np.array(setting.judges) == judge)
            found = guaranteed_threshold(
                scores[mine],
                setting.correct[mine],
                [setting.questions[index] for index in mine],
                target=target,
                delta=delta,
                judges=[judge],
            )
            if isinstance(found, Guarantee):
                thresholds[judge, number] = found
        exported = table.select(np.flatnonzero(part == number))
        values = np.ma.getdata(fitted.probabilities(exported).probabilities)
        probabilities.update(zip(exported.judgment_ids, values.tolist(), strict=True))
    return Bars(probabilities, thresholds, dict(zip(table.judgment_ids, part.tolist(), strict=True)))


def with_probability(vetted: Assessment, value: float | None, bar: Guarantee | None = None) -> Assessment:
    """An assessment as ``metajudge vet --calibration`` would have completed it."""
    guarantee = None
    if bar is not None:
        guarantee = GuaranteedThreshold(threshold=bar.threshold, target=bar.target, delta=bar.delta)
    probability = None if value is None else round(value, 9)
    return vetted.model_copy(update={"probability": probability, "guarantee": guarantee})


async def vet_by_evidence(folder: Path, judges: set[str]) -> dict[str, Assessment]:
    """Judgment id -> its assessment by free evidence, which is taken from all judges' records."""
    found: dict[str, Assessment] = {}
    async with Engine() as engine:
        source = open_judgments([folder], judges=judges)
        await engine.vet_all(source, on_result=lambda _, judgment, vetted: found.update({judgment.id: vetted}))
    return found


def wrong_share(
    judge: str, name: str, selection: Selection, judgments: Sequence[Judgment], vetted: Sequence[Assessment], work: Path
) -> WrongShare:
    """Exports one judge's pairs under one selection and counts the wrong ones."""
    out = work / "pairs"
    shutil.rmtree(out, ignore_errors=True)
    request = ExportRequest(selection=selection, format="jsonl", truncation="keep")
    try:
        export(out, request, judgments=judgments, assessments=vetted)
    except InputError as error:
        if not any(words in str(error) for words in ("nothing is left", "no stored guarantee")):
            raise
        return WrongShare(judge, name, 0, 0, None, None)
    better = {one.item.id: one.item.label.winner for one in judgments if one.item.label is not None}
    rows = [json.loads(line) for path in sorted((out / "data").iterdir()) for line in path.open("rb")]
    wrong = sum(row["chosen_id"] != better[row["item_id"]] for row in rows)
    interval = wilson(wrong, len(rows))
    return WrongShare(judge, name, len(rows), wrong, interval.low, interval.high)


def study(folder: Path, endings: Sequence[str], given: SimpleNamespace, work: Path) -> list[WrongShare]:
    """All judges under all selections."""
    source = open_judgments([folder])
    judgments = [one for one in source.all() if one.judge.endswith(tuple(endings)) and one.correct is not None]
    wanted = {one.id for one in judgments}
    table = build_table(source.all(), given.signals.split(","), report=lambda one: one.id in wanted).sorted()
    free = dict(zip(table.judgment_ids, out_of_fold(table, seed=given.seed).tolist(), strict=True))
    bars = rotate(table, given.target, given.delta, given.seed)
    assessments = asyncio.run(vet_by_evidence(folder, {one.judge for one in judgments}))
    found: list[WrongShare] = []
    for judge in sorted({one.judge for one in judgments}):
        judged = [one for one in judgments if one.judge == judge]
        vetted = [assessments[one.id] for one in judged]
        by_probability = [with_probability(one, free.get(one.judgment_id)) for one in vetted]
        by_guarantee = [
            with_probability(
                one,
                bars.probabilities.get(one.judgment_id),
                bars.thresholds.get((judge, bars.part.get(one.judgment_id, -1))),
            )
            for one in vetted
        ]
        ways = (
            ("all", Selection(rule="all"), vetted),
            ("vetted", Selection(), vetted),
            (
                "probability",
                Selection(rule="min_probability", min_probability=given.min_probability),
                by_probability,
            ),
            ("guarantee", Selection(rule="guarantee", target=given.target, delta=given.delta), by_guarantee),
        )
        for name, selection, given_with in ways:
            share = wrong_share(judge, name, selection, judged, given_with, work)
            if name == "guarantee":
                share = replace(share, abstained=bars.abstained(judge))
            found.append(share)
    return found


def main(
    ctx: typer.Context,
    data: Path,
    judges: Annotated[list[str] | None, typer.Option()] = None,
    signals: str = SIGNALS,
    target: float = 0.9,
    delta: float = 0.1,
    min_probability: float = 0.8,
    seed: int = 0,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Prints the table."""
    given = SimpleNamespace(**ctx.params)
    folder = data / "llmbar" if (data / "llmbar").is_dir() else data
    with tempfile.TemporaryDirectory() as work:
        found = study(folder, judges or ("/CoT", "/Vanilla"), given, Path(work))
    print(f"{'judge':<34} {'selection':<12} {'pairs':>6}  wrong pairs, 95 % interval")
    for share in found:
        print(share.line())
    for name in ("all", "vetted", "probability", "guarantee"):
        mine = [share for share in found if share.selection == name]
        print(f"{'all judges':<34} {name:<12} {sum(one.pairs for one in mine):>6} {_percent(mine)}")
    if out is not None:
        out.write_text(json.dumps([asdict(share) for share in found], indent=1))


def _percent(shares: Sequence[WrongShare]) -> str:
    pairs, wrong = sum(one.pairs for one in shares), sum(one.wrong for one in shares)
    return f"{100 * wrong / pairs:6.1f} % (judges share questions: no interval)" if pairs else "     -"


if __name__ == "__main__":
    main.__doc__ = __doc__
    typer.run(main)
