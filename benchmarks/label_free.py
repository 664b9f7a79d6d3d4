"""P(right) without labels against the heuristic score, on recorded judgments with labels that neither has seen.

    python benchmarks/label_free.py DATA_DIR [--only NAME] [--json OUT]

DATA_DIR contains any of the folders ``judgebench``, ``llmbar``, ``mtbench``, ``realmistake`` and
``themis_rewardbench2``; ReaLMistake's prompts and RewardBench 2's two series of orders are inputs of their own, as
a user who has recorded one of them would vet it. Compared on the verdicts that all methods score:

- ``latent``: :class:`metajudge.evidence.no_labels.NoLabels`.
- ``heuristic``: :func:`metajudge.evidence.score.signal_score`.
- ``dawid-skene``: :func:`metajudge.voting.dawid_skene` over one answer a judge and item (the one it gave most often),
  judges taken as independent, full confusion matrices, smoothing 0.1.
- ``peers``: share of the other judges who name the same class, ``(agree + 1/2) / (peers + 1)``.

Printed: log loss (the heuristic and peers read as if they were probabilities: ``(score - 1) / 4`` and the share), with
that of the constant that knows the share of right verdicts in brackets; the area under the ROC curve; precision of the
best 60 and 40 % with 95 % intervals from resampled questions; and precision above the default threshold with the share
kept, as vetting without agents would keep it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.calibration.quality import auc, precision_at
from metajudge.evidence.class_answers import ClassAnswers, collect_class_answers, named_class, subject_of
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.no_labels import NoLabels, is_enough
from metajudge.evidence.score import signal_score
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.clustered import clustered_proportion
from metajudge.types import Judgment, kind_of
from metajudge.types.digests import text_digest
from metajudge.voting import dawid_skene

SETS = ("judgebench", "llmbar", "mtbench", "realmistake", "themis_rewardbench2")
APART = {"realmistake": "judge_prompt", "themis_rewardbench2": "phase"}
"""Set -> what its inputs are divided by."""
COVERAGES = (0.6, 0.4)
THRESHOLD = 4.5
SMALLEST = 1e-6

Method = Callable[[Judgment], float | None]


@dataclass(frozen=True, slots=True)
class Precision:
    """A share of right ones in per cent with a 95 % interval by question, of a share kept in per cent."""

    value: float
    low: float
    high: float
    kept: float


@dataclass(frozen=True, slots=True)
class Row:
    """How one method does on one input.

    Attributes:
        log_loss: mean, in nats.
        auc: area under the ROC curve; None where all are right or wrong.
        best: coverage in per cent -> precision of so many.
        above: precision above the default threshold; None where nothing is.
    """

    input: str
    method: str
    n: int
    questions: int
    raw: float
    constant: float
    log_loss: float
    auc: float | None
    best: dict[str, Precision]
    above: Precision | None


def compare(name: str, judgments: Sequence[Judgment]) -> list[Row]:
    """One row a method, over the verdicts with a label that every method scores."""
    methods = methods_of(judgments)
    scored: list[tuple[Judgment, list[float]]] = []
    for judgment in judgments:
        if judgment.right() is None:
            continue
        found = [method(judgment) for method in methods.values()]
        known = [value for value in found if value is not None]
        if len(known) == len(found):
            scored.append((judgment, known))
    if not scored:
        return []
    right = np.array([judgment.right() is True for judgment, _ in scored])
    questions = [text_digest(judgment.item.opening) for judgment, _ in scored]
    values = np.array([one for _, one in scored]).T
    return [_row(name, method, one, right, questions) for method, one in zip(methods, values, strict=True)]


def methods_of(judgments: Sequence[Judgment]) -> dict[str, Method]:
    """The methods, each having read the whole input; all in [0, 1]."""
    index = EvidenceIndex.build(judgments)
    every = collect_class_answers(index.recorded(), index.items, index.rules)
    answers = [one for one in every if is_enough(one)]
    tables = {one.group: Votes(one) for one in answers}

    def table(judgment: Judgment) -> "Votes | None":
        verdict = judgment.verdict
        if verdict is None:
            return None
        return tables.get(("choice", len(verdict.ids)) if verdict.ids else (kind_of(verdict), 0))

    def named(judgment: Judgment) -> tuple[object, object]:
        assert judgment.verdict is not None
        rule = index.rules.of(kind_of(judgment.verdict))
        return subject_of(judgment.item.id, judgment.order, judgment.verdict), named_class(judgment.verdict, rule)

    def independent(judgment: Judgment) -> float | None:
        found = table(judgment)
        return None if found is None else found.posterior.get(named(judgment))

    def peers(judgment: Judgment) -> float | None:
        found = table(judgment)
        return None if found is None else found.share(*named(judgment), judgment.judge)

    def heuristic(judgment: Judgment) -> float | None:
        score = signal_score(index.signals(judgment)).value
        return None if score is None else (score - 1) / 4

    latent = NoLabels.fit(index).probability
    return {"latent": latent, "heuristic": heuristic, "dawid-skene": independent, "peers": peers}


class Votes:
    """One answer a judge and subject: the one it gave most often, none where several are equally frequent."""

    def __init__(self, answers: ClassAnswers) -> None:
        given: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for row, which in zip(*map(np.ndarray.tolist, np.nonzero(answers.hits)), strict=True):
            given[int(answers.item[row]), int(answers.judge[row])][which] += 1
        self._said: defaultdict[object, dict[str, object]] = defaultdict(dict)
        cells = []
        for (item, judge), counts in given.items():
            (which, most), *others = counts.most_common(2)
            if not others or others[0][1] < most:
                cells.append((item, judge, which))
                self._said[answers.subjects[item]][answers.judges[judge]] = answers.classes[item][which]
        items, judges, labels = zip(*cells, strict=True)
        fit = dawid_skene(items, judges, labels, classes=range(answers.places), smoothing=0.1)
        self.posterior: dict[tuple[object, object], float] = {}
        for row, item in enumerate(dict.fromkeys(items)):  # as they first occur, which is the order of the fit
            for which, value in enumerate(fit.posterior[row].tolist()):
                self.posterior[answers.subjects[item], answers.classes[item][which]] = value

    def share(self, subject: object, named: object, judge: str) -> float:
        others = [said for name, said in self._said.get(subject, {}).items() if name != judge]
        return (sum(said == named for said in others) + 0.5) / (len(others) + 1)


def _row(name: str, method: str, values: Floats, right: Bools, questions: Sequence[str]) -> Row:
    probabilities = np.clip(values, SMALLEST, 1 - SMALLEST)
    losses = -np.where(right, np.log(probabilities), np.log1p(-probabilities))
    share = float(right.mean())
    bounded = min(max(share, SMALLEST), 1 - SMALLEST)
    above = np.asarray(1 + 4 * values > THRESHOLD)
    return Row(
        input=name,
        method=method,
        n=len(right),
        questions=len(set(questions)),
        raw=100 * share,
        constant=float(-(share * np.log(bounded) + (1 - share) * np.log1p(-bounded))),
        log_loss=float(losses.mean()),
        auc=auc(values, right),
        best={f"{100 * one:.0f}": _best(values, right, questions, one) for one in COVERAGES},
        above=_kept(right, above, questions) if above.any() else None,
    )


def _best(values: Floats, right: Bools, questions: Sequence[str], coverage: float) -> Precision:
    """The best so many; of equal values the expected share counts, and for the interval they are drawn with a seed."""
    order = np.lexsort((np.random.default_rng(0).permutation(len(values)), -values))
    kept = np.zeros(len(values), dtype=bool)
    kept[order[: max(1, round(coverage * len(values)))]] = True
    found = _kept(right, kept, questions)
    return Precision(100 * precision_at(values, right, coverage), found.low, found.high, 100 * coverage)


def _kept(right: Bools, kept: Bools, questions: Sequence[str]) -> Precision:
    found = clustered_proportion(right[kept], np.array(questions)[kept])
    value = 100 * float(right[kept].mean())
    return Precision(value, 100 * found.low, 100 * found.high, 100 * float(kept.mean()))


def inputs(data: Path, only: str | None = None) -> Iterator[tuple[str, list[Judgment]]]:
    """The sets that are there, divided where prompts or series were recorded apart."""
    for name in SETS:
        folder = data / name
        if not folder.is_dir() or (only is not None and only != name):
            continue
        by_part: defaultdict[str, list[Judgment]] = defaultdict(list)
        for judgment in open_judgments([folder]).all():
            by_part[str(judgment.meta.get(APART.get(name, ""), ""))].append(judgment)
        for part, judgments in sorted(by_part.items()):
            yield f"{name} {part}".strip(), judgments


def markdown(rows: Iterable[Row]) -> str:
    """The rows as a table."""
    lines = ["| input | n | raw | method | log loss | AUC | best 60 % | best 40 % | above 4.5: kept, right |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        loss = f"{row.log_loss:.3f} ({row.constant:.3f})"
        best = " | ".join(_words(row.best[f"{100 * one:.0f}"]) for one in COVERAGES)
        above = "nothing" if row.above is None else f"{row.above.kept:.0f} %, {_words(row.above)}"
        area = "-" if row.auc is None else f"{row.auc:.3f}"
        cells = f"{row.input} | {row.n:,} | {row.raw:.1f} | {row.method} | {loss} | {area} | {best} | {above}"
        lines.append(f"| {cells} |")
    return "\n".join(lines)


def _words(one: Precision) -> str:
    return f"{one.value:.1f} ({one.low:.1f} to {one.high:.1f})"


def main(
    data: Path,
    only: Annotated[str | None, typer.Option(help="One set alone.")] = None,
    out: Annotated[Path | None, typer.Option("--json", help="Write the rows to this file.")] = None,
) -> None:
    """Measures P(right) without labels on recorded judgments."""
    rows = [row for name, judgments in inputs(data, only) for row in compare(name, judgments)]
    typer.echo(markdown(rows))
    if out is not None:
        plain: list[dict[str, Any]] = [asdict(row) for row in rows]
        out.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
