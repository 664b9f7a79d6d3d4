"""What verdicts kept by free evidence alone are worth on labelled sets, and what other cuts in agreement would keep.

``metajudge bench perf free-evidence DATA [--write metajudge/vetting/worth.json]``; DATA has the folders of the
benchmarks. LLMBar's adversarial questions, on which most judges share their errors, are a set of their own.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer

from metajudge.evidence.columns import compare
from metajudge.evidence.counting import correctness
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.verdicts import collected
from metajudge.reading import open_judgments
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.panel import THRESHOLD
from metajudge.types import Judgment, kind_of
from metajudge.vetting.outcomes import outcomes_of

from .benchmark import BENCHMARKS, find_folder

CUTS: Final = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
FEWEST: Final = 100
"""Verdicts kept that a judge needs to be named."""
ADVERSARIAL: Final = "LLMBar/Adversarial"
"""How the categories of LLMBar's adversarial questions begin."""
PANEL: Final = Panel((), StrategyName.SIGNALS, THRESHOLD)


def measured(judgments: Sequence[Judgment]) -> dict[str, Any]:
    """Kept and right of one set, with its evidence: as vetting decides, by the share of peers, and its log loss."""
    facts = collected(judgments)
    rules = facts.rules(None)
    found = outcomes_of(facts, lambda _: PANEL)
    right = correctness(facts, {kind: rules.of(kind) for kind in rules.kinds})
    known = right >= 0
    kept = np.array([one.accepted is True for one in found.results], dtype=bool)[found.codes] & known
    peers = compare(replace(facts, copies=dependence_of(facts, rules).copies), rules).peers
    each = np.array([np.nan if one.share is None else one.share for one in peers.values])[peers.codes]
    told = known & ~np.isnan(each)
    share, said = each[told], right[told] == 1
    loss = -np.log(np.where(said, share, 1 - share)).mean() if len(share) else math.nan
    return {
        "kind": next((kind_of(one.verdict) for one in judgments if one.verdict is not None), None),
        "labelled": int(known.sum()),
        "right": round(float((right[known] == 1).mean()), 3),
        "kept": int(kept.sum()),
        "kept_right": int((right[kept] == 1).sum()),
        "log_loss_of_share": round(float(loss), 3),
        "by_share": {
            f"{cut:g}": [int((share >= cut - 1e-9).sum()), int(said[share >= cut - 1e-9].sum())] for cut in CUTS
        },
    }


def alone(every: Sequence[tuple[str, list[Judgment]]]) -> dict[str, Any]:
    """What verdicts that each judge repeats in both orders are worth: lowest and highest share right, middle half."""
    found = []
    for name, judgments in every:
        for judge in sorted({one.judge for one in judgments}):
            mine = measured([one for one in judgments if one.judge == judge])
            if mine["kept"] >= FEWEST:
                found.append({"name": f"{judge}, {name}", "kept": mine["kept"], "kept_right": mine["kept_right"]})
    found.sort(key=lambda one: (one["kept_right"] / one["kept"], one["name"]))
    ends = np.quantile([one["kept_right"] / one["kept"] for one in found], (0.25, 0.75)).round(3).tolist()
    return {"judges": len(found), "lowest": found[0], "middle_half": ends, "highest": found[-1]}


def sets(data: Path) -> Iterator[tuple[str, list[Judgment]]]:
    """The sets with their names."""
    for benchmark in BENCHMARKS.values():
        every = list(open_judgments([str(find_folder(benchmark.card, data))]).all())
        for apart, words in ((True, f"{benchmark.card.title}, adversarial"), (False, benchmark.card.title)):
            if chosen := [one for one in every if (one.item.category or "").startswith(ADVERSARIAL) == apart]:
                yield words, chosen


def main(
    data: Annotated[Path, typer.Argument(help="Folder of the benchmarks' folders.", show_default=False)],
    write: Annotated[Path | None, typer.Option(help="File for what vetting prints.", show_default=False)] = None,
) -> None:
    """Measures and prints."""
    every_set = list(sets(data))
    rows = [{"name": name, **measured(every)} for name, every in every_set]
    by_judge = alone(every_set)
    for row in rows:
        share = 100 * row["kept_right"] / max(row["kept"], 1)
        print(f"{row['name']} ({row['kind']}): {row['labelled']} labelled, {100 * row['right']:.1f} % right")
        print(f"  kept {row['kept']}, {share:.1f} % right; log loss of the share {row['log_loss_of_share']:.3f}")
        cuts = [f"{cut}: {n} kept, {100 * hits / max(n, 1):.1f}" for cut, (n, hits) in row["by_share"].items()]
        print(f"  by a share from {'; '.join(cuts)} % right")
    print(f"each judge alone, the same in both orders: {json.dumps(by_judge)}")
    if write is not None:
        fields = ("name", "kind", "labelled", "kept", "kept_right")
        kept = [{name: row[name] for name in fields} for row in rows if row["kept"]]
        command = "python -m metajudge.benchmarks.free_evidence DATA --write metajudge/vetting/worth.json"
        write.write_text(json.dumps({"command": command, "sets": kept, "alone": by_judge}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)
