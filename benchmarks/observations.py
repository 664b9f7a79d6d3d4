"""The decided judgments of a benchmark as columns, with their free evidence."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np

from metajudge.stats.arrays import Bools, Indices
from metajudge.types import (
    AnyVerdict,
    Judgment,
    Pairwise,
    Ranking,
    Right,
    SignalValue,
    VerdictKind,
    is_right,
    kind_of,
    text_digest,
)
from metajudge.types.grade_scales import GradeScales
from metajudge.types.right import DEFAULTS

from .records import Records


@dataclass(slots=True)
class PeerAgreement:
    """Verdicts by item and judge, without texts.

    Judges of one model (``meta["judge_model"]``) are no peers of one another, nor are judges on two scales of grades.
    """

    _verdicts: dict[str, dict[str, Counter[AnyVerdict]]] = field(default_factory=dict)
    _models: dict[str, str] = field(default_factory=dict)
    _scales: GradeScales = field(default_factory=GradeScales)
    _group: dict[str, int] | None = None
    _known: dict[tuple[str, str, AnyVerdict, Right, int], float | None] = field(default_factory=dict)

    def add(self, judgment: Judgment) -> None:
        """Notes one verdict."""
        self._models[judgment.judge] = str(judgment.meta.get("judge_model") or judgment.judge)
        self._scales.add(judgment.judge, judgment.verdict, judgment.item)
        self._group = None
        if judgment.verdict is not None:
            item = self._verdicts.setdefault(judgment.item.id, defaultdict(Counter))
            item[judgment.judge][judgment.verdict] += 1

    def share(self, judgment: Judgment, rule: Right) -> float | None:
        """Mean over the peers of the share of a peer's verdicts on the item that are right by this verdict, in [0, 1].

        None without a verdict, and where no peer gave one that the rule can compare.
        """
        own, model = judgment.verdict, self._models.get(judgment.judge, judgment.judge)
        if own is None:
            return None
        if self._group is None:
            self._group = self._scales.groups()
        key = (judgment.item.id, model, own, rule, self._group.get(judgment.judge, 0))
        if key not in self._known:
            self._known[key] = self._share(*key)
        return self._known[key]

    def _share(self, item: str, model: str, own: AnyVerdict, rule: Right, scale: int) -> float | None:
        votes = []
        for judge, verdicts in self._verdicts.get(item, {}).items():
            if self._models[judge] == model or (self._group or {}).get(judge, 0) != scale:
                continue
            compared = [(is_right(other, own, rule), count) for other, count in verdicts.items()]
            known = [(agrees, count) for agrees, count in compared if agrees is not None]
            if known:
                votes.append(sum(count for agrees, count in known if agrees) / sum(count for _, count in known))
        return sum(sorted(votes)) / len(votes) if votes else None


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


@dataclass(frozen=True)
class Observations:
    """Decided judgments in the order of the input, and what was left out.

    Attributes:
        undecided: judge -> how its other judgments ended (``tie``, ``none``, ``no label``, ``tied label``,
            ``not comparable``).
    """

    rows: Sequence[Observation] = ()
    undecided: Mapping[str, Counter[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def judges(self) -> list[str]:
        """Judges in the order of the input, those without a decided judgment included."""
        return list(dict.fromkeys([judge for judge, _ in self._places] + list(self.undecided)))

    @cached_property
    def correct(self) -> Bools:
        """[n] whether each is right."""
        return np.array([row.correct for row in self.rows], dtype=bool)

    @cached_property
    def questions(self) -> list[str]:
        """[n] the question of each."""
        return [row.question for row in self.rows]

    def values(self, name: Literal["category", "order"]) -> set[str]:
        """The different categories, or orders."""
        return set(self._coded(name)[0])

    def where(self, **wanted: str) -> Bools:
        """[n] which rows have these values of ``category`` or ``order``."""
        found = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            names, codes = self._coded(name)
            found &= codes == names.get(value, -1)
        return found

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """The kinds of verdicts, in the order of the input."""
        first = sorted((places[0], kind) for (_, kind), places in self._places.items())
        return tuple(dict.fromkeys(kind for _, kind in first))

    def only(self, judges: Collection[str], kind: VerdictKind | None = None) -> "Observations":
        """The rows of some judges, of one kind where it is named."""
        chosen = [at for (judge, own), at in self._places.items() if judge in judges and kind in (None, own)]
        return Observations(
            [self.rows[place] for place in sorted(chain(*chosen))],
            {judge: counts for judge, counts in self.undecided.items() if judge in judges},
        )

    @cached_property
    def _places(self) -> dict[tuple[str, VerdictKind], list[int]]:
        """Judge and kind -> the places of its rows."""
        found: dict[tuple[str, VerdictKind], list[int]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault((row.judge, row.kind), []).append(place)
        return found

    def _coded(self, name: str) -> tuple[dict[str, int], Indices]:
        """The different values of a column, and [n] their places."""
        if name not in self._columns:
            names: dict[str, int] = {}
            codes = [names.setdefault(getattr(row, name), len(names)) for row in self.rows]
            self._columns[name] = (names, np.array(codes, dtype=np.intp))
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, tuple[dict[str, int], Indices]]:
        return {}


def question_of(judgment: Judgment) -> str:
    """The unit of independence: items that ask the same question belong together, and so do turns of a conversation."""
    return text_digest(judgment.item.opening)


def observed(
    records: Records,
    judgments: Iterable[tuple[int, Judgment]],
    signals: Collection[str] | None = None,
    *,
    rules: Mapping[VerdictKind, Right] = DEFAULTS,
    peers: PeerAgreement | None = None,
    wrong: Collection[str] = (),
) -> Observations:
    """Judgments as rows with their evidence.

    Args:
        signals: names of the signals the heuristic may weigh; None for all.
        peers: every verdict of the input; None where agreement with peers is not asked for.
        wrong: which of ``tie`` and ``none`` (no verdict) are wrong judgments instead of being left out.
    """
    rows, left = list[Observation](), dict[str, Counter[str]]()
    evidence, facts = records.evidence, records.facts
    for at, judgment in judgments:
        why, truth = undecided(judgment, rules), judgment.item.truth
        open_: Literal["tie", "none"] | None = "tie" if why == "tie" else "none" if why == "none" else None
        if truth is None or (why is not None and open_ not in wrong):
            left.setdefault(judgment.judge, Counter())[why or "no label"] += 1
            continue
        kind = kind_of(judgment.verdict or truth)
        agrees = None if peers is None or kind == "pairwise" or open_ else peers.share(judgment, rules[kind])
        rows.append(
            Observation(
                judgment_id=judgment.id,
                item_id=judgment.item.id,
                question=facts.items[facts.item[at]].question,
                judge=judgment.judge,
                category=judgment.item.category or "",
                order=order_of(judgment),
                correct=why is None and bool(judgment.right(rules[kind])),
                signals=evidence.signals(at),
                heuristic=evidence.heuristic(at, signals),
                kind=kind,
                agreement=agrees,
                verdict=open_ or "decided",
            )
        )
    return Observations(rows, left)


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
