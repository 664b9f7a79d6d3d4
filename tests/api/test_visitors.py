"""Ended sessions and attempts to log in: of one process, and of replicas on one database."""

import importlib

import pytest

from metajudge.types.location import PostgresUrl
from tests.api.conftest import KEYS, app_module, running
from tests.doubles.postgres_urls import stores_on_postgres

visitors_module = importlib.import_module("metajudge.api.limits")
KEY = "v" * 32


async def test_those_of_one_process_are_forgotten_once_they_would_have_expired(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(visitors_module.time, "time", lambda: now[0])
    visitors = visitors_module.OwnVisitors()
    await visitors.end("one", 1100.0)
    assert await visitors.is_ended("one")
    assert not await visitors.is_ended("two")
    now[0] = 1200.0
    await visitors.end("two", 1300.0)
    assert list(visitors._ended) == ["two"]


async def test_attempts_are_counted_by_address():
    visitors = visitors_module.OwnVisitors()
    waits = [await visitors.login_wait("here") for _ in range(visitors_module.LOGINS_PER_MINUTE + 1)]
    assert waits[:-1] == [0] * visitors_module.LOGINS_PER_MINUTE
    assert 0 < waits[-1] <= 3
    assert await visitors.login_wait("elsewhere") == 0


class TestReplicas:
    """Two services on one database."""

    @pytest.fixture
    def replicas(self):
        with stores_on_postgres() as make:
            store = PostgresUrl(make())
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

    @pytest.mark.slow
    def test_attempts_to_log_in_are_counted_together(self, replicas):
        first, second = replicas
        most = visitors_module.LOGINS_PER_MINUTE
        statuses = [self.log_in(one, "wrong").status_code for _ in range(most + 2) for one in (first, second)]
        assert statuses.count(401) <= 2 * most, "each replica counts its own"
        assert statuses[-1] == 429
