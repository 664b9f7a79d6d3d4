"""A store with several judges on the same items, panels, labels, probabilities, calls and people's decisions."""

import random
import sqlite3
import time

from metajudge.errors import FailureKind
from metajudge.reviews.opening import review_of
from metajudge.reviews.review import HumanDecision, Outcome
from metajudge.store import RunRecord, open_store
from metajudge.types import Status
from tests.api.pages.filled_store import made_agent, made_assessment, made_judgment
from tests.reviewables.planted import run
from tests.store.conftest import Records

JUDGES = ("owl-large", "crow-2", "jay")
DAY = 86_400


def _records(items, seed, labelled):
    """(judgment, assessment) of every judge on every item; the right ones score higher."""
    rng = random.Random(seed)
    for item in range(items):
        for judge in JUDGES:
            right = rng.random() < 0.65
            judgment = made_judgment(item, judge=judge, verdict="A>B" if right else "B>A")
            changes = {} if labelled else {"label": None}
            judgment = judgment.model_copy(
                update={"id": f"j{item}-{judge}", "item": judgment.item.model_copy(update=changes)}
            )
            level = 3.6 if right else 2.4
            scores = [min(5.0, max(1.0, round(rng.gauss(level, 0.9) * 4) / 4)) for _ in range(2)]
            agents = (
                made_agent("strict", "fox-2", (scores[0],) * 4, cost_usd=0.002, prompt_digest=f"call-{judgment.id}-s"),
                made_agent("kind", "bear-1", (scores[1],) * 4, cost_usd=0.0005, prompt_digest=f"call-{judgment.id}-k"),
            )
            score = sum(scores) / 2
            changes = {"agents": agents, "final_score": score, "accepted": score > 3.5, "threshold": 3.5}
            changes["probability"] = round(min(0.99, max(0.01, (score - 1) / 4 + rng.gauss(0, 0.05))), 3)
            if item % 10 == 9 and judge == "jay":
                changes |= {"status": Status.UNSCORED, "final_score": None, "accepted": None, "probability": None}
                changes |= {"decision": None, "calibrated": False}
            yield judgment, made_assessment(judgment, item, **changes)


async def _fill(path, items, seed, labelled, decided):
    store = await open_store(path)
    try:
        await store.start_run(RunRecord("run-7", "vet", 1_790_000_000.0, "running", {"panel": "two agents"}))
        reviews = []
        for judgment, assessment in _records(items, seed, labelled):
            await store.save_assessment(f"key-{judgment.id}", judgment, assessment, "run-7")
            found = review_of(judgment, assessment, now=1_790_000_000.0, scale=(1, 5))
            if found is not None:
                reviews.append(found)
            for agent in assessment.agents:
                _record_calls(store, agent)
        await store.reviews.open(reviews)
        for place, review in enumerate(reviews[:decided]):
            await store.reviews.claim("Ada", now=time.time(), review_id=review.review_id)
            outcome = Outcome.REJECT if place % 5 == 0 else Outcome.APPROVE
            now = time.time()
            made = HumanDecision(review_id=review.review_id, reviewer="Ada", outcome=outcome, decided_at=now)
            await store.reviews.decide(made, now=now)
        await store.finish_run("run-7", "finished", 1_790_000_060.0, {"assessed": items})
    finally:
        await store.close()


def _record_calls(store, agent):
    common = {"key": agent.prompt_digest, "model": agent.model, "started_at": time.time(), "run_id": "run-7"}
    fails = sum(map(ord, agent.prompt_digest)) % 7 == 0  # the same in every process
    if fails:
        failed = {"status": "failed", "failure_kind": FailureKind.RATE_LIMITED, "failure_message": "slow down"}
        nothing = {"usage": None, "cost_usd": None, "http_status": 429}
        store.record_call(Records().call(0, None, **common, **failed, **nothing))
    store.record_call(Records().call(0, "a reply", **common, attempt=1 + fails, cost_usd=agent.cost_usd))


def fill_dashboard(path, items=60, *, seed=1, labelled=True, decided=12, days=9):
    """Fills the store at a path and spreads what is in it over the last days."""
    run(_fill(path, items, seed, labelled, decided))
    connection = sqlite3.connect(path)
    now = time.time()
    for table, column, number in (("assessments", "created_at", "assessment_id"), ("calls", "started_at", "call_id")):
        connection.execute(
            f"UPDATE {table} SET {column} = ? - ? * {DAY} * (1 - 1.0 * {number} / (SELECT max({number}) FROM {table}))",
            [now, days],
        )
    connection.commit()
    connection.close()
