"""Labelled files of one's own, measured like a benchmark."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from metajudge.types import Judgment, Right, VerdictKind, kind_of

from .benchmark import Benchmark, Card
from .findings import Accuracy, AccuracyKind
from .observations import question_of, undecided
from .tally import Tally

NAME = "file"
"""What such a run is called."""


def own_files(names: Sequence[str], rules: Mapping[VerdictKind, Right]) -> Benchmark:
    """Files in any format that is read, with labels in them or joined to them."""
    title = ", ".join(Path(name).name or name for name in names)
    card = Card(
        name=NAME,
        title=title,
        citation=f"Files of your own: {title}",
        licence="your own",
        label_rule="as the files have them",
        games_rule="every verdict on an item with a label counts; a tie is wrong where the label names a winner",
    )
    return Benchmark(card, partial(_accuracy, rules))


def _accuracy(rules: Mapping[VerdictKind, Right], judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """The share of right verdicts of every judge; by kind, where a judge gave verdicts of several."""
    tallies: dict[tuple[str, AccuracyKind], Tally] = {}
    without: dict[str, int] = defaultdict(int)
    for judgment in judgments:
        why = undecided(judgment, rules)
        if judgment.verdict is None:
            without[judgment.judge] += why == "none"
            continue
        kind = kind_of(judgment.verdict)
        tally = tallies.setdefault((judgment.judge, kind), Tally(kind))
        if why in (None, "tie"):
            tally.games += 1
            tally.ties += why == "tie"
            right, question = bool(judgment.right(rules[kind])), question_of(judgment)
            tally.add(judgment.item.category or "", right, question)
            if why is None:
                tally.decided.add(right, question)
    for (judge, _), tally in tallies.items():
        tally.without_verdict = without.pop(judge, 0)
    alike = "not counted here: see the selections"
    return [tally.accuracy(judge, alike=alike) for (judge, _), tally in tallies.items() if tally.games]
