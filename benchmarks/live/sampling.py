"""The judgments of the experiment: drawn from labelled data by a seed, with the score of free evidence."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metajudge.errors import InputError
from metajudge.readers.realmistake import WITHHELD
from metajudge.types import Judgment

from ..bench import Bench
from ..observations import Observation
from ..population import stratified
from .records import LiveItem

Evidence = Literal["P(right) by agreement", "score of signals"]

NO_TEXTS = "the texts are not in the data, so no model can be asked"

ENOUGH = 0.9
"""The share of the judgments that P(right) by agreement must cover to stand for free evidence."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every judgment that can be drawn.

    Attributes:
        rows: by question, in the order of judgment ids.
        evidence: judgment id -> the score of free evidence.
        evidence_name: what that score is.
        left_out: reason -> judgments that cannot be drawn.
    """

    rows: Mapping[str, Sequence[Observation]]
    judgments: Mapping[str, Judgment]
    evidence: Mapping[str, float]
    evidence_name: Evidence
    left_out: Mapping[str, int]

    @property
    def questions(self) -> int:
        return len(self.rows)


def candidates_of(bench: Bench) -> Candidates:
    """What a benchmark's records, or files of one's own, offer: judgments that are right or wrong by a label."""
    rows: Mapping[str, list[Observation]] = defaultdict(list)
    for row in sorted(bench.observations.rows, key=lambda one: one.judgment_id):
        if row.verdict == "decided":
            rows[row.question].append(row)
    ids = {row.judgment_id for every in rows.values() for row in every}
    judgments = {one.id: one for one in bench.reported() if one.id in ids and _has_texts(one)}
    left_out: dict[str, int] = defaultdict(int)
    if len(judgments) < len(ids):
        left_out[NO_TEXTS] = len(ids) - len(judgments)
        rows = _only(rows, judgments)
    latent = bench.records.evidence.no_labels().probability
    agreed = {name: value for name, one in judgments.items() if (value := latent(one)) is not None}
    by_agreement = len(agreed) >= ENOUGH * len(judgments)
    signals = {row.judgment_id: row.heuristic for every in rows.values() for row in every if row.heuristic is not None}
    for counts in bench.observations.undecided.values():
        for why, count in counts.items():
            left_out[why] += count
    return Candidates(
        rows=dict(rows),
        judgments=judgments,
        evidence=agreed if by_agreement else signals,
        evidence_name="P(right) by agreement" if by_agreement else "score of signals",
        left_out=dict(sorted(left_out.items())),
    )


def _has_texts(judgment: Judgment) -> bool:
    """Whether its responses are texts, and not what stands for them in records without texts."""
    return WITHHELD not in judgment.item.responses.values()


def _only(rows: Mapping[str, list[Observation]], judgments: Mapping[str, Judgment]) -> dict[str, list[Observation]]:
    """The rows of some judgments; questions without any are left out."""
    kept = {question: [row for row in every if row.judgment_id in judgments] for question, every in rows.items()}
    return {question: every for question, every in kept.items() if every}


def draw(candidates: Candidates, questions: int, per_question: int, seed: int) -> list[LiveItem]:
    """Draws questions in proportion to their categories, and of each so many judgments, without replacement.

    The draw depends on ids, categories, sizes and seed alone; no label, score or verdict is looked at.

    Args:
        candidates: what there is.
        questions: how many to draw; all where there are no more.
        per_question: judgments of each question; all where there are no more.
        seed: of the draw.

    Raises:
        InputError: nothing can be drawn.
    """
    if not candidates.rows:
        raise InputError("no judgment of these data is right or wrong by a label: nothing can be drawn")
    categories = {question: rows[0].category for question, rows in candidates.rows.items()}
    chosen = stratified(categories, max(questions, len(set(categories.values()))), seed)
    rng = np.random.default_rng([seed, 1])
    found = []
    for question in sorted(candidates.rows):
        rows = candidates.rows[question]
        picked = rng.permutation(len(rows))[:per_question]
        if question in chosen:
            found += [_item(candidates, rows[place]) for place in sorted(picked.tolist())]
    return found


def _item(candidates: Candidates, row: Observation) -> LiveItem:
    return LiveItem(
        judgment=row.judgment_id,
        item=row.item_id,
        question=row.question,
        content=candidates.judgments[row.judgment_id].vetting_digest,
        category=row.category,
        judge=row.judge,
        right=row.correct,
        evidence=candidates.evidence.get(row.judgment_id),
    )
