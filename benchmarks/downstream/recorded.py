"""A recorded set of labelled pairs as arrays: what each judge chose, what is right, what vetting keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from metajudge.calibration.table import build_table
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.readers import open_judgments
from metajudge.scoring import exceeds
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import AnyVerdict, Item, Judgment
from metajudge.types.digests import text_digest

from ..population import Population
from ..preference_study import rotate

JUDGES: dict[str, tuple[str, ...]] = {
    "judgebench": ("*",),
    "llmbar": ("*/CoT", "*/Vanilla"),
    "mtbench": ("gpt-4-0613-pair", "qwen2.5-3b-4bit-local/*"),
}
"""Set -> patterns of the judges whose verdicts are used; the evidence of peers is taken from all judges."""

SIGNALS = ("order", "strength", "peers", "rationale")
"""Signals of the calibration under a guarantee."""

THRESHOLD = 4.5
FEWEST = 100
"""Judges with fewer decided verdicts on labelled items are left out."""

NONE = -1


@dataclass(frozen=True, slots=True)
class Pairs:
    """The labelled items of a set; N of them, each with two responses.

    Attributes:
        better: [N] place of the better response, 0 or 1.
        question: [N] number of the question.
        difficulty: [N] share of all judges' verdicts on the item that are wrong, in [0, 1].
        models: [N] the models of both responses, where the data name them.
    """

    items: Sequence[Item]
    better: Indices
    question: Indices
    difficulty: Floats
    categories: Sequence[str]
    models: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One judge's verdicts of its first games on the items of a set.

    Attributes:
        chosen: [N] place of the response it chose; :data:`NONE` for a tie, no verdict or no judgment.
        kept: [N] whether vetting by free evidence keeps it.
        guaranteed: [N] whether it reaches a guaranteed threshold that was set on other questions.
        abstained: parts of three for which no threshold could be promised.
    """

    judge: str
    chosen: Indices
    kept: Bools
    guaranteed: Bools
    abstained: int


def load(folder: Path, target: float, delta: float, seed: int) -> tuple[Pairs, list[Verdicts]]:
    """Reads a set and vets it by free evidence.

    Args:
        folder: of a set in :data:`JUDGES`.
        target: precision of the guaranteed threshold.
        delta: its failure probability.
        seed: of the division of questions for the guarantee.
    """
    source = open_judgments([folder])
    judgments = list(source.all())
    pairs = _pairs(judgments)
    place = {item.id: number for number, item in enumerate(pairs.items)}
    first = Population(games="first").members()
    chosen = [
        one
        for one in judgments
        if any(fnmatch(one.judge, pattern) for pattern in JUDGES[folder.name])
        and one.item.id in place
        and first(one)
        and one.correct is not None
    ]
    by_judge: dict[str, list[Judgment]] = {}
    for one in chosen:
        by_judge.setdefault(one.judge, []).append(one)
    by_judge = {judge: mine for judge, mine in by_judge.items() if len(mine) >= FEWEST}
    index = EvidenceIndex.build(judgments)
    wanted = {one.id for mine in by_judge.values() for one in mine}
    bars = rotate(build_table(judgments, SIGNALS, report=lambda one: one.id in wanted).sorted(), target, delta, seed)
    found: list[Verdicts] = []
    for judge, mine in sorted(by_judge.items()):
        answer = np.full(len(place), NONE)
        kept, promised = np.zeros(len(place), dtype=bool), np.zeros(len(place), dtype=bool)
        for one in mine:
            at = place[one.item.id]
            answer[at] = winner(one)
            score = signal_score(index.signals(one)).value
            kept[at] = score is not None and bool(exceeds(score, THRESHOLD))
            bar = bars.thresholds.get((judge, bars.part.get(one.id, NONE)))
            promised[at] = bar is not None and bars.probabilities[one.id] >= bar.threshold
        found.append(Verdicts(judge, answer, kept, promised, bars.abstained(judge)))
    return pairs, found


def winner(judgment: Judgment) -> int:
    """The place of the response that a judgment prefers, in the item's own order; :data:`NONE` for a tie or none."""
    return _place(judgment.item, judgment.verdict)


def _place(item: Item, verdict: AnyVerdict | None) -> int:
    winner = None if verdict is None else verdict.winner
    return NONE if winner is None else tuple(item.responses).index(winner)


def _pairs(judgments: Sequence[Judgment]) -> Pairs:
    items: dict[str, Item] = {}
    wrong: dict[str, list[bool]] = {}
    for one in judgments:
        if one.correct is None or len(one.item.responses) != 2 or _place(one.item, one.item.truth) == NONE:
            continue
        items.setdefault(one.item.id, one.item)
        wrong.setdefault(one.item.id, []).append(not one.correct)
    every = [items[name] for name in sorted(items)]
    _, question = np.unique([text_digest(item.opening) for item in every], return_inverse=True)
    return Pairs(
        items=every,
        better=np.array([_place(item, item.truth) for item in every]),
        question=question.ravel(),
        difficulty=np.array([np.mean(wrong[item.id]) for item in every]),
        categories=[item.category or "" for item in every],
        models=[tuple((item.models or {}).values()) for item in every],
    )
