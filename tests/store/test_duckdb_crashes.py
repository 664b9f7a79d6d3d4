"""A DuckDB store whose process is killed or whose disk is full: nothing acknowledged is lost, nothing doubled."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from metajudge.errors import StoreError
from metajudge.store import RunRecord
from metajudge.store.duckdb_store import DuckDBStore, open_store
from tests.doubles.store_script import script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


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

    @pytest.mark.slow
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

    @pytest.mark.slow
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
