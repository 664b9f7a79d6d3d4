"""A watch: rounds, the position in the store, the day's budget, what goes wrong, and how it stops."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from metajudge import Engine
from metajudge.store.duckdb_store import open_store
from metajudge.systems.catalogue import open_system
from metajudge.systems.watch import KIND, TRIES, Watch
from metajudge.systems.watch_state import WatchRules
from metajudge.types import Status
from tests.doubles.hosted_systems import LangfuseServer
from tests.doubles.verdict_systems import MLflowServer, PhoenixServer

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
RULES = WatchRules("w", since="all", items_per_minute=1e9, workers=2, puts=True)


class CountingVet:
    """Free evidence with a price, as a panel of models would have."""

    def __init__(self, engine, store, cost=0.25):
        self.engine, self.store, self.cost = engine, store, cost
        self.asked, self.status, self.reads_others = [], Status.ASSESSED, True

    async def known(self, judgment):
        return await self.store.find_judgment(judgment.digest) is not None

    async def vet(self, judgment, others):
        self.asked.append((judgment.id, len(others)))
        found = await self.engine.vet(judgment, others=others)
        return found.model_copy(update={"cost_usd": self.cost, "status": self.status})


@pytest.fixture
async def store(tmp_path):
    found = await open_store(tmp_path / "s.duckdb")
    yield found
    await found.close()


@asynccontextmanager
async def watching(server, store, rules=RULES, clock=lambda: NOW, **more):
    name = {MLflowServer: "mlflow", PhoenixServer: "phoenix", LangfuseServer: "langfuse"}[type(server)]

    def opened(wait):
        return open_system(name, server.keys, address=server.url, project=server.project, per_second=1e9, wait=wait)

    async with Engine(store=store) as engine:
        vet = CountingVet(engine, store, **more)
        yield Watch(rules, opened, vet, store, clock=clock), vet


async def kept(store):
    entries = await store.audit_log.entries(KIND, "w")
    return [entry.payload for entry in entries]


@pytest.mark.parametrize("double", [MLflowServer, PhoenixServer, LangfuseServer])
async def test_what_arrives_is_vetted_and_put_once_and_the_position_is_in_the_store(double, store):
    with double() as server:
        async with watching(server, store) as (watch, vet):
            await watch.round()
            assert (watch.state.error, watch.state.vetted, watch.state.put) == (None, 3, 3)
            assert [others for _, others in vet.asked] == [1, 1, 1]
            position = watch.state.position
            assert position.startswith("2026-11-23T03:0")
            await watch.round()
            assert (len(vet.asked), watch.state.put, watch.state.rounds) == (3, 3, 2)
        assert [one["position"] for one in await kept(store)] == [None, position]

        asked = len(server.requests)
        async with watching(server, store) as (watch, vet):  # another process
            await watch.round()
            assert (watch.state.position, watch.state.vetted, watch.state.put) == (position, 3, 3)
            assert all(request[0] == "GET" for request in server.requests[asked:] if "search" not in request[1])


async def test_the_position_is_where_the_next_round_begins(store):
    with PhoenixServer() as server:
        async with watching(server, store, replace(RULES, again_h=0.5, since="24h")) as (watch, _):
            await watch.round()
            await watch.round()
        starts = [
            one[2]["start_time"][0] for one in server.requests if one[1].endswith("/spans") and "cursor" not in one[2]
        ]
    assert starts == [(NOW - timedelta(hours=24)).isoformat(), "2026-11-23T02:33:00+00:00"]


@pytest.mark.parametrize("double", [MLflowServer, PhoenixServer])
async def test_traces_without_a_verdict_are_no_error(store, double):
    server = double()
    for trace in getattr(server, "traces", {}).values():
        trace["assessments"] = []
    server.annotations = {}
    with server:
        async with watching(server, store) as (watch, vet):
            await watch.round()
            assert (watch.state.error, vet.asked, watch.state.rejected) == (None, [], 0)
            assert watch.state.position is not None


async def test_another_source_under_the_same_name_begins_anew(store):
    with PhoenixServer() as first, PhoenixServer() as second:
        for server in (first, second):
            async with watching(server, store) as (watch, vet):
                await watch.round()
                assert watch.state.vetted == len(vet.asked) if server is first else watch.state.position


async def test_the_budget_of_the_day_holds_over_processes_and_a_new_day_goes_on(store):
    rules = replace(RULES, budget_usd=0.5, workers=1)
    with MLflowServer() as server:
        async with watching(server, store, rules) as (watch, vet):
            await watch.round()
            assert (len(vet.asked), watch.state.spent_usd, watch.state.waits_for) == (2, 0.5, "budget")
            assert (watch.state.put, watch.state.position) == (2, None)
        async with watching(server, store, rules) as (watch, vet):
            before = len(server.requests)
            await watch.round()
            assert (len(vet.asked), watch.state.waits_for, len(server.requests)) == (0, "budget", before)
        async with watching(server, store, rules, clock=lambda: NOW + timedelta(days=1)) as (watch, vet):
            await watch.round()
            assert [judgment for judgment, _ in vet.asked] == ["a-0", "a-1", "a-2"]
            assert (watch.state.spent_usd, watch.state.vetted, watch.state.waits_for) == (0.25, 3, None)
            assert watch.state.position is not None


async def test_a_cost_that_is_unknown_ends_a_watch_with_a_budget(store):
    with MLflowServer() as server:
        async with watching(server, store, replace(RULES, budget_usd=1.0), cost=None) as (watch, vet):
            await watch.round()
        assert "give the agent a price" in watch.state.error
        assert watch.state.stopped
        assert len(vet.asked) <= RULES.workers


async def test_a_source_that_is_away_is_told_and_tried_again(store):
    with MLflowServer() as server:
        original = server.answer
        server.answer = lambda *_: (401, "no")
        told = []
        async with watching(server, store) as (watch, _):
            watch._told = lambda state, error: told.append((state.error, type(error).__name__))
            await watch.round()
            assert "check the key" in watch.state.error
            server.answer = original
            await watch.round()
            assert (watch.state.error, watch.state.vetted) == (None, 3)
    assert [name for _, name in told] == ["SystemCallError", "NoneType"]


async def test_notes_that_are_not_taken_hold_the_position_until_they_are(store):
    with MLflowServer() as server:
        original = server.answer
        server.answer = lambda *given: (
            (400, "no") if given[0] == "POST" and "assessments" in given[1] else original(*given)
        )
        async with watching(server, store) as (watch, _):
            await watch.round()
            assert (watch.state.put, watch.state.not_put, watch.state.position) == (0, 3, None)
            assert "answered 400" in watch.state.error
            server.answer = original
            await watch.round()
            assert (watch.state.put, watch.state.vetted, watch.state.error) == (3, 3, None)
            assert watch.state.position is not None


async def test_a_target_that_is_gone_holds_nothing_up(store):
    with MLflowServer() as server:
        original = server.answer
        server.answer = lambda *given: (404, "gone") if given[1].endswith("traces/tr-1") else original(*given)
        async with watching(server, store) as (watch, _):
            await watch.round()
            assert (watch.state.put, watch.state.not_put, watch.state.error) == (2, 1, None)
            assert watch.state.position is not None


async def test_a_verdict_that_cannot_be_vetted_holds_up_no_other_and_is_given_up_at_last(store):
    with MLflowServer() as server:
        async with watching(server, store) as (watch, vet):
            original = vet.vet

            async def vetted(judgment, others):
                if judgment.id == "a-1":
                    raise RuntimeError("the text of the judgment")
                return await original(judgment, others)

            vet.vet = vetted
            for number in range(TRIES):
                assert (watch.state.failed, watch.state.position) == (0, None), number
                await watch.round()
                assert watch.state.error == "judgment 'a-1': unexpected RuntimeError: see the log"
            assert (watch.state.vetted, watch.state.put, watch.state.failed) == (2, 2, 1)
            assert watch.state.position is not None
            await watch.round()
            assert (watch.state.failed, watch.state.error) == (1, None)


async def test_models_that_give_no_result_are_asked_again_and_then_the_verdict_is_a_failed_one(store):
    with MLflowServer() as server:
        async with watching(server, store) as (watch, vet):
            original = vet.vet

            async def vetted(judgment, others):
                found = await original(judgment, others)
                return found.model_copy(update={"status": Status.UNSCORED, "agents": ("asked",)})

            async def known(_):
                return False

            vet.known, watch._put = known, lambda _: asyncio.sleep(0, True)
            vet.vet = vetted
            for _ in range(TRIES):
                assert watch.state.position is None
                await watch.round()
            assert (watch.state.vetted, watch.state.failed, len(vet.asked)) == (0, 3, 3 * TRIES)
            assert watch.state.position is not None


async def test_stopped_while_it_fetches_it_ends_and_loses_nothing(store):
    with MLflowServer() as server:
        async with watching(server, store) as (watch, vet):
            original = server.answer

            def leaving(*given):
                watch.leave()
                return original(*given)

            server.answer = leaving
            await asyncio.wait_for(watch.run(), 10)
            assert (watch.state.stopped, watch.state.position, vet.asked) == (True, None, [])
        server.answer = original
        async with watching(server, store) as (watch, vet):
            await watch.round()
            assert (watch.state.vetted, len(vet.asked)) == (3, 3)


async def test_items_a_minute_are_kept(store, monkeypatch):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    with MLflowServer() as server:
        async with watching(server, store, replace(RULES, items_per_minute=30, workers=1)) as (watch, _):
            monkeypatch.setattr("metajudge.systems.watch.asyncio.sleep", sleep)
            await watch._pace()
            await watch._pace()
            await watch._pace()
    assert waited == [pytest.approx(0, abs=0.5), pytest.approx(2, abs=0.5), pytest.approx(4, abs=0.5)]
