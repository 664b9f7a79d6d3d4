"""The decided judgments of a benchmark as columns, with their free evidence."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metajudge.errors import InputError
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.stats.arrays import Bools
from metajudge.types import Judgment, Pairwise, Ranking, Right, SignalValue, VerdictKind, kind_of, text_digest
from metajudge.types.right import DEFAULTS

from .peer_agreement import PeerAgreement


@dataclass(frozen=True, slots=True)
class Observation:
    """One judgment that is right or wrong: for pairs and rankings a verdict and a label that each name a winner.

    Attributes:
        agreement: share of the peers that agree, in [0, 1]; None for pairs, whose peers are in ``signals``, and without
            peers.
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
) -> None:
    """Adds one judgment to those found so far.

    Args:
        index: built over every record of the input.
        signals: names of the signals the heuristic may weigh; None for all.
        rules: what counts as right, by kind.
        peers: every verdict of the input; None where agreement with peers is not asked for.
    """
    why = undecided(judgment, rules)
    if why is not None or judgment.verdict is None:
        found.undecided.setdefault(judgment.judge, Counter())[why or "none"] += 1
        return
    kind = kind_of(judgment.verdict)
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
            correct=bool(judgment.right(rules[kind])),
            signals=evidence,
            heuristic=signal_score(weighed).value,
            kind=kind,
            agreement=None if peers is None or kind == "pairwise" else peers.share(judgment, rules[kind]),
        )
    )


def order_of(judgment: Judgment) -> str:
    """The order shown, as ids put together; ``pointwise`` where the responses were scored one by one."""
    return "pointwise" if judgment.meta.get("pointwise") else "".join(judgment.order)


def is_decided(judgment: Judgment, rules: Mapping[VerdictKind, Right] = DEFAULTS) -> bool:
    """Whether the judgment can be right or wrong."""
    return undecided(judgment, rules) is None


def reported(judgments: Iterable[Judgment], judges: Collection[str] | None, limit: int | None) -> Iterator[Judgment]:
    """The judgments by some judges, the first ``limit`` of them.

    Raises:
        InputError: a judge that gave no judgment here, with those that did.
    """
    seen: dict[str, int] = {}
    left = limit
    for judgment in judgments:
        seen[judgment.judge] = seen.get(judgment.judge, 0) + 1
        if (judges is None or judgment.judge in judges) and (left is None or left > 0):
            left = None if left is None else left - 1
            yield judgment
    unknown = sorted(set(judges or ()) - set(seen))
    if unknown:
        raise InputError(f"no judgment by {', '.join(map(repr, unknown))}; the judges here are {named(seen)}")


def named(names: Iterable[str], most: int = 20) -> str:
    """Names in a row, the first of many."""
    every = sorted(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


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
