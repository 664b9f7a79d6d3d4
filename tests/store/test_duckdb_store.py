"""What is particular to the DuckDB file: its lock, its bytes, its failures."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from metajudge.errors import StoreError, StoreLockedError
from metajudge.store import RunRecord
from metajudge.store.duckdb_store import DuckDBStore, open_store
from metajudge.store.forgetting import copy_path

HERE = Path(__file__).parent
PRELUDE = f"""
import asyncio, sys, time
sys.path.insert(0, {str(HERE)!r})
from conftest import Records
from metajudge.errors import StoreError
from metajudge.store import RunRecord, open_store
records = Records()
path = sys.argv[1]
"""


def script(body: str, path: Path, **options: Any) -> subprocess.Popen[str]:
    code = PRELUDE + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def bytes_beside(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())


class TestOpening:
    async def test_new_file_is_made_and_opened_again(self, path, records) -> None:
        store = await open_store(str(path))
        store.record_call(records.call(1))
        await store.close()
        assert path.exists()
        assert not Path(f"{path}.wal").exists()
        store = await open_store(path)
        assert await store.find_reply(records.key(1)) is not None
        await store.close()

    async def test_in_memory_stores_are_apart_and_leave_no_file(self, tmp_path, monkeypatch, records) -> None:
        monkeypatch.chdir(tmp_path)
        one, two = await open_store(":memory:"), await open_store(":memory:")
        one.record_call(records.call(1))
        assert await one.find_reply(records.key(1)) is not None
        assert await two.find_reply(records.key(1)) is None
        judgment = records.judgment(1)
        await one.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        assert await one.forget("item-1") == 4
        await one.close()
        await two.close()
        assert list(tmp_path.iterdir()) == []

    async def test_folder_is_refused(self, tmp_path) -> None:
        with pytest.raises(StoreError, match="is a folder; name a file in it"):
            await open_store(tmp_path)

    async def test_missing_parent_is_refused_and_not_made(self, tmp_path) -> None:
        with pytest.raises(StoreError, match=r"folder .*missing does not exist"):
            await open_store(tmp_path / "missing" / "store.duckdb")
        assert not (tmp_path / "missing").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    async def test_folder_without_write_permission_is_refused(self, tmp_path) -> None:
        tmp_path.chmod(0o500)
        with pytest.raises(StoreError, match="not writable"):
            await open_store(tmp_path / "store.duckdb")

    @pytest.mark.parametrize("content", [b"", b"id,text\n1,hello\n" * 5000])
    async def test_other_file_is_refused_and_left_as_it_is(self, path, content) -> None:
        path.write_bytes(content)
        with pytest.raises(StoreError, match="not a metajudge store"):
            await open_store(path)
        assert path.read_bytes() == content

    async def test_other_duckdb_database_is_refused_and_left_as_it_is(self, path) -> None:
        with duckdb.connect(str(path)) as other:
            other.execute("CREATE TABLE sales AS SELECT 1 AS amount")
        with pytest.raises(StoreError, match=r"not a metajudge store \(it has the tables sales\)"):
            await open_store(path)
        with duckdb.connect(str(path)) as other:
            assert other.execute("SHOW TABLES").fetchall() == [("sales",)]

    async def test_file_of_a_newer_version_is_refused(self, path) -> None:
        await (await open_store(path)).close()
        with duckdb.connect(str(path)) as connection:
            connection.execute("INSERT INTO migrations VALUES (999, 'future')")
        with pytest.raises(StoreError, match=r"newer metajudge \(format 999"):
            await open_store(path)

    async def test_cut_file_is_refused(self, path, records) -> None:
        store = await open_store(path)
        for n in range(200):
            store.record_call(records.call(n, os.urandom(500).hex()))
        await store.close()
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(StoreError, match=r"cut short|damaged"):
            await open_store(path)
        path.write_bytes(whole)
        await (await open_store(path)).close()  # a failed opening does not keep the file

    async def test_damaged_header_is_refused(self, path) -> None:
        await (await open_store(path)).close()
        content = bytearray(path.read_bytes())
        content[12] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(StoreError, match="upgrade the duckdb package; if it is damaged"):
            await open_store(path)

    async def test_symbolic_link_stays_one_after_forgetting(self, path, tmp_path, records) -> None:
        (tmp_path / "elsewhere").mkdir()
        target = tmp_path / "elsewhere" / "real.duckdb"
        path.symlink_to(target)
        store = await open_store(path)
        judgment = records.judgment(1)
        await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        assert await store.forget("item-1") == 3
        await store.close()
        assert path.is_symlink()
        assert target.exists()


class TestMigrations:
    async def test_are_applied_once_and_in_order(self, path, monkeypatch) -> None:
        from metajudge.store import migrating

        await (await open_store(path)).close()
        steps = migrating.known_migrations()
        number = steps[-1].version
        more = (
            *steps,
            migrating.Migration(number + 1, "one", "CREATE TABLE extra (a INTEGER)"),
            migrating.Migration(number + 2, "two", "ALTER TABLE extra ADD COLUMN b INTEGER"),
        )
        monkeypatch.setattr(migrating, "known_migrations", lambda: more)
        for _ in range(2):
            await (await open_store(path)).close()
        with duckdb.connect(str(path)) as connection:
            applied = connection.execute("SELECT version FROM migrations ORDER BY version").fetchall()
            assert applied == [(step.version,) for step in more]
            assert [column[0] for column in connection.execute("DESCRIBE extra").fetchall()] == ["a", "b"]

    async def test_failing_one_leaves_the_file_as_it_was(self, path, monkeypatch) -> None:
        from metajudge.store import migrating

        await (await open_store(path)).close()
        steps = migrating.known_migrations()
        number = steps[-1].version
        bad = (
            *steps,
            migrating.Migration(number + 1, "good", "CREATE TABLE extra (a INTEGER)"),
            migrating.Migration(number + 2, "bad", "CREATE TABLE extra (a INTEGER)"),
        )
        with monkeypatch.context() as patch:
            patch.setattr(migrating, "known_migrations", lambda: bad)
            with pytest.raises(StoreError, match="extra"):
                await open_store(path)
        await (await open_store(path)).close()

    def test_numbers_have_no_gap(self) -> None:
        from metajudge.store.migrating import known_migrations

        assert [step.version for step in known_migrations()] == list(range(1, len(known_migrations()) + 1))


class TestLock:
    async def test_second_process_is_told_who_and_what_to_do(self, path) -> None:
        store = await open_store(path)
        other = script("asyncio.run(open_store(path))", path)
        _, errors = other.communicate(timeout=60)
        await store.close()
        assert "StoreLockedError" in errors
        assert f"process {os.getpid()}" in errors
        assert str(path) in errors
        assert "--store" in errors
        assert "--store" in errors

    async def test_same_process_twice_is_refused_and_the_first_goes_on(self, path, tmp_path, records) -> None:
        store = await open_store(path)
        (tmp_path / "link").symlink_to(tmp_path)
        for name in (path, tmp_path / "link" / path.name):
            with pytest.raises(StoreLockedError, match="this process"):
                await open_store(name)
        store.record_call(records.call(1))
        await store.close()
        await (await open_store(path)).close()


class TestKill:
    BODY = """
        async def main():
            store = await open_store(path)
            await store.start_run(RunRecord("run-1", "vet", 1.0, "running", {}))
            async def one(n):
                store.record_call(records.call(n))
                judgment = records.judgment(n)
                await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), "run-1")
                print(n, flush=True)
            for start in range(0, 1_000_000, 20):
                await asyncio.gather(*[one(n) for n in range(start, start + 20)])
        asyncio.run(main())
    """

    @pytest.mark.parametrize("lines", [10, 150, 1200])
    async def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9(self, path, records, lines) -> None:
        process = script(self.BODY, path)
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        process.communicate()
        acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        store = await open_store(path)
        found = await store.find_assessments([f"key-{n}" for n in acknowledged])
        assert len(found) == len(acknowledged)
        for n in (*acknowledged[:5], *acknowledged[-5:]):
            assert await store.find_reply(records.key(n)) is not None
            assert (await store.show(f"judgment-{n}"))["judgments"]
        assert [run.status for run in await store.runs()] == ["interrupted"]
        store.record_call(records.call(2_000_000))  # numbering goes on
        await store.close()
        assert not list(path.parent.glob("*.ahead-*"))
        with duckdb.connect(str(path)) as connection:
            for table in ("calls", "assessments"):
                doubled = connection.execute(f"SELECT key FROM {table} GROUP BY key HAVING count(*) > 1").fetchall()
                assert doubled == []

    async def test_a_kill_between_commit_and_deletion_doubles_nothing(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        monkeypatch.setattr("metajudge.store.write_ahead.WriteAhead.drop", lambda *_: None)
        for n in range(3):
            store.record_call(records.call(n))
            await store.show("run-1")  # commits, and leaves the segment behind
        await store.close()
        monkeypatch.undo()
        assert len(list(path.parent.glob("*.ahead-*"))) == 3
        store = await open_store(path)
        assert (await store.show("run-1"))["calls_total"] == 3
        await store.close()
        assert not list(path.parent.glob("*.ahead-*"))

    def test_script_that_never_closes_loses_nothing_and_says_nothing(self, path) -> None:
        body = """
            async def main():
                store = await open_store(path)
                store.record_call(records.call(1))
            asyncio.run(main())
        """
        process = script(body, path)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        with duckdb.connect(str(path)) as connection:
            assert connection.execute("SELECT count(*) FROM calls").fetchall() == [(1,)]


class FailingConnection:
    """A connection whose commits fail from now on."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        raise duckdb.IOException("IO Error: No space left on device")


