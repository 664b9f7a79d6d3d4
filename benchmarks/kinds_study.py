"""What a calibration keeps of recorded pairs, choices of the best of four, and categories, beside simpler ways.

    python benchmarks/kinds_study.py --data DIR [--seeds 5] [--splits 10] [--set NAME]... [--json OUT]

DIR contains the folders ``mtbench``, ``realmistake``, ``themis_rewardbench2`` and ``judgebench`` (any may be missing).
For each set, of the judgments kept at four shares, how many are right in per cent:

- ``calibrated``: as ``metajudge calibrate fit`` makes probabilities, out of fold by question with the model chosen
  inside every fold; mean over the seeds of the folds, and their standard deviation.
- ``Dawid-Skene``: without labels; the probability of a judgment's answer in the model of Dawid and Skene (1979), with
  full confusion matrices for categories and one accuracy for each voter elsewhere, where classes and orders are
  shuffled within each item, since the place of the right answer in the record is no evidence.
- ``majority of peers``: the share of the other judges that agree.
- ``best single signal``: the column that keeps most right ones at 60 %, chosen with the labels: no one could.

Of RewardBench 2 only the passes count in which every candidate stands at every place once (``P2b``): in the others some
wrong candidates stand first more often than the right one, which a judge's own habits then give away.

``--splits`` seeks thresholds with a guarantee: a calibration is fitted on 40 % of the questions, the threshold is
sought on 40 % with one judgment drawn from each, and measured on the rest; delta .1. An abstention counts as 0.
``approximate`` is the coverage where out-of-fold probabilities of all questions are fitted and searched, as
``calibrate threshold --questions all`` does: mean over the seeds.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.calibration.fit import fit_calibration, out_of_fold
from metajudge.calibration.folds import question_split
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.quality import precision_at
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import Category, Judgment, kind_of
from metajudge.voting.dawid_skene import dawid_skene

SHARES = (0.8, 0.6, 0.5, 0.4)
TARGETS = (0.85, 0.9)
DELTA = 0.1
TOLERANCE = 1e-9
MOST_ORDERS = 4
"""Orders in which a judge saw an item, at most."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded set.

    Attributes:
        folder: in the folder of all data.
        evidence: which of its judgments are records.
        report: which of them are rows.
    """

    folder: str
    evidence: Callable[[Judgment], bool] = lambda _: True
    report: Callable[[Judgment], bool] = lambda _: True


def _prompt(name: str) -> Callable[[Judgment], bool]:
    return lambda judgment: str(judgment.meta.get("judge_prompt", "")).endswith(name)


SETS: Mapping[str, Recorded] = {
    "MT-Bench, GPT-4": Recorded("mtbench", report=lambda one: one.judge == "gpt-4-0613-pair"),
    "RewardBench 2, five judges": Recorded("themis_rewardbench2", lambda one: one.meta.get("phase") == "P2b"),
    **{f"ReaLMistake, prompt {n}": Recorded("realmistake", _prompt(f"prompt_{n}")) for n in (1, 2, 3, 4)},
    "ReaLMistake, step by step": Recorded("realmistake", _prompt("cot_instruction_prompt")),
    "JudgeBench, six judges of Claude pairs": Recorded(
        "judgebench", report=lambda one: any("claude" in name for name in (one.item.models or {}).values())
    ),
}


def posteriors(judgments: Iterable[Judgment], seed: int = 0) -> dict[str, float]:
    """Judgment id -> probability of its answer without labels, by the model of Dawid and Skene.

    A voter is a judge in one of its orders, numbered at random within each item: where the right answer stands at one
    place in an order throughout, an order's accuracy would give it away. Repeats of one judge in one order count once,
    the first by id; verdicts without a winner do not count.
    """
    seen: dict[tuple[str, str], tuple[Judgment, str]] = {}
    rng = np.random.default_rng(seed)
    orders: dict[tuple[str, str], list[int]] = {}
    known: dict[tuple[str, str, tuple[str, ...]], int] = {}
    answers: dict[str, tuple[str, str]] = {}
    for judgment in sorted(judgments, key=lambda one: one.id):
        verdict = judgment.verdict
        if verdict is None:
            continue
        answer = str(verdict) if isinstance(verdict, Category) else verdict.winner
        if answer is None:
            continue
        answers[judgment.id] = (judgment.item.id, answer)
        numbers = orders.setdefault((judgment.item.id, judgment.judge), rng.permutation(MOST_ORDERS).tolist())
        key = (judgment.item.id, judgment.judge, judgment.order)
        number = known[key] if key in known else known.setdefault(key, numbers.pop())
        seen.setdefault((judgment.item.id, f"{judgment.judge}/{number}"), (judgment, answer))
    if not seen:
        return {}
    categories = all(isinstance(one.verdict, Category) for one, _ in seen.values())
    code: dict[tuple[str, str], int] = {}
    for judgment, answer in seen.values():
        item = judgment.item
        if (item.id, answer) not in code and not categories:
            places = rng.permutation(len(item.responses))
            code |= {(item.id, name): int(place) for name, place in zip(sorted(item.responses), places, strict=True)}
    labels: list[Any] = [answer if categories else code[one.item.id, answer] for one, answer in seen.values()]
    fitted = dawid_skene(
        [item for item, _ in seen],
        [voter for _, voter in seen],
        labels,
        model="full" if categories else "one_coin",
        smoothing=1.0,
    )
    item_at = {name: at for at, name in enumerate(fitted.items)}
    class_at = {name: at for at, name in enumerate(fitted.classes)}
    return {
        name: float(fitted.posterior[item_at[item], class_at[answer if categories else code[item, answer]]])
        for name, (item, answer) in answers.items()
    }


def at_shares(scores: Floats, correct: Bools) -> dict[str, float]:
    """Per cent right among the best of each share."""
    return {f"{share:.0%}": 100 * precision_at(scores, correct, share) for share in SHARES}


def compared(table: SignalTable, latent: Mapping[str, float], fitted: Sequence[Floats]) -> Iterator[dict[str, Any]]:
    """One row a method; ``fitted`` are the out-of-fold probabilities by seed."""
    runs = [at_shares(scores, table.correct) for scores in fitted]
    spread = {f"{name} sd": float(np.std([run[name] for run in runs])) for name in runs[0]}
    yield {"method": "calibrated", **{name: float(np.mean([run[name] for run in runs])) for name in runs[0]}, **spread}
    scores = np.array([latent.get(name, 0.0) for name in table.judgment_ids])
    yield {"method": "Dawid-Skene", **at_shares(scores, table.correct)}
    if "peers.support" in table.columns:
        yield {"method": "majority of peers", **at_shares(table.columns["peers.support"].values, table.correct)}
    singles = {name: at_shares(column.values, table.correct) for name, column in sorted(table.columns.items())}
    best = max(singles, key=lambda name: singles[name]["60%"])
    yield {"method": f"best single signal ({best})", **singles[best]}


def approximate(table: SignalTable, target: float, fitted: Sequence[Floats]) -> float:
    """Mean coverage of thresholds sought on out-of-fold probabilities of all questions."""
    found = []
    for scores in fitted:
        made = guaranteed_threshold(scores, table.correct, table.questions, target=target, delta=DELTA)
        found.append(float((scores >= made.threshold - TOLERANCE).mean()) if isinstance(made, Guarantee) else 0.0)
    return float(np.mean(found))


def guaranteed(table: SignalTable, splits: int, fitted: Sequence[Floats]) -> Iterator[dict[str, Any]]:
    """One row a target: mean coverage, pooled precision and abstentions over splits by question."""
    found: dict[float, list[tuple[int, int, int]]] = {target: [] for target in TARGETS}
    for seed in range(splits):
        fit_part = question_split(table.questions, 0.4, seed)
        rest = table.select(fit_part == 1)
        part = question_split(rest.questions, 2 / 3, seed)
        seek, test = rest.select(part == 0), rest.select(part == 1)
        calibration = fit_calibration(table.select(fit_part == 0), seed=seed, repeats=1)
        scores, held_out = (np.ma.getdata(calibration.probabilities(one).probabilities) for one in (seek, test))
        for target in TARGETS:
            made = guaranteed_threshold(scores, seek.correct, seek.questions, target=target, delta=DELTA)
            kept = held_out >= (made.threshold - TOLERANCE if isinstance(made, Guarantee) else np.inf)
            found[target].append((int(kept.sum()), int((kept & test.correct).sum()), len(test)))
    for target, each in found.items():
        kept_all = sum(kept for kept, _, _ in each)
        yield {
            "target": target,
            "coverage": float(np.mean([kept / size for kept, _, size in each])),
            "precision": sum(right for _, right, _ in each) / kept_all if kept_all else None,
            "abstained": sum(kept == 0 for kept, _, _ in each),
            "splits": splits,
            "approximate": approximate(table, target, fitted),
        }


def study(data: Path, names: Iterable[str], seeds: int, splits: int) -> Iterator[dict[str, Any]]:
    """One result a set that is there."""
    for name in names:
        one = SETS[name]
        folder = data / one.folder
        if not folder.is_dir():
            continue
        source = open_judgments([str(folder)])
        records = [judgment for judgment in source.all() if one.evidence(judgment)]
        kinds = {kind_of(judgment.verdict) for judgment in records if one.report(judgment) and judgment.verdict}
        signals = ["order", "strength", "peers"] if kinds == {"pairwise"} else None
        table = build_table(records, signals, report=one.report)
        table = table.select(table.labelled).sorted()
        fitted = [out_of_fold(table, seed=seed) for seed in range(seeds)]
        yield {
            "set": name,
            "kind": table.kind,
            "right": str(table.right),
            "n": len(table),
            "questions": len(set(table.questions)),
            "judges": len(set(table.judges)),
            "raw": 100 * float(table.correct.mean()),
            "methods": list(compared(table, posteriors(records), fitted)),
            "guarantees": list(guaranteed(table, splits, fitted)) if splits else [],
        }


def lines(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The results as two tables in Markdown."""
    made = list(found)
    yield "| set (n, questions) | raw | method | " + " | ".join(f"best {share:.0%}" for share in SHARES) + " |"
    yield "| --- " * (3 + len(SHARES)) + "|"
    for one in made:
        for method in one["methods"]:
            cells = [_cell(method, f"{share:.0%}") for share in SHARES]
            head = f"{one['set']} ({one['n']:,}, {one['questions']:,}) | {one['raw']:.1f}"
            yield f"| {head} | {method['method']} | " + " | ".join(cells) + " |"
    if any(one["guarantees"] for one in made):
        yield ""
        yield "| set | target | coverage | right among the kept | abstained | approximate coverage |"
        yield "| --- " * 6 + "|"
    for one in made:
        for row in one["guarantees"]:
            right = "-" if row["precision"] is None else f"{100 * row['precision']:.1f}"
            yield (
                f"| {one['set']} | {row['target']:g} | {100 * row['coverage']:.0f} % | {right} | "
                f"{row['abstained']} of {row['splits']} | {100 * row['approximate']:.0f} % |"
            )


def _cell(method: Mapping[str, float], name: str) -> str:
    spread = method.get(f"{name} sd")
    return f"{method[name]:.1f}" + ("" if spread is None else f" ({spread:.1f})")


def main(
    data: Annotated[Path, typer.Option("--data", metavar="DIR")],
    seeds: Annotated[int, typer.Option(min=1)] = 5,
    splits: Annotated[int, typer.Option(min=0)] = 10,
    sets: Annotated[list[str] | None, typer.Option("--set", help="Only sets with this in their name.")] = None,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Compare calibrated probabilities with simpler ways, and measure guaranteed thresholds."""
    names = [name for name in SETS if not sets or any(part in name for part in sets)]
    found = list(study(data, names, seeds, splits))
    for line in lines(found):
        print(line)
    if out:
        out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
