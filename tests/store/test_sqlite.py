"""A store in a file: where it can be, what it refuses, who may use it at once, and what forgetting leaves."""

import asyncio
import os
import sqlite3
import stat
import zlib
from pathlib import Path

import pytest

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.store import engine_of, open_store
from metajudge.store.sql import steps_in
from metajudge.store.sqlite import _PACKING, pack, unpack
from tests.doubles.store_script import WRITER, killed, script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def table(path: Path, query: str) -> list[tuple]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


class TestPlace:
    async def test_new_file_is_its_owners_alone_and_opened_again(self, path, records) -> None:
        store = await open_store(path)
        store.record_call(records.call(1))
        await store.flush()
        modes = {stat.S_IMODE(os.stat(one).st_mode) for one in path.parent.iterdir()}
        assert modes == {0o600}
        await store.close()
        again = await open_store(path)
        assert await again.find_reply(records.key(1)) is not None
        await again.close()
        assert [one.name for one in path.parent.iterdir()] == ["store.db"]

    async def test_in_memory_stores_are_apart_and_leave_no_file(self, tmp_path, monkeypatch, records) -> None:
        monkeypatch.chdir(tmp_path)
        one, other = await open_store(":memory:"), await open_store(":memory:")
        one.record_call(records.call(1))
        assert await one.find_reply(records.key(1)) is not None
        assert await other.find_reply(records.key(1)) is None
        await one.close()
        await other.close()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("place", ["", "missing/store.db"])
    async def test_a_folder_and_a_missing_parent_are_refused(self, tmp_path, place) -> None:
        with pytest.raises(StoreError, match="cannot open the store"):
            await open_store(tmp_path / place)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("content", [b"not a database", b"PK\x03\x04" + bytes(100)])
    async def test_another_file_is_refused_and_left_as_it_is(self, path, content) -> None:
        path.write_bytes(content)
        with pytest.raises(StoreError, match="is not a metajudge store"):
            await open_store(path)
        assert path.read_bytes() == content

    async def test_a_file_of_an_earlier_version_names_the_command_that_copies_it(self, path) -> None:
        path.write_bytes(bytes(8) + b"DUCK" + bytes(4_096))
        with pytest.raises(StoreError, match=r"metajudge store copy .*store\.db"):
            await open_store(path)

    async def test_another_database_is_refused_and_left_as_it_is(self, path) -> None:
        table(path, "CREATE TABLE people (name)")
        before = path.read_bytes()
        with pytest.raises(StoreError, match=r"not a metajudge store .*people"):
            await open_store(path)
        assert path.read_bytes()[96:] == before[96:]  # but for the mode, which is in the header
        assert table(path, "SELECT name FROM sqlite_master") == [("people",)]

    async def test_a_file_of_a_newer_version_is_refused(self, path) -> None:
        await (await open_store(path)).close()
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO migrations VALUES (9999, 'later')")
        with pytest.raises(StoreError, match="written by a newer metajudge"):
            await open_store(path)

    async def test_a_damaged_file_is_told_as_one(self, path, records) -> None:
        store = await open_store(path)
        for n in range(200):
            await store.save_assessment(f"k{n}", records.judgment(n), records.assessment(records.judgment(n), n), "r")
        await store.close()
        content = bytearray(path.read_bytes())
        content[4_096:] = os.urandom(len(content) - 4_096)
        path.write_bytes(content)
        with pytest.raises(StoreError, match="is damaged"):
            await (await open_store(path)).judgments()

    def test_numbers_of_the_steps_have_no_gap(self) -> None:
        for database in ("sqlite", "postgres", "duckdb"):
            assert [step.version for step in steps_in(database)] == [*range(1, len(steps_in(database)) + 1)]