def break_commits(store: DuckDBStore) -> None:
    journal: Any = store._journal
    journal._connection = FailingConnection(journal._connection)


class TestFailedCommit:
    async def test_those_who_wait_and_all_who_come_later_are_told_why(self, path, records) -> None:
        store = await open_store(path)
        judgment = records.judgment(1)
        await store.save_assessment("kept", judgment, records.assessment(judgment), "run-1")
        break_commits(store)
        for n in range(3):
            await store.save_assessment(f"logged-{n}", judgment, records.assessment(judgment), "r")
        waiting = [store.show("item-1"), store.forget("item-1")]
        for error in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(error, StoreError)
            assert "No space left on device" in str(error)
            assert str(path) in str(error)
            assert isinstance(error.__cause__, duckdb.IOException)
        later: list[Callable[[], Awaitable[Any]]] = [
            lambda: store.save_assessment("later", judgment, records.assessment(judgment), "run-1"),
            lambda: store.start_run(RunRecord("run-2", "vet", 1.0, "running", {})),
            lambda: store.forget("item-1"),
            lambda: store.show("item-1"),
        ]
        for attempt in later:
            with pytest.raises(StoreError, match="No space left on device"):
                await attempt()
        with pytest.raises(StoreError, match="No space left on device"):
            store.record_call(records.call(1))
        await store.close()
        again = await open_store(path)
        kept = ["kept", "logged-0", "logged-1", "logged-2"]
        assert sorted(await again.find_assessments([*kept, "later"])) == kept
        await again.close()

    async def test_a_failure_nobody_was_told_of_is_told_at_the_latest_by_close(self, path, records) -> None:
        store = await open_store(path)
        break_commits(store)
        store.record_call(records.call(1))
        with pytest.raises(StoreError, match=r"No space left on device.*will be read when it is opened again"):
            await store.close()
        await store.close()
        again = await open_store(path)  # the file is free again, and the log is read
        assert await again.find_reply(records.key(1)) is not None
        await again.close()

    def test_full_disk_is_told_and_what_was_acknowledged_is_kept(self, path) -> None:
        body = """
            import os, resource
            async def main():
                store = await open_store(path)
                saved = 0
                resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
                try:
                    for n in range(2000):
                        store.record_call(records.call(n, os.urandom(2000).hex()))
                        judgment = records.judgment(n)
                        await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment), "run-1")
                        saved += 1
                except StoreError as error:
                    print(saved, error, flush=True)
                try:
                    store.record_call(records.call(1))
                except StoreError as error:
                    print("refused", flush=True)
                try:
                    await store.close()
                except StoreError as error:
                    print(error, flush=True)
            asyncio.run(main())
        """
        process = script(body, path)
        out, errors = process.communicate(timeout=100)
        assert "could not be written to" in out, errors
        assert "refused" in out
        saved = int(out.split()[0])
        assert saved > 10

        async def check() -> None:
            store = await open_store(path)
            assert len(await store.find_assessments([f"key-{n}" for n in range(saved)])) == saved
            await store.close()

        asyncio.run(check())


