"""Decisions of each kind in a store, as the commands keep them."""

import time

from metajudge.clashes.record import CandidateAnswer, ClashRecord, JudgeVote, keep_clashes, subject_of
from metajudge.clashes.tally import Voter, tally
from metajudge.types import Assessment, Item, Judgment, Ranking, Status, digest
from metajudge.types.decision import Action, Decision, DecisionInputs
from tests.reviewables.planted import in_store

KINDS = ("judgment", "clash", "case")


async def decide(store, kind, number, action=Action.APPROVE):
    """Stores a machine's decision on a judgment, a clash or a case; returns the content's digest."""
    return await {"judgment": _judgment, "clash": _clash, "case": _case}[kind](store, number, action)


def _decision(action):
    inputs = DecisionInputs(basis="score", value=4.8, confidence=0.9, confidence_rule="same_side")
    return Decision(
        action=action, policy="careful", policy_digest="p1", justification="the band says so", inputs=inputs, band=0
    )


async def _judgment(store, number, action):
    item = Item(id=f"item-{number}", question=f"What is {number}?", responses={"A": "one", "B": "two"})
    judgment = Judgment(id=f"judgment-{number}", item=item, judge="judge-a", verdict="A>B", rationale="A is right.")
    found = Assessment(
        judgment_id=judgment.id,
        judgment_digest=judgment.digest,
        item_id=item.id,
        judge=judgment.judge,
        status=Status.ASSESSED,
        final_score=4.8,
        accepted=True,
        threshold=4.5,
        strategy="single",
        panel_digest=digest("panel"),
        agents=(),
        metajudge_version="0",
    )
    completed = found.model_copy(update={"decision": _decision(action)})
    await store.save_assessment(digest(["key", number]), judgment, completed, "run", found)
    return judgment.digest


async def _case(store, number, action):
    decision = _decision(action).model_dump(mode="json")
    content = digest(["case", number])
    record = {"case_id": f"case-{number}", "type": "climate", "decision": decision, "case_digest": content}
    await store.audit_log.append("case", f"case-{number}", {**record, "digest": digest(record)}, now=time.time())
    return content


def clash_record(number, *, unanimous=True):
    """Two answers, ranked by three judges."""
    names = ("fox", "owl")
    said = {f"j{n}": Ranking((("fox",), ("owl",)) if unanimous or n else (("owl",), ("fox",))) for n in range(3)}
    counted = tally(list(names), [Voter(name) for name in said], said)
    votes = [
        JudgeVote(
            judge=name,
            model=f"model {name}",
            endpoint="openai",
            role="panel",
            weight=1.0,
            label_map={"A0": "fox", "A1": "owl"},
            order=names,
            ranking=ranking,
        )
        for name, ranking in said.items()
    ]
    return ClashRecord(
        id=f"clash-{number}",
        key=f"key of {number}",
        evaluation=f"clash-{number}/c1/r1",
        item_id=f"clash-{number}",
        seed=7,
        question="Which city?",
        status=counted.status,
        winner=counted.winner,
        candidates=tuple(
            CandidateAnswer(name=name, source="given", text=f"{name} says Paris", text_digest="t") for name in names
        ),
        panel=tuple(said),
        votes=tuple(votes),
        tally=counted,
        metajudge_version="0",
    )


async def _clash(store, number, action):
    record = clash_record(number, unanimous=action is Action.APPROVE)
    await keep_clashes(store, [record], now=time.time())
    return subject_of(record)


def filled(path):
    """A store with an approved and an escalated one of each kind; its path."""

    async def fill(store):
        for number, action in enumerate((Action.APPROVE, Action.REVIEW)):
            for kind in KINDS:
                await decide(store, kind, number, action)

    in_store(path, fill)
    return path
