"""What is particular to PostgreSQL: who may come in, a server that goes away, several stores on one database."""

import asyncio
import contextlib
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from metajudge.errors import ConfigurationError, StoreError, StoreUnavailableError
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store import open_store, sql, writer
from metajudge.store.sql import Migration, Pauses
from metajudge.store.store import Store
from metajudge.types.location import PostgresUrl, store_location
from tests.doubles.postgres_server import postgres_server as server
from tests.doubles.store_script import WRITER, killed, script
from tests.doubles.waiting import until

__all__ = ["server"]
psycopg = pytest.importorskip("psycopg", reason="extra postgres is not installed")
postgres = pytest.importorskip("metajudge.store.postgres")


@pytest.fixture
def location(postgres_url: str) -> str:
    """Stores are on PostgreSQL alone here."""
    return postgres_url


async def impatient(url: str, **options):
    engine = postgres.PostgresEngine(PostgresUrl(url), **{"patience_s": 1.0, **options})
    return await asyncio.to_thread(Store, engine)


@contextlib.contextmanager
def as_role(url, options=""):
    """The URL for a role of the test's own, which is gone afterwards."""
    name, parts = f"role_{os.getpid()}", urlsplit(url)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'p' {options}")
        try:
            yield parts._replace(netloc=f"{name}:p@127.0.0.1:{parts.port}").geturl()
        finally:
            admin.execute(f"DROP ROLE {name}")


class TestOpening:
    async def test_wrong_password_says_so_and_never_what_it_was(self, postgres_url) -> None:
        right = urlsplit(postgres_url).password
        wrong = postgres_url.replace(right, "s3cret-guess")
        with pytest.raises(StoreError, match=r"refuses the login: .*password authentication failed") as caught:
            await open_store(wrong)
        assert "s3cret-guess" not in str(caught.value)
        assert ":***@" in str(caught.value)

    async def test_missing_database_is_named(self, postgres_url) -> None:
        gone = urlsplit(postgres_url)._replace(path="/nowhere").geturl()
        with pytest.raises(StoreError, match=r'database "nowhere" does not exist.*createdb'):
            await open_store(gone)

    async def test_schema_of_a_newer_version_is_refused(self, postgres_url) -> None:
        await (await open_store(postgres_url)).close()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("INSERT INTO migrations VALUES (999, 'future')")
        with pytest.raises(StoreError, match=r"newer metajudge \(format 999"):
            await open_store(postgres_url)

    async def test_other_tables_are_refused_and_left_as_they_are(self, postgres_url) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            schema = connection.execute("SHOW search_path").fetchone()[0]
            connection.execute(f"CREATE SCHEMA {schema}; CREATE TABLE sales (amount int)")
        with pytest.raises(StoreError, match=r"not a metajudge store \(it has the tables sales\)"):
            await open_store(postgres_url)
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
            assert found == [("sales",)]

    async def test_server_without_a_free_connection_is_a_typed_error(self, postgres_url) -> None:
        unable = pytest.raises(StoreUnavailableError, match="too many connections")
        with as_role(postgres_url, "CONNECTION LIMIT 0") as poor, unable:
            await open_store(poor)

    async def test_without_the_right_to_make_tables_it_says_what_is_needed(self, postgres_url) -> None:
        with as_role(postgres_url) as guest, pytest.raises(StoreError, match=r"needs the right to create the schema"):
            await open_store(guest)

    async def test_ten_that_start_at_once_make_the_tables_once(self, reopen) -> None:
        stores = await asyncio.gather(*(reopen() for _ in range(10)))
        assert [await store.runs() for store in stores] == [[]] * 10

    def test_locations(self) -> None:
        assert str(store_location("postgresql://u:p@h/db")) == "postgresql://u:***@h/db"
        assert str(store_location("postgresql://u:p#s@h/db")) == "postgresql://u:***@h/db"
        assert "hidden" not in repr(store_location("postgres://h/db?user=u&password=hidden&sslmode=require"))
        assert store_location("a/b.duckdb") == Path("a/b.duckdb")
        with pytest.raises(ConfigurationError, match="not a URL with mysql"):
            store_location("mysql://h/db")
        with pytest.raises(ConfigurationError, match="not as a path"):
            store_location(Path("postgresql://u:p@h/db"))