class TestForgottenBytes:
    MARK = "XYZZY-forget-this-text"

    async def fill(self, path: Path, records) -> DuckDBStore:
        store = await open_store(path)
        for n in range(300):
            mark = self.MARK if n == 7 else f"public-{n}"
            store.record_call(records.call(n, f"reply about {mark} " + "and more " * 50))
            judgment = records.judgment(n, mark=mark)
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n, mark), "run-1")
        return store

    async def test_are_in_no_file_while_open_and_after_closing(self, path, records, monkeypatch) -> None:
        store = await self.fill(path, records)
        mark = self.MARK.encode()
        assert mark in bytes_beside(path)
        assert await store.forget("item-7") == 4
        assert mark not in bytes_beside(path)
        assert [file.name for file in path.parent.iterdir() if file.suffix not in (".wal",)] == [path.name]
        # it works as before
        store.record_call(records.call(1000))
        judgment = records.judgment(1001)
        await store.save_assessment("key-1001", judgment, records.assessment(judgment), "run-1")
        assert len(await store.find_assessments([f"key-{n}" for n in range(300)])) == 300
        assert (await store.find_reply(records.key(8))).text.startswith("reply about public-8")
        await store.close()
        assert mark not in bytes_beside(path)
        store = await open_store(path)
        assert await store.find_reply(records.key(1000)) is not None
        assert len(await store.find_assessments(["key-7", "key-8", "key-1001"])) == 3
        await store.close()
        with duckdb.connect(str(path)) as connection:
            indexes = connection.execute("SELECT count(*) FROM duckdb_indexes()").fetchall()
        assert indexes == [(2,)]

    async def test_are_gone_after_the_rewrite_was_cut_off_and_the_store_opened_again(
        self, path, records, monkeypatch
    ) -> None:
        store = await self.fill(path, records)
        await store.close()
        store = await open_store(path)

        def cut(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("metajudge.store.database.os.replace", cut)
            with pytest.raises(StoreError, match="could not be written to"):
                await store.forget("item-7")
        await store.close()
        assert copy_path(path).exists()
        await (await open_store(path)).close()
        assert not copy_path(path).exists()
        assert self.MARK.encode() not in bytes_beside(path)

    async def test_full_disk_is_told_and_the_store_goes_on(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        judgment = records.judgment(1, mark=self.MARK)
        store.record_call(records.call(1, self.MARK))
        await store.save_assessment("key", judgment, records.assessment(judgment, 1, self.MARK), "run-1")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("metajudge.store.database.os.replace", full)
            with pytest.raises(StoreError, match=r"redacted, but .* could not be rewritten.*No space left"):
                await store.forget("item-1")
        assert await store.find_reply(records.key(1)) is None
        store.record_call(records.call(1))
        assert self.MARK not in repr(await store.show("item-1"))
        await store.forget("item-1")
        assert self.MARK.encode() not in bytes_beside(path)
        await store.close()


class TestThreads:
    async def test_concurrent_readers_get_their_own_rows(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        for n in range(400):
            store.record_call(records.call(n, f"reply {n}"))
        await store.close()
        store = await open_store(path)
        monkeypatch.setattr(store._replies, "put", lambda *_: None)  # every look-up asks the database

        async def one(n: int) -> None:
            for i in range(n, 400, 8):
                reply = await store.find_reply(records.key(i))
                assert reply is not None
                assert reply.text == f"reply {i}"

        async with asyncio.TaskGroup() as group:
            for n in range(8):
                group.create_task(one(n))
        await store.close()

    async def test_reading_goes_on_while_the_file_is_replaced(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        for n in range(50):
            judgment = records.judgment(n)
            store.record_call(records.call(n, f"reply {n}"))
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), "run-1")
        monkeypatch.setattr(store._replies, "get", lambda _: None)
        stop = False

        async def read() -> int:
            count = 0
            while not stop:
                reply = await store.find_reply(records.key(49))
                assert reply is not None
                assert reply.text == "reply 49"
                count += 1
            return count

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for n in range(5):
            assert await store.forget(f"item-{n}") == 4
        stop = True
        assert min(await asyncio.gather(*readers)) > 0
        await store.close()

    async def test_recording_never_blocks_however_full_the_queue_is(self, path, records, monkeypatch) -> None:
        monkeypatch.setattr("metajudge.store.group_commit.MAX_QUEUED", 10)
        store = await open_store(path)
        gate = threading.Event()
        commit = store._journal.commit

        def slow(group: Any, segment: int) -> None:
            gate.wait(30)
            commit(group, segment)

        monkeypatch.setattr(store._journal, "commit", slow)
        for n in range(100):
            store.record_call(records.call(n))
        gate.set()
        assert (await store.show("run-1"))["calls_total"] == 100
        await store.close()

    async def test_reply_that_left_memory_before_its_commit_is_still_found(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        assert await store.find_reply("unknown") is None
        monkeypatch.setattr(store._replies, "get", lambda _: None)
        store.record_call(records.call(1))
        assert await store.find_reply(records.key(1)) is not None
        await store.close()

    async def test_judgment_of_a_save_cancelled_while_waiting_for_room_is_kept_by_the_next(
        self, path, records, monkeypatch
    ) -> None:
        store = await open_store(path)
        judgment = records.judgment(1)
        with monkeypatch.context() as patch:
            patch.setattr("metajudge.store.group_commit.MAX_QUEUED", 0)
            task = asyncio.create_task(store.save_assessment("key", judgment, records.assessment(judgment), "run-1"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        assert len((await store.show("judgment-1"))["judgments"]) == 1
        await store.close()


class TestUnknownKeys:
    async def test_never_reach_the_database(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        judgment = records.judgment(1)
        store.record_call(records.call(1))
        await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        await store.close()
        store = await open_store(path)
        assert await store.find_reply("unknown") is None
        assert await store.find_assessments(["unknown"]) == {}

        def asked(*_: object) -> None:
            raise AssertionError("the database was asked")

        monkeypatch.setattr(store, "_ask", asked)
        assert await store.find_reply(records.key(2)) is None
        assert await store.find_assessments([records.key(n) for n in range(5)]) == {}
        with pytest.raises(AssertionError, match="asked"):
            await store.find_reply(records.key(1))
        monkeypatch.undo()
        await store.close()
