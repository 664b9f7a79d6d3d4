"""The decided judgments of a benchmark as columns, with their free evidence."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.stats.arrays import Bools
from metajudge.types import Judgment, Pairwise, Ranking, Right, SignalValue, VerdictKind, kind_of, text_digest
from metajudge.types.right import DEFAULTS

from .peer_agreement import PeerAgreement

IN_WORDS = {"none": "no verdict", "tie": "the verdict names no winner"}
"""Reason why a judgment is neither right nor wrong (:func:`undecided`) -> in words, where it is not in words."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One judgment that is right or wrong: for pairs and rankings a verdict and a label that each name a winner.

    Attributes:
        agreement: share of the peers that agree, in [0, 1]; None for pairs, whose peers are in ``signals``, and without
            peers.
        verdict: ``tie`` and ``none`` (no verdict) only where the population counts them as wrong.
    """

    judgment_id: str
    item_id: str
    question: str
    judge: str
    category: str
    order: str
    correct: bool
    signals: dict[str, SignalValue]
    heuristic: float | None
    kind: VerdictKind = "pairwise"
    agreement: float | None = None
    verdict: Literal["decided", "tie", "none"] = "decided"


@dataclass(slots=True)
class Observations:
    """Decided judgments in the order of the input, and what was left out.

    Attributes:
        undecided: judge -> how its other judgments ended (``tie``, ``none``, ``no label``, ``tied label``,
            ``not comparable``).
    """

    rows: list[Observation] = field(default_factory=list)
    undecided: dict[str, Counter[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def judges(self) -> list[str]:
        """Judges in the order of the input, those without a decided judgment included."""
        return list(dict.fromkeys([row.judge for row in self.rows] + list(self.undecided)))

    @property
    def correct(self) -> Bools:
        return np.array([row.correct for row in self.rows], dtype=bool)

    @property
    def questions(self) -> list[str]:
        return [row.question for row in self.rows]

    def where(self, **wanted: str) -> Bools:
        """[n] which rows have these values of ``judge``, ``category`` or ``order``."""
        return np.array([all(getattr(row, k) == v for k, v in wanted.items()) for row in self.rows], dtype=bool)

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """The kinds of verdicts, in the order of the input."""
        return tuple(dict.fromkeys(row.kind for row in self.rows))

    def only(self, judges: Collection[str], kind: VerdictKind | None = None) -> "Observations":
        """The rows of some judges, of one kind where it is named."""
        return Observations(
            [row for row in self.rows if row.judge in judges and kind in (None, row.kind)],
            {judge: counts for judge, counts in self.undecided.items() if judge in judges},
        )


def question_of(judgment: Judgment) -> str:
    """The unit of independence: items that ask the same question belong together, and so do turns of a conversation."""
    return text_digest(judgment.item.opening)


def observe(
    found: Observations,
    judgment: Judgment,
    index: EvidenceIndex,
    signals: Collection[str] | None = None,
    *,
    rules: Mapping[VerdictKind, Right] = DEFAULTS,
    peers: PeerAgreement | None = None,
    undecided_wrong: bool = False,
) -> None:
    """Adds one judgment to those found so far.

    Args:
        index: built over every record of the input.
        signals: names of the signals the heuristic may weigh; None for all.
        rules: what counts as right, by kind.
        peers: every verdict of the input; None where agreement with peers is not asked for.
        undecided_wrong: whether ties and missing verdicts are wrong judgments instead of being left out.
    """
    why, truth = undecided(judgment, rules), judgment.item.truth
    wrong: Literal["tie", "none"] | None = "tie" if why == "tie" else "none" if why == "none" else None
    if truth is None or (why is not None and not (undecided_wrong and wrong)):
        found.undecided.setdefault(judgment.judge, Counter())[why or "no label"] += 1
        return
    kind = kind_of(judgment.verdict or truth)
    evidence = index.signals(judgment)
    weighed = {name: value for name, value in evidence.items() if signals is None or name in signals}
    found.rows.append(
        Observation(
            judgment_id=judgment.id,
            item_id=judgment.item.id,
            question=question_of(judgment),
            judge=judgment.judge,
            category=judgment.item.category or "",
            order=order_of(judgment),
            correct=why is None and bool(judgment.right(rules[kind])),
            signals=evidence,
            heuristic=signal_score(weighed).value,
            kind=kind,
            agreement=None if peers is None or kind == "pairwise" or wrong else peers.share(judgment, rules[kind]),
            verdict=wrong or "decided",
        )
    )


def order_of(judgment: Judgment) -> str:
    """The order shown, as ids put together; ``pointwise`` where the responses were scored one by one."""
    return "pointwise" if judgment.meta.get("pointwise") else "".join(judgment.order)


def signal_data(row: Observation) -> dict[str, Any]:
    """A row's signals for a file: value and state by name."""
    return {name: {"value": signal.value, "state": signal.state} for name, signal in row.signals.items()}


def undecided(judgment: Judgment, rules: Mapping[VerdictKind, Right] = DEFAULTS) -> str | None:
    """Why a judgment is neither right nor wrong; None where it is one of both."""
    truth, verdict = judgment.item.truth, judgment.verdict
    if truth is None:
        return "no label"
    rule = rules.get("pairwise" if verdict is None else kind_of(verdict))
    winners = rule is None or rule.name == "top1"
    if winners and isinstance(truth, Pairwise | Ranking) and truth.winner is None:
        return "tied label"
    if verdict is None:
        return "none"
    if winners and isinstance(verdict, Pairwise | Ranking) and verdict.winner is None:
        return "tie"
    return "not comparable" if rule is None or judgment.right(rule) is None else None