class TestTexts:
    @pytest.mark.parametrize("text", ["", "short", "x" * 5_000, "é“\x00\ud800" * 100, "{" * 79, "{" * 80])
    def test_a_packed_text_comes_back(self, text) -> None:
        stored = pack(text)
        plain = stored if isinstance(stored, bytes) else stored.encode()
        assert unpack(plain) == text.encode("utf-8", "replace").decode()
        assert len(plain) <= max(16, len(text.encode("utf-8", "replace")))

    def test_a_text_that_an_earlier_version_packed_comes_back(self) -> None:
        work = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, _PACKING.dictionary)
        assert unpack(b"\xff\x01" + work.compress(("é" * 500).encode()) + work.flush()) == "é" * 500

    @pytest.mark.parametrize("damaged", [b"\xff\x01\xff\xff", b"\xff\x02\x00", b"\xff\x03"])
    def test_a_damaged_text_is_a_typed_error(self, damaged) -> None:
        with pytest.raises(StoreError, match="a stored text is damaged"):
            unpack(damaged)

    async def test_no_byte_of_a_forgotten_text_is_left_in_file_and_log(self, path, records) -> None:
        store = await open_store(path)
        marks = {n: f"forget me {n} {os.urandom(40).hex()}" for n in range(30)}
        for n, mark in marks.items():
            judgment = records.judgment(n, mark=mark)
            store.record_call(records.call(n, f"the reply {mark}"))
            await store.save_assessment(f"k{n}", judgment, records.assessment(judgment, n, mark=mark), "run-1")
        assert found(path, marks[7])
        assert found(path, marks[8])
        assert await store.forget("item-7") > 0
        assert not found(path, marks[7])
        assert found(path, marks[8])
        assert sum(one.stat().st_size for one in path.parent.glob("*-wal")) == 0
        await store.close()
        assert not found(path, marks[7])

    async def test_a_reader_that_keeps_the_log_is_told(self, path, records) -> None:
        judgment = records.judgment(1, mark="forget me")
        store = await open_store(path)
        store.engine.patience_s = 0.2
        await store.save_assessment("k", judgment, records.assessment(judgment, mark="forget me"), "run-1")
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM items").fetchall()
        with pytest.raises(StoreUnavailableError, match="another process is reading it"):
            await store.forget(judgment.item.id)
        reader.close()
        assert await store.forget(judgment.item.id) == 0
        assert sum(one.stat().st_size for one in path.parent.glob("*-wal")) == 0
        assert not found(path, "forget me")
        await store.close()


def found(path: Path, text: str) -> bool:
    """Whether a text stands in a store's files, as it is or compressed, also in a page that nothing points to."""
    for one in path.parent.iterdir():
        content = one.read_bytes()
        if text.encode() in content:
            return True
        start = -1
        while (start := content.find(b"\xff\x02", start + 1)) >= 0:
            try:
                if text in unpack(content[start : start + 100_000]):
                    return True
            except StoreError:
                continue
    return False


class TestSeveral:
    async def test_a_process_that_writes_without_end_is_a_typed_error(self, path, records) -> None:
        store = await open_store(path)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        engine = engine_of(path, patience_s=0.2)
        with pytest.raises(StoreUnavailableError, match="being written to by another process"):
            await asyncio.to_thread(engine.change, lambda c: c.execute("DELETE FROM runs"))
        assert await store.runs() == []  # readers are not held up
        holder.close()
        engine.close()
        await store.close()


class TestKill:
    @pytest.mark.slow
    @pytest.mark.parametrize("lines", [10, 150, 1200])
    async def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9(self, path, records, lines) -> None:
        acknowledged = killed(script(WRITER, path, 0), lines=lines)
        store = await open_store(path)
        kept = await store.find_assessments([f"key-{n}" for n in acknowledged])
        assert len(kept) == len(acknowledged)
        for n in (*acknowledged[:5], *acknowledged[-5:]):
            assert await store.find_reply(records.key(n)) is not None
            assert (await store.show(f"judgment-{n}"))["judgments"]
        assert [run.status for run in await store.runs()] == ["interrupted"]
        await store.close()
        for name in ("calls", "assessments"):
            assert table(path, f"SELECT key FROM {name} GROUP BY key HAVING count(*) > 1") == []

    def test_a_script_that_never_closes_loses_nothing_and_says_nothing(self, path) -> None:
        body = """
            async def main():
                store = await open_store(path)
                store.record_call(records.call(1))
            asyncio.run(main())
        """
        process = script(body, path)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        assert table(path, "SELECT count(*) FROM calls") == [(1,)]

    @pytest.mark.slow
    def test_full_disk_is_told_and_what_was_acknowledged_is_kept(self, path) -> None:
        body = """
            import os, resource
            async def main():
                store = await open_store(path)
                saved = 0
                resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
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
        assert "free some disk space" in out, errors
        assert "refused" in out
        saved = int(out.split()[0])
        assert saved > 10

        async def check() -> None:
            store = await open_store(path)
            assert len(await store.find_assessments([f"key-{n}" for n in range(saved)])) == saved
            await store.close()

        asyncio.run(check())
