"""Judgments and recorded verdicts in short, and what they say of one another."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from metajudge.evidence.columns import compare
from metajudge.evidence.format import compared_lengths, ratio_signal
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.rationale import stated_agreement
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Verdicts, collected
from metajudge.types import AnyVerdict, Item, Judgment, Right, SignalValue, parse_verdict

PAIR = Item(id="q", question="?", responses={"A": "one two three", "B": "one"})


TRIPLE = Item(id="t", question="?", responses={"A": "a", "B": "b b", "C": ""})


def judged(verdict: Any, *, item: Item = PAIR, judge: str = "owl", **more: Any) -> Judgment:
    reason = {"no_verdict": "cut off"} if verdict is None else {}
    return Judgment(id="j", item=item, judge=judge, verdict=verdict, **reason, **more)


def length_ratio(judgment: Judgment) -> SignalValue:
    return ratio_signal(judgment.verdict, *compared_lengths(judgment.verdict, judgment.item.words))


def rationale_agreement(judgment: Judgment) -> SignalValue:
    value, state, detail = stated_agreement(judgment)
    return SignalValue(value=value, state=state, detail=detail)


class Said(NamedTuple):
    """What one judge said."""

    judge: str
    order: tuple[str, ...]
    verdict: AnyVerdict | None


def said(judge: str, order: str, verdict: Any) -> Said:
    return Said(judge, tuple(order), None if verdict is None else parse_verdict(verdict))


def table(
    items: Mapping[str, Sequence[Said]], models: Mapping[str, str] | None = None, **more: Mapping[str, Any]
) -> Verdicts:
    """The verdicts on items; ``more`` gives fields of some items."""
    found = []
    for name, records in items.items():
        shown = {one for record in records for one in record.order}
        fields = {field: values[name] for field, values in more.items() if name in values}
        item = Item(id=name, question=f"{name}?", responses=dict.fromkeys(sorted(shown), ""), **fields)
        for judge, order, verdict in records:
            meta = {"judge_model": models[judge]} if models and judge in models else {}
            found.append(judged(verdict, item=item, judge=judge, order=order, meta=meta))
    return collected(found, texts=False)


@dataclass(frozen=True)
class Beside:
    """What the recorded verdicts on an item say of one of them."""

    order: SignalValue
    strength: SignalValue
    peers: PeerSupport
    repeats: SignalValue
    variants: SignalValue


def beside(
    judgment: Judgment, others: Sequence[Said], rule: Right | None = None, variants: Collection[str] = ()
) -> Any:
    """Compares a judgment with recorded verdicts, of which it may be one; ``variants`` are other names of its model."""
    own = Said(judgment.judge, judgment.order, judgment.verdict)
    records = [*others] if own in others else [*others, own]
    row, models = records.index(own), dict.fromkeys({judgment.judge, *variants} if variants else (), "model")
    found = compare(table({"i": records}, models), Rules(rule))
    return Beside(**{one.name: getattr(found, one.name).at(row) for one in fields(Beside)})