class TestSchema:
    async def test_both_databases_have_the_same_tables_and_columns(self, tmp_path, store) -> None:
        """What one store keeps, the other one can: a column that only one of them has cannot be copied."""
        file = await open_store(tmp_path / "s.db")
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        there = await store.read(lambda c: c.rows(query))
        query = "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'"
        here = await file.read(lambda c: c.rows(query))
        own = {*(("writers", one) for one in ("process", "opened_at"))}
        own |= {("sqlite_sequence", one) for one in ("name", "seq")}
        assert set(here) ^ set(there) <= own | {(table, "rowid") for table in ("items", "judgments", "runs")}
        assert len(here) > 150
        await file.close()

    async def test_a_failing_step_leaves_the_schema_as_it_was(self, postgres_url, monkeypatch) -> None:
        await (await open_store(postgres_url)).close()
        steps = sql.steps_in("postgres")
        number = steps[-1].version
        bad = (
            *steps,
            Migration(number + 1, "good", "CREATE TABLE extra (a INTEGER)"),
            Migration(number + 2, "bad", "CREATE TABLE extra (a INTEGER)"),
        )
        with monkeypatch.context() as patch:
            patch.setattr(postgres, "steps_in", lambda _: bad)
            with pytest.raises(StoreError, match="extra"):
                await open_store(postgres_url)
        await (await open_store(postgres_url)).close()
        with psycopg.connect(postgres_url) as connection:
            assert connection.execute("SELECT to_regclass('extra')").fetchone() == (None,)


async def test_a_store_of_the_version_before_is_migrated_once_its_processes_have_ended(
    postgres_url, reopen, monkeypatch
) -> None:
    steps = sql.steps_in("postgres")
    with monkeypatch.context() as patch:
        patch.setattr(postgres, "steps_in", lambda _: steps[:13])
        engine = postgres.PostgresEngine(PostgresUrl(postgres_url))
        earlier = engine.connect()
        engine.migrate(earlier)
    assert engine.claim(earlier, engine.register(earlier))
    earlier.execute("INSERT INTO service_jobs VALUES ('job', 'ada', '{}', 1, 'queued', NULL, 1, NULL)")
    with pytest.raises(StoreError, match="1 of its processes have it open: stop them"):
        await open_store(postgres_url)
    earlier.close()
    store = await reopen()
    assert await store.read(lambda c: c.rows("SELECT state FROM service_jobs")) == [("queued",)]


class TestPool:
    @pytest.mark.slow
    async def test_exhausted_it_is_a_typed_error_and_works_again_after(self, postgres_url) -> None:
        store = await impatient(postgres_url, pooled=1, patience_s=0.5)
        slow = asyncio.create_task(store.read(lambda connection: connection.execute("SELECT pg_sleep(2)").fetchall()))
        await asyncio.sleep(0.2)
        with pytest.raises(StoreUnavailableError, match=r"all 1 connections to the store .* were busy"):
            await store.runs()
        await slow
        assert await store.runs() == []
        await store.close()

    @pytest.mark.slow
    async def test_time_in_which_others_are_served_counts(self, postgres_url, monkeypatch) -> None:
        store = await impatient(postgres_url, pooled=1, patience_s=60.0)
        monkeypatch.setattr("metajudge.store.store.Pauses", lambda _: Pauses(0.0))  # as if asked for 60 s ago
        assert await store.runs() == [], "a connection is free"
        slow = asyncio.create_task(store.read(lambda connection: connection.execute("SELECT pg_sleep(2)").fetchall()))
        await asyncio.sleep(0.2)
        with pytest.raises(StoreUnavailableError, match="were busy"):
            await store.runs()
        await slow
        await store.close()

    async def test_a_connection_that_was_cut_is_replaced_without_a_word(self, postgres_url, store, records) -> None:
        judgment = records.judgment(1)
        for n in range(5):
            with psycopg.connect(postgres_url, autocommit=True) as admin:
                cut = admin.execute(  # the writer's own connection: other tests use the same server
                    "SELECT pg_terminate_backend(pid) FROM pg_locks"
                    " WHERE locktype = 'advisory' AND classid = %s::BIGINT::OID AND objid = %s",
                    [postgres.lock_class(store.engine.schema), store.writer_id],
                )
                assert cut.rowcount >= 1
            store.record_call(records.call(n))
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment), "run-1")
        assert len(await store.find_assessments([f"key-{n}" for n in range(5)])) == 5
        shown = await store.show("judgment-1")
        assert len(shown["assessments"] + shown["history"]) == 5
        assert (await store.show("run-1"))["calls_total"] == 5


