"""How often each caller may ask; ended sessions and attempts to log in, of all processes on one store."""

import contextlib
import importlib

import pytest
from starlette.exceptions import HTTPException

from metajudge.store import limits as stored
from metajudge.store import open_store
from metajudge.types.location import PostgresUrl
from tests.api.conftest import KEYS, app_module, running
from tests.doubles.postgres_urls import stores_on_postgres

visitors_module = importlib.import_module("metajudge.api.limits")
KEY, CI = "v" * 32, KEYS.Caller("ci", KEYS.ALL_SCOPES)


async def passed(rates, caller, times):
    """How many of so many requests are let through."""
    count = 0
    for _ in range(times):
        try:
            await rates.check(caller, "too much")
        except HTTPException:
            continue
        count += 1
    return count


async def test_tokens_come_back_with_time(tmp_path, monkeypatch):
    store, now = await open_store(tmp_path / "s.db"), [1_000_000.0]
    monkeypatch.setattr(stored.time, "time", lambda: now[0])
    rates = visitors_module.RateLimit(store, 60)
    assert await passed(rates, CI, 61) == 60
    now[0] += 1.0
    assert await passed(rates, CI, 2) == 1
    now[0] += 1e6
    assert await passed(rates, CI, 61) == 60
    await store.close()


@pytest.fixture
async def visitors(tmp_path):
    """Those of two processes on one store."""
    stores = [await open_store(tmp_path / "s.db") for _ in range(2)]
    yield [visitors_module.Visitors(one) for one in stores]
    for one in stores:
        await one.close()


async def test_ended_sessions_are_forgotten_once_they_would_have_expired(visitors, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(visitors_module.time, "time", lambda: now[0])
    first, second = visitors
    assert await first.secret() == await second.secret()
    await first.end("one", 1100.0)
    assert await second.is_ended("one")
    assert not await second.is_ended("two")
    now[0] = 1200.0
    await second.end("two", 1300.0)
    assert [await first.is_ended(mark) for mark in ("one", "two")] == [False, True]


async def test_attempts_are_counted_by_address_and_minute(visitors, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(visitors_module.time, "time", lambda: now[0])
    waits = [await visitors[n % 2].login_wait("here") for n in range(visitors_module.LOGINS_PER_MINUTE + 1)]
    assert waits == [0] * visitors_module.LOGINS_PER_MINUTE + [20.0]
    assert await visitors[0].login_wait("elsewhere") == 0
    now[0] += 20.0
    assert await visitors[0].login_wait("here") == 0


class TestReplicas:
    """Two services on one store."""

    @pytest.fixture(params=["file", "postgres"])
    def replicas(self, request, tmp_path):
        with contextlib.ExitStack() as stack:
            if request.param == "file":
                store = tmp_path / "s.db"
            else:
                store = PostgresUrl(stack.enter_context(stores_on_postgres())())
            keys = (KEYS.ApiKey("ci", KEYS.hashed(KEY)),)
            options = app_module.ServiceOptions(store=store, keys=keys)
            with running(options) as first, running(options) as second:
                yield first, second

    @staticmethod
    def cookie(client):
        """A session's cookie, without the port in its name."""
        return next(value for name, value in client.cookies.items() if name.startswith("metajudge"))

    def log_in(self, client, key=KEY):
        text = client.get("/login").text
        token = text.partition('name="csrf" value="')[2].partition('"')[0]
        return client.post("/login", data={"csrf": token, "key": key})

    def give(self, client, cookie):
        client.cookies.clear()
        client.cookies.set(f"metajudge-{client.base_url.port}", cookie)

    @pytest.mark.slow
    def test_a_session_is_known_to_all_until_it_is_ended_on_one(self, replicas):
        first, second = replicas
        assert self.log_in(first).status_code == 303
        self.give(second, cookie := self.cookie(first))
        assert second.get("/jobs").status_code == 200
        text = second.get("/jobs").text
        token = text.partition('name="csrf" value="')[2].partition('"')[0]
        assert second.post("/logout", data={"csrf": token}).headers["location"] == "/login"
        self.give(first, cookie)
        assert first.get("/jobs").headers["location"].startswith("/login"), "the other replica goes on with it"
