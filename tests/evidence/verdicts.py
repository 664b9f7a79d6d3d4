"""Judgments and recorded verdicts in short."""

from typing import Any

from metajudge.evidence.comparison import RecordedVerdict
from metajudge.types import Item, Judgment, parse_verdict

PAIR = Item(id="q", question="?", responses={"A": "one two three", "B": "one"})


TRIPLE = Item(id="t", question="?", responses={"A": "a", "B": "b b", "C": ""})


def judged(verdict: Any, *, item: Item = PAIR, judge: str = "owl", **more: Any) -> Judgment:
    reason = {"no_verdict": "cut off"} if verdict is None else {}
    return Judgment(id="j", item=item, judge=judge, verdict=verdict, **reason, **more)


def said(judge: str, order: str, verdict: Any) -> RecordedVerdict:
    return RecordedVerdict(judge, tuple(order), None if verdict is None else parse_verdict(verdict))
