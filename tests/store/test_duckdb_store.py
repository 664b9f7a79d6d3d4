"""What is particular to the DuckDB store: forgotten bytes, threads, keys known in memory."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

from metajudge.errors import StoreError
from metajudge.store.compact_map import CompactSet
from metajudge.store.duckdb_store import DuckDBStore, open_store
from metajudge.store.rewriting import copy_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def bytes_beside(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def constraints(path: Path) -> list[Any]:
    with duckdb.connect(str(path)) as connection:
        return connection.execute(
            "SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints() ORDER BY ALL"
        ).fetchall()


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
        assert [file.name for file in path.parent.iterdir() if file.suffix not in (".wal", ".owner", ".socket")] == [
            path.name
        ]
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
        await (await open_store(path.with_name("new.duckdb"))).close()
        assert constraints(path) == constraints(path.with_name("new.duckdb"))

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

        async def one(n: int) -> None:
            for i in range(n, 400, 8):
                reply = await store.find_reply(records.key(i))
                assert reply is not None
                assert reply.text == f"reply {i}"

        async with asyncio.TaskGroup() as group:
            for n in range(8):
                group.create_task(one(n))
        await store.close()

    @pytest.mark.slow
    async def test_reading_goes_on_while_the_file_is_replaced(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        for n in range(50):
            judgment = records.judgment(n)
            store.record_call(records.call(n, f"reply {n}"))
            await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), "run-1")
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

        def slow(group: Any, segment: int) -> Any:
            gate.wait(30)
            return commit(group, segment)

        monkeypatch.setattr(store._journal, "commit", slow)
        for n in range(100):
            store.record_call(records.call(n))
        gate.set()
        assert (await store.show("run-1"))["calls_total"] == 100
        await store.close()

    async def test_reply_that_left_memory_before_its_commit_is_still_found(self, path, records, monkeypatch) -> None:
        store = await open_store(path)
        assert await store.find_reply("unknown") is None
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


async def test_new_records_are_known_by_their_keys_alone_until_one_of_them_comes_again(path, records) -> None:
    async def run(first: int, last: int) -> None:
        for n in range(first, last):
            if await store.find_reply(records.key(n)) is None:
                store.record_call(records.call(n))
            judgment = records.judgment(n)
            if not await store.find_assessments([f"key-{n}"]):
                await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment), "run-1")
        await store.flush()

    def light() -> list[bool]:
        journal = store._journal
        maps = [store._reply_keys._rows, store._assessment_keys._rows, journal._lines._newest]
        maps += [journal._items._known._halves, journal._judgments._known._halves]
        return [isinstance(one._known, CompactSet) for one in maps]

    store = await open_store(path)
    await run(0, 4)
    await run(4, 8)
    assert light() == [True] * 5
    await store.close()
    store = await open_store(path)
    await run(8, 12)
    assert light() == [True] * 5
    await run(6, 14)
    assert light()[:2] == [False] * 2
    count = "SELECT (SELECT count(*) FROM calls), (SELECT count(*) FROM assessments), (SELECT count(*) FROM lines)"
    assert await store.ask(lambda connection: connection.execute(count).fetchall()) == [(14, 14, 14)]
    await store.close()
