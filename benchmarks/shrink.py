"""Fits the two numbers of the shipped default, and measures them on every set with those of the other sets.

``metajudge bench perf shrink --data DIR [--write metajudge/calibration/shipped.json]``: DIR holds the recorded sets'
folders. Sets weigh the same, and the parts of a set share its weight.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.optimize import minimize
from scipy.special import expit

from metajudge.calibration.fit import data_digest
from metajudge.calibration.quality import log_losses
from metajudge.calibration.shipped import LeftOut, Prior, Shrink
from metajudge.calibration.sources import SHARE
from metajudge.calibration.table import build_table
from metajudge.reading import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import VERDICT_KINDS, Judgment, VerdictKind, kind_of

SETS = ("judgebench", "llmbar", "mtbench", "realmistake", "themis_rewardbench2")

PARTS = {"realmistake": "judge_prompt", "themis_rewardbench2": "phase"}
"""Set -> the field of ``meta`` by which it was recorded in parts."""

PLACES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Labelled judgments with a peer: log-odds of the share [n], and which are right [n]."""

    name: str
    of: str
    kind: VerdictKind
    odds: Floats
    correct: Bools
    data: str

    def loss(self, numbers: Shrink) -> float:
        """Mean log loss."""
        return float(log_losses(expit(numbers.level + numbers.slope * self.odds), self.correct).mean())

    @property
    def base(self) -> float:
        """Log loss of the part's own base rate."""
        return float(log_losses(np.full(len(self.correct), self.correct.mean()), self.correct).mean())


def read_parts(data: Path) -> Iterator[Part]:
    """The parts of every set below a folder."""
    for name in SETS:
        parts: defaultdict[tuple[str, VerdictKind], list[Judgment]] = defaultdict(list)
        for judgment in open_judgments([data / name]).all():
            said = judgment.verdict if judgment.verdict is not None else judgment.item.truth
            if said is not None:
                parts[str(judgment.meta.get(PARTS.get(name, ""), "")), kind_of(said)].append(judgment)
        for (part, kind), judgments in sorted(parts.items()):
            table = build_table(judgments, ["share"], kind=kind)
            rows = table.select(table.labelled & table.columns[SHARE].present)
            odds = rows.columns[SHARE].values
            yield Part(f"{name} {part}".strip(), name, rows.kind, odds, rows.correct, data_digest(rows))


def fitted(parts: Sequence[Part]) -> Shrink:
    """The two numbers with the least mean loss over sets."""
    sets = {part.of for part in parts}

    def loss(numbers: Floats) -> float:
        one = Shrink(level=float(numbers[0]), slope=float(numbers[1]))
        each = [np.mean([part.loss(one) for part in parts if part.of == name]) for name in sorted(sets)]
        return float(np.mean(each))

    found = minimize(loss, [0.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}).x
    return Shrink(level=round(float(found[0]), PLACES), slope=round(float(found[1]), PLACES))


def measured(parts: Sequence[Part]) -> tuple[LeftOut, ...]:
    """Every part with the numbers of the other sets."""
    of_others = {name: fitted([part for part in parts if part.of != name]) for name in {part.of for part in parts}}
    return tuple(
        LeftOut(
            name=part.name,
            kind=part.kind,
            n=len(part.correct),
            loss=round(part.loss(of_others[part.of]), PLACES),
            base=round(part.base, PLACES),
            data=part.data,
        )
        for part in parts
    )


def main(
    data: Annotated[Path, typer.Option(help="Folder of the recorded sets.", show_default=False)],
    write: Annotated[Path | None, typer.Option(help="File for the numbers.", show_default=False)] = None,
) -> None:
    """Prints what was measured, and writes the numbers where that is asked for."""
    parts = tuple(read_parts(data))
    numbers, command = fitted(parts), "python -m metajudge.benchmarks.shrink --data DIR --write FILE"
    today = datetime.now(UTC).date().isoformat()
    made = Prior(level=numbers.level, slope=numbers.slope, made=today, command=command, sets=measured(parts))
    print(f"log-odds {made.level:+.3f} {made.slope:+.3f} x log-odds of the share of peers")
    print(f"{'log loss on':<50} left out    share  base rate  (judgments)")
    share = Shrink(level=0.0, slope=1.0)
    for one, part in zip(made.sets, parts, strict=True):
        print(f"{one.name:<50} {one.loss:8.3f} {part.loss(share):8.3f} {one.base:10.3f}  ({one.n:,})")
    print(*map(made.sentence, VERDICT_KINDS), sep="\n")
    if write is not None:
        write.write_text(made.model_dump_json(indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)
