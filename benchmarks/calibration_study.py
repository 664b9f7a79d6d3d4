"""What a calibration keeps on recorded judgments, out of fold by question, over several seeds.

    python benchmarks/calibration_study.py DATA_DIR [--seeds 5] [--held-out 20] [--json OUT]

DATA_DIR contains the folders ``judgebench`` and ``llmbar`` (either may be missing). Printed for each judge and pooled:
precision of the best 80, 60 and 40 %, with the mean over seeds of 95 % intervals from resampled questions, area under
the curve and log loss, as mean and standard deviation over seeds of the folds; then the same as Markdown. The model is
chosen anew inside every fold (nested), as ``metajudge calibrate fit`` does it.

``--held-out N`` imitates a set of questions that come later: the calibration is fitted on all but 80 questions of the
Claude pairs, drawn N times, saved nowhere, and applied to the 80 with evidence computed over these alone.

For LLMBar one line a judge that asks for an explanation: raw precision, that of judgments whose two orders agree, and
that of as many judgments kept by the calibration. And what the two orders' agreement weighs: the difference of the
share of right ones between agreeing and other judgments, and the fitted log-odds that agreement adds over disagreement
with all other signals as they are (mean over the judgments).
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.calibration.fit import fit_calibration, out_of_fold
from metajudge.calibration.quality import auc, log_losses, precision_at
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.clustered import clustered_proportion
from metajudge.types import Judgment

HELD_OUT_QUESTIONS = 80
COVERAGES = (0.8, 0.6, 0.4)
POOLED = "all together"


def measures(probabilities: Floats, correct: Bools, questions: Sequence[str]) -> dict[str, float]:
    """Precision at each coverage in per cent with its interval's ends, area under the curve, log loss."""
    found: dict[str, float] = {"raw": 100 * float(correct.mean())}
    for share in COVERAGES:
        title = f"best {100 * share:.0f} %"
        edge = np.sort(probabilities)[::-1][max(1, round(share * len(probabilities))) - 1]
        kept = probabilities >= edge - 1e-9
        interval = clustered_proportion(correct[kept], np.array(questions)[kept])
        found |= {
            title: 100 * precision_at(probabilities, correct, share),
            f"{title} low": 100 * interval.low,
            f"{title} high": 100 * interval.high,
        }
    area = auc(probabilities, correct)
    return found | {
        "AUC": float("nan") if area is None else area,
        "log loss": float(log_losses(probabilities, correct).mean()),
    }


def by_judge(table: SignalTable, probabilities: Floats) -> dict[str, dict[str, float]]:
    """The measures of every judge, and of all judgments together."""
    judges, questions = np.array(table.judges), np.array(table.questions)
    found = {
        name: measures(probabilities[mine], table.correct[mine], questions[mine].tolist())
        for name in sorted(set(judges))
        for mine in [judges == name]
    }
    return found | ({POOLED: measures(probabilities, table.correct, table.questions)} if len(found) > 1 else {})