class TestLostAnswers:
    """The connection breaks after the server committed and before it could say so."""

    async def test_a_group_that_did_arrive_is_not_written_twice(self, store, records, monkeypatch) -> None:
        commit, broken = writer.commit, []

        def cut(engine, connection, writer_id, group, number):
            commit(engine, connection, writer_id, group, number)
            if len(broken) < 2:
                broken.append(number)
                connection.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(writer, "commit", cut)
        judgment = records.judgment(1)
        for n in range(4):
            store.record_call(records.call(n))
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment), "run-1")
        assert broken
        shown = await store.show("judgment-1")
        assert len(shown["assessments"] + shown["history"]) == 4
        assert (await store.show("run-1"))["calls_total"] == 4

    async def test_a_change_that_may_not_be_repeated_says_that_it_is_not_known(self, store, monkeypatch) -> None:
        commit_once(monkeypatch)
        with pytest.raises(StoreUnavailableError, match="it is unknown whether it was made"):
            await store.audit_log.append("kind", "subject", {}, now=1.0)
        assert len(await store.audit_log.entries("kind")) == 1

    async def test_a_decision_is_given_again_and_recorded_once(self, store, monkeypatch) -> None:
        review = {"review_id": "r", "subject_id": "s", "subject_digest": "d", "item_id": "i", "action": "REVIEW"}
        await store.reviews.open([Review(**review, judge=None, category=None, policy=None, opened_at=1.0)])
        await store.reviews.claim("ada", now=1.0)
        commit_once(monkeypatch)
        said = HumanDecision(review_id="r", reviewer="ada", outcome=Outcome.APPROVE, decided_at=1.0)
        state = await store.reviews.decide(said, now=1.0)
        assert state.decisions == (said.model_copy(update={"seconds": 0.0}),)


def commit_once(monkeypatch) -> None:
    """The next transaction is committed, and its connection breaks before that is known."""
    leave = psycopg.Transaction.__exit__

    def cut(self, *error):
        leave(self, *error)
        monkeypatch.undo()
        self.connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(psycopg.Transaction, "__exit__", cut)


@pytest.mark.slow
class TestServerGone:
    async def test_killed_in_the_middle_nothing_acknowledged_is_lost_or_doubled(self, server, records) -> None:
        store = await impatient(server.url, patience_s=30.0)
        acknowledged = []
        stop = False

        async def work(first):
            n = first
            while not stop:
                judgment = records.judgment(n)
                store.record_call(records.call(n))
                await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), "run-1")
                acknowledged.append(n)
                n += 8

        tasks = [asyncio.create_task(work(first)) for first in range(8)]
        for _ in range(3):
            await asyncio.sleep(0.7)
            await asyncio.to_thread(server.kill)
            before = len(acknowledged)
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(until, lambda before=before: len(acknowledged) > before, "it did not go on")
        stop = True
        await asyncio.gather(*tasks)
        found = await store.find_assessments([f"key-{n}" for n in acknowledged])
        assert len(found) == len(acknowledged) == len(set(acknowledged))
        await store.close()
        with psycopg.connect(server.url) as connection:
            for table in ("calls", "assessments"):
                query = f"SELECT key FROM metajudge.{table} GROUP BY key HAVING count(*) > 1"
                assert connection.execute(query).fetchall() == []
            assert connection.execute("SELECT count(*) FROM metajudge.calls").fetchone() == (len(acknowledged),)

    async def test_away_for_long_it_is_a_typed_error_soon_and_goes_on_when_it_is_back(self, server, records) -> None:
        store = await impatient(server.url)
        judgment = records.judgment(1)
        store.record_call(records.call(1))
        await store.save_assessment("before", judgment, records.assessment(judgment), "run-1")
        server.kill()
        store.record_call(records.call(2))
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError, match=r"cannot be reached: .*No acknowledged record is lost"):
            await store.save_assessment("lost", judgment, records.assessment(judgment), "run-1")
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            await store.runs()
        assert time.monotonic() - began < 15
        with pytest.raises(StoreUnavailableError):
            store.record_call(records.call(3))
        server.start()
        deadline = time.monotonic() + 20
        while True:
            try:
                await store.save_assessment("after", judgment, records.assessment(judgment), "run-1")
                break
            except StoreUnavailableError:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.2)
        assert set(await store.find_assessments(["before", "after"])) == {"before", "after"}
        assert (await store.find_reply(records.key(2))).text == "answer", "a call that was taken on was dropped"
        await store.close()

    async def test_closing_while_it_is_away_tells_what_is_lost(self, server, records) -> None:
        store = await impatient(server.url)
        server.kill()
        store.record_call(records.call(1))
        with pytest.raises(StoreError, match=r"not acknowledged are lost \(1\)"):
            await store.close()
        await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("lines", [10, 300])
async def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9_of_a_client(
    postgres_url, reopen, records, lines
) -> None:
    acknowledged = killed(*(script(WRITER, postgres_url, number) for number in range(2)), lines=lines)
    store = await reopen()
    found = await store.find_assessments([f"key-{n}" for n in acknowledged])
    assert len(found) == len(acknowledged)
    for n in acknowledged[::50]:
        assert await store.find_reply(records.key(n)) is not None
    assert {run.status for run in await store.runs()} == {"interrupted"}
