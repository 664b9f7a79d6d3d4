"""An audit of two judges of grades, one of which drifts, on items that two people labelled; one text holds a secret."""

from functools import cache

from metajudge.audit.card import AuditedJudge, NextCommand
from metajudge.audit.report import audit
from metajudge.types import Item, Judgment
from tests.audit.records import people

KEY = "sk-" + "a1B2" * 8
GOALS = ("add labels", "calibrate", "guarantee", "vet", "drop a judge")


def judged(at, judge, grade):
    labels = people([at % 4 + 1] * 2) if at < 60 else ()
    item = Item(id=f"i{at}", question=f"What is {at}?", responses={"A": f"Five. My key is {KEY}."}, labels=labels)
    meta = {"time": 1.7e9 + 86_400 * at, "version": "ab"[at % 2]}
    return Judgment(
        id=f"{judge}/{at}", item=item, judge=judge, verdict=grade, meta=meta, rationale="It is <b>right</b>."
    )


@cache
def whole():
    given = [judged(at, "owl", at % 4 + 1 if at < 40 else 1) for at in range(80)]
    return audit([*given, *(judged(at, "wren", (at + at % 3) % 4 + 1) for at in range(80))])


def report(**changes):
    steps = tuple(NextCommand(goal=goal, reason=f"to {goal}", judge="wren") for goal in GOALS)
    return whole().model_copy(update={"next": steps, **changes})


def card(**changes):
    return whole().judges[0].model_copy(update=changes)


def unlabelled(judge="wren"):
    card = audit([judged(at, judge, at % 4 + 1) for at in range(60, 80)]).judges[0]
    return AuditedJudge.model_validate(card.model_dump() | {"checks": (), "figures": {}})