def over_seeds(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean and standard deviation over runs."""
    return {
        judge: {
            name: {"mean": float(np.mean(values)), "sd": float(np.std(values))}
            for name in runs[0][judge]
            for values in [[run[judge][name] for run in runs]]
        }
        for judge in runs[0]
    }


def report(judgment_of: str) -> Callable[[Judgment], bool]:
    """Judgments of items whose first response is by a model with this in its name."""

    def wanted(judgment: Judgment) -> bool:
        return any(judgment_of in model for model in (judgment.item.models or {}).values())

    return wanted


def judgebench(folder: Path, seeds: int, held_out: int) -> dict[str, Any]:
    """The six judges of the Claude pairs together, and o1-mini with the reward models."""
    source = open_judgments([folder])
    claude = build_table(source.all(), ["order", "strength", "peers"], report=report("claude")).sorted()
    found: dict[str, Any] = {}
    started = time.perf_counter()
    found["Claude pairs, one model for six judges"] = over_seeds(
        [by_judge(claude, out_of_fold(claude, seed=seed)) for seed in range(seeds)]
    )
    found["Claude pairs, a model for each judge"] = over_seeds(
        [by_judge(claude, out_of_fold(claude, pooled=False, seed=seed)) for seed in range(seeds)]
    )
    rewards = find_reward_scores(folder)
    if rewards is not None:
        gpt = build_table(
            source.all(), ["order", "strength", "rewards"], report=report("gpt"), rewards=read_reward_scores(rewards)
        )
        gpt = gpt.sorted()
        found["GPT-4o pairs, with reward models"] = over_seeds(
            [by_judge(gpt, out_of_fold(gpt, seed=seed)) for seed in range(seeds)]
        )
    if held_out:
        runs = [_later_questions(source, claude, draw) for draw in range(held_out)]
        found[f"Claude pairs, {HELD_OUT_QUESTIONS} questions held out, {held_out} draws"] = over_seeds(runs)
    found["seconds"] = time.perf_counter() - started
    return found


def _later_questions(source: Any, table: SignalTable, draw: int) -> dict[str, dict[str, float]]:
    """Fits on some questions with their records alone, applies to the others with theirs alone."""
    names = sorted(set(table.questions))
    later = set(np.random.default_rng(draw).choice(names, HELD_OUT_QUESTIONS, replace=False))
    items = dict(zip(table.item_ids, (question in later for question in table.questions), strict=True))
    signals = ["order", "strength", "peers"]

    def part(wanted: bool) -> SignalTable:
        return build_table((one for one in source.all() if items.get(one.item.id) is wanted), signals)

    fitted = fit_calibration(part(False), seed=draw, repeats=1)
    new = part(True).sorted()
    return by_judge(new, np.ma.getdata(fitted.probabilities(new).probabilities))


def llmbar(folder: Path) -> dict[str, Any]:
    """Judges that ask for an explanation: raw, both orders agree, and as many by the calibration."""
    started = time.perf_counter()
    source = open_judgments([folder])
    table = build_table(source.all(), ["order", "strength", "peers", "rationale"]).sorted()
    read = time.perf_counter() - started
    probabilities = out_of_fold(table)
    judges, agree = np.array(table.judges), table.columns["order.agree"].values > 0
    adversarial = np.array(["Adversarial" in name for name in table.categories])
    found: dict[str, Any] = {"read seconds": read, "fit seconds": time.perf_counter() - started - read}
    for subset, mask in (("all subsets", np.ones(len(table), dtype=bool)), ("adversarial subsets", adversarial)):
        found[subset] = {
            judge: _against_order(probabilities[mine], table.correct[mine], agree[mine])
            for judge in sorted({name for name in judges if name.endswith("/CoT")})
            for mine in [mask & (judges == judge)]
        }
    return found


def _against_order(probabilities: Floats, correct: Bools, agree: Bools) -> dict[str, float]:
    share = float(agree.mean())
    return {
        "n": len(correct),
        "raw": 100 * float(correct.mean()),
        "orders agree": 100 * float(correct[agree].mean()),
        "coverage": 100 * share,
        "same coverage": 100 * precision_at(probabilities, correct, share),
        "best 60 %": 100 * precision_at(probabilities, correct, 0.6),
        "agreeing less others": 100 * float(correct[agree].mean() - correct[~agree].mean()),
        "log loss": float(log_losses(probabilities, correct).mean()),
    }


def show(title: str, rows: dict[str, Any]) -> None:
    """Prints a table: a line a judge, mean and standard deviation where there are several runs."""
    print(f"\n{title}")
    rows = {
        judge: {name: value for name, value in found.items() if not name.endswith((" low", " high"))}
        for judge, found in rows.items()
    }
    first = next(iter(rows.values()))
    width = max(map(len, rows))
    print(f"{'':{width}}  " + "  ".join(f"{name:>18}" for name in first))
    for judge, values in rows.items():
        cells = (_cell(value) for value in values.values())
        print(f"{judge:{width}}  " + "  ".join(f"{cell:>18}" for cell in cells))


def markdown(rows: dict[str, Any]) -> str:
    """A table for a README: precision at each coverage with its interval, and the area under the curve."""
    titles = [f"best {100 * share:.0f} %" for share in COVERAGES]
    lines = [f"| judge | raw | {' | '.join(titles)} | AUC |", "| --- |" + " --- |" * (len(titles) + 2)]
    for judge, found in rows.items():
        mean = {name: value["mean"] for name, value in found.items()}
        cells = [f"{mean[title]:.1f} ({mean[f'{title} low']:.1f} to {mean[f'{title} high']:.1f})" for title in titles]
        lines.append(f"| {judge} | {mean['raw']:.1f} | {' | '.join(cells)} | {mean['AUC']:.3f} |")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return (
            f"{value['mean']:.3g} sd {value['sd']:.2g}"
            if value["mean"] < 1
            else f"{value['mean']:.1f} sd {value['sd']:.1f}"
        )
    return f"{value}" if isinstance(value, int) else f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"


def main(
    data: Path,
    seeds: int = 5,
    held_out: Annotated[int, typer.Option(metavar="N")] = 0,
    out: Annotated[Path | None, typer.Option("--json", metavar="OUT")] = None,
) -> None:
    """Runs the study from the command line."""
    found: dict[str, Any] = {}
    if (data / "judgebench").is_dir():
        found["judgebench"] = judgebench(data / "judgebench", seeds, held_out)
    if (data / "llmbar").is_dir():
        found["llmbar"] = llmbar(data / "llmbar")
    if not found:
        raise SystemExit(f"{data} contains neither a folder judgebench nor a folder llmbar")
    for name, tables in found.items():
        for title, rows in tables.items():
            if isinstance(rows, dict):
                show(f"{name}: {title}", rows)
                if name == "judgebench":
                    print(f"\n{markdown(rows)}")
            else:
                print(f"\n{name}: {title} {rows:.1f}")
    if out is not None:
        out.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main.__doc__ = __doc__
    typer.run(main)
