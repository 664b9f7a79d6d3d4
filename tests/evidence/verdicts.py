"""Judgments and recorded verdicts in short, and what they say of one another."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.evidence.class_answers import ClassAnswers, collect_class_answers
from metajudge.evidence.columns import compare
from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.types import Item, Judgment, Right, SignalValue, parse_verdict

PAIR = Item(id="q", question="?", responses={"A": "one two three", "B": "one"})


TRIPLE = Item(id="t", question="?", responses={"A": "a", "B": "b b", "C": ""})


def judged(verdict: Any, *, item: Item = PAIR, judge: str = "owl", **more: Any) -> Judgment:
    reason = {"no_verdict": "cut off"} if verdict is None else {}
    return Judgment(id="j", item=item, judge=judge, verdict=verdict, **reason, **more)


def said(judge: str, order: str, verdict: Any) -> RecordedVerdict:
    return RecordedVerdict(judge, tuple(order), None if verdict is None else parse_verdict(verdict))


@dataclass(frozen=True)
class Beside:
    """What the recorded verdicts on an item say of one of them."""

    order: SignalValue
    strength: SignalValue
    peers: PeerSupport
    repeats: SignalValue
    variants: SignalValue


def beside(
    judgment: Judgment, others: Sequence[RecordedVerdict], rule: Right | None = None, variants: Collection[str] = ()
) -> Any:
    """Compares a judgment with recorded verdicts, of which it may be one; ``variants`` are other names of its model."""
    own = RecordedVerdict(judgment.judge, judgment.order, judgment.verdict)
    records = [*others] if own in others else [*others, own]
    row, models = records.index(own), dict.fromkeys({judgment.judge, *variants} if variants else (), "model")
    found = compare(Recorded.of([records], models), Rules(rule))
    named = {name: getattr(found, name).at(row) for name in ("order", "strength", "repeats", "variants")}
    return Beside(peers=found.supports[found.support[row]], **named)


def collected(
    records: Sequence[tuple[str, Sequence[RecordedVerdict]]], rules: Rules | None = None
) -> list[ClassAnswers]:
    """The answers that recorded verdicts give, by item."""
    recorded = Recorded.of([verdicts for _, verdicts in records], {})
    return collect_class_answers(recorded, [name for name, _ in records], rules or Rules())
