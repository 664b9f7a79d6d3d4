from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metajudge.store import Store, open_store
from metajudge.types import (
    AgentResult,
    Assessment,
    CallRecord,
    CriterionScore,
    Failure,
    Item,
    Judgment,
    SignalValue,
    Status,
    Usage,
    digest,
)
from tests.doubles.postgres_urls import stores_on_postgres


class Records:
    """Makes small records; ``mark`` is a string that appears in every text of a record."""

    def judgment(self, n: int = 0, item: str | None = None, mark: str = "plain", **changes: Any) -> Judgment:
        content = Item(
            id=item or f"item-{n}",
            question=f"What is {n} + {n}? {mark}",
            responses={"A": f"It is {2 * n}. {mark}", "B": f"It is {2 * n + 1}. {mark}"},
            category="math",
            label="A>B",
            reference=f"{2 * n} {mark}",
        )
        values = {
            "id": f"judgment-{n}",
            "item": content,
            "judge": "judge-a",
            "verdict": "A>>B",
            "rationale": f"A adds up. {mark}",
            "instruction": f"Compare. {mark}",
            "meta": {"note": mark},
        }
        return Judgment(**{**values, **changes})

    def call(self, n: int = 0, text: str | None = "answer", **changes: Any) -> CallRecord:
        record = CallRecord(
            key=self.key(n),
            endpoint="openai@http://localhost/v1",
            model="small",
            draw=0,
            attempt=1,
            status="ok",
            started_at=1000.0 + n,
            latency_s=0.25,
            run_id="run-1",
            reply_text=text,
            reply_model="small-2025",
            finish="stop",
            usage=Usage(100, 20, 5, 30),
            cost_usd=0.001,
            http_status=200,
        )
        return replace(record, **changes)

    def key(self, n: int) -> str:
        return digest(["request", n])

    def assessment(self, judgment: Judgment, n: int = 0, mark: str = "plain", **changes: Any) -> Assessment:
        """Two agents, one of which answered (its request is call ``n``) and one of which failed."""
        scored = AgentResult(
            agent="one",
            model="small",
            weight=0.5,
            score=4.2,
            criteria={
                "accuracy": CriterionScore(score=4.0, explanation=f"right {mark}"),
                "fairness": CriterionScore(score=None, explanation=mark),
            },
            calls=1,
            cost_usd=0.001,
            prompt_digest=self.key(n),
        )
        opening = scored.model_copy(update={"score": 3.0})
        failed = AgentResult(
            agent="two",
            model="large",
            weight=0.5,
            failure=Failure(kind="refused", message=f"I will not discuss {mark}"),
            opening=opening,
            cost_usd=None,
        )
        values = {
            "judgment_id": judgment.id,
            "item_id": judgment.item.id,
            "judge": judgment.judge,
            "status": Status.ASSESSED,
            "final_score": 4.2,
            "accepted": False,
            "agents": (scored, failed),
            "summariser": scored,
            "signals": {"stated_strength": SignalValue(value=1.0, state="strong", detail=mark)},
            "strategy": "panel_discussion",
            "threshold": 4.5,
            "panel_digest": "panel",
            "judgment_digest": judgment.digest,
            "metajudge_version": "0",
        }
        return Assessment(**{**values, **changes})


@pytest.fixture
def records() -> Records:
    return Records()


Open = Callable[..., Awaitable[Store]]


@pytest.fixture
def postgres_urls() -> Iterator[Callable[[], str]]:
    """Makes URLs of stores on the PostgreSQL server for tests, each in a schema of its own."""
    with stores_on_postgres() as make:
        yield make


@pytest.fixture
def postgres_url(postgres_urls: Callable[[], str]) -> str:
    """A store's URL on the PostgreSQL server for tests."""
    return postgres_urls()


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be, on each database."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return str(tmp_path / "contract.db")


@pytest.fixture
async def reopen(location: str) -> AsyncIterator[Open]:
    """Opens the same store again and again, each time after an earlier opening was closed, if one is given."""
    opened: list[Store] = []

    async def again(earlier: Store | None = None) -> Store:
        if earlier is not None:
            await earlier.close()
        opened.append(await open_store(location))
        return opened[-1]

    yield again
    for one in opened:
        await one.close()


@pytest.fixture
async def store(reopen: Open) -> Store:
    return await reopen()


@pytest.fixture
def judgments(records) -> list[Judgment]:
    return [records.judgment(n, item=f"item-{n // 2}", mark="é“”\\frac" * 3) for n in range(6)]
