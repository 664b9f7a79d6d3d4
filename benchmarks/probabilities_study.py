"""Out-of-fold probabilities of the recorded sets beside those of the smallest model of the item.

``python -m metajudge.benchmarks.probabilities_study DATA [--only NAME] [--write FILE] [--beside FILE]``; DATA has the
folders of the sets. Both models see the same rows and the same folds by question. The small model is one logistic
regression on what each judge says of the item, with C = .3 and no choice: net votes for the side of the verdict, again
by category, and their sum where judges are missing (pairs); agreement of each judge, its mean, repeats, the judge and
the answer (other kinds).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.folds import question_folds
from metajudge.calibration.quality import auc, log_losses, precision_at
from metajudge.calibration.table import SignalTable, build_table
from metajudge.reading import open_judgments
from metajudge.stats.arrays import Floats
from metajudge.stats.bootstrap import bootstrap_mean
from metajudge.types import Judgment, kind_of

from .shrink import PARTS, SETS

ALONE = {
    "mtbench": ("gpt-4-0613-pair", "qwen2.5-3b-4bit-local/rubric"),
    "llmbar": ("GPT-4/Vanilla_NoRules", "ChatGPT/CoT"),
    "realmistake": ("gpt-4-0613/baseline_errordetection_prompt_1", "claude-3-opus-20240229/cot_instruction_prompt"),
}
"""Set -> judges that are also measured in a file of their own, without peers."""

C, BINS, RESAMPLES, MOST_OF_EACH, FEWEST = 0.3, 10, 1000, 10, 100
"""Up to so many judges of a set are also taken one by one, where they have so many labelled questions."""


def parts(data: Path, only: str) -> Iterator[tuple[str, SignalTable, SignalTable]]:
    """Title, labelled rows and the whole input of every set, its parts, judges of a small panel, and judges alone."""
    for name in SETS:
        found: defaultdict[str, list[Judgment]] = defaultdict(list)
        for judgment in open_judgments([data / name]).all() if name.startswith(only) else ():
            said = judgment.verdict if judgment.verdict is not None else judgment.item.truth
            if said is not None:
                found[f"{name} {judgment.meta.get(PARTS.get(name, ''), '')} {kind_of(said)}"].append(judgment)
        for title, judgments in sorted(found.items()):
            whole = build_table(judgments, None)
            yield title, _labelled(whole), whole
            judges = sorted(set(whole.judges))
            for judge in judges if 1 < len(judges) <= MOST_OF_EACH else ():
                rows = _labelled(whole.select(np.array(whole.judges) == judge))
                if len(set(rows.questions)) >= FEWEST:
                    yield f"{title}: {judge}", rows, whole
            for judge in ALONE.get(name, ()):
                if own := [one for one in judgments if one.judge == judge]:
                    alone = build_table(own, None)
                    yield f"{title}: {judge}, alone", _labelled(alone), alone


def _labelled(table: SignalTable) -> SignalTable:
    return table.select(table.labelled).without_absent()[0].sorted()


def small_model(table: SignalTable, whole: SignalTable, seed: int = 0) -> Floats:
    """[n] out-of-fold probabilities of the small model, from the votes of all rows of the input."""
    from sklearn.linear_model import LogisticRegression

    x, fold = _features(table, whole), question_folds(table.questions, 5, [seed, 0])
    found = np.zeros(len(table))
    for part in range(5):
        train = fold != part
        model = LogisticRegression(C=C, max_iter=1000, fit_intercept=table.kind != "pairwise")
        found[~train] = model.fit(x[train], table.correct[train]).predict_proba(x[~train])[:, 1]
    return found


def _features(table: SignalTable, whole: SignalTable) -> Floats:
    answers = _answers(table)
    judges, categories = sorted(set(whole.judges)), sorted(set(table.categories))
    place = {name: at for at, name in enumerate(judges)}
    votes: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for item, judge, answer in zip(whole.item_ids, whole.judges, _answers(whole), strict=True):
        votes[item][judge][answer] += 1
    rows = []
    sides = sorted(set(answers)) if table.kind != "ranking" else []
    for item, own, mine, category in zip(table.item_ids, table.judges, answers, table.categories, strict=True):
        x, shares, repeat = np.zeros(len(judges)), list[float](), 0.0
        for judge, said in votes[item].items():
            share = said[mine] / said.total()
            if table.kind == "pairwise":
                x[place[judge]] = 2 * said[mine] - said.total()
            elif judge == own:
                repeat = share
            else:
                shares.append(share)
                x[place[judge]] = 2 * share - 1
        if table.kind == "pairwise":
            by = [np.where(category == one, x, 0) for one in categories] if len(categories) > 1 else []
            rows.append(np.concatenate([x, *by, [x.sum() * (x == 0).mean()]]))
        else:
            of = [*(one == own for one in judges), *(one == mine for one in sides)]
            rows.append(np.concatenate([x, [np.mean(shares) if shares else 0.5, repeat], of]))
    return np.array(rows)


def _answers(table: SignalTable) -> list[str]:
    verdicts = map(table.facts.verdicts.__getitem__, table.facts.verdict.tolist())
    return [str(one.winner if table.kind in ("pairwise", "ranking") else one) for one in verdicts]


def _figures(p: Floats, table: SignalTable) -> str:
    """Log loss, AUC, right at 80, 60 and 40 % kept, calibration error over bins of equal width."""
    place, right = np.minimum((p * BINS).astype(int), BINS - 1), table.correct
    error = sum(abs((p - right)[place == one].sum()) for one in range(BINS)) / len(p)
    kept = "/".join(f"{100 * precision_at(p, right, share):.1f}" for share in (0.8, 0.6, 0.4))
    return f"{log_losses(p, right).mean():.4f} {auc(p, right) or 0:.3f} {kept} {error:.3f}"


def _compared(one: Floats, other: Floats, table: SignalTable) -> str:
    """Log loss of the first less that of the second, with its 95 % interval, questions resampled."""
    loss = log_losses(one, table.correct) - log_losses(other, table.correct)
    found = bootstrap_mean(loss, table.questions, rng=np.random.default_rng(0), resamples=RESAMPLES)
    return f"{found.estimate:+.4f} ({found.low:+.4f} to {found.high:+.4f})"


def main(
    data: Annotated[Path, typer.Argument(help="Folder of the recorded sets.", show_default=False)],
    only: Annotated[str, typer.Option(help="Name of one set.")] = "",
    write: Annotated[Path | None, typer.Option(help="File for the probabilities.", show_default=False)] = None,
    beside: Annotated[Path | None, typer.Option(help="Such a file, of other code.", show_default=False)] = None,
) -> None:
    """Prints a line a set: n, questions, % right; both models; differences of log loss."""
    kept: dict[str, Floats] = {}
    earlier: Mapping[str, Floats] = {} if beside is None else np.load(beside)
    for title, table, whole in parts(data, only):
        ours, small = out_of_fold(table), small_model(table, whole)
        kept[title] = ours
        print(f"{title}: n {len(table)}, {len(set(table.questions))} questions, {100 * table.correct.mean():.1f} right")
        print(f"  ours  {_figures(ours, table)}\n  small {_figures(small, table)}")
        before = f", less before {_compared(ours, earlier[title], table)}" if title in earlier else ""
        print(f"  log loss less small {_compared(ours, small, table)}{before}", flush=True)
        if write is not None:
            np.savez_compressed(write, **kept)  # type: ignore[arg-type]


if __name__ == "__main__":
    typer.run(main)
