"""The DuckDB file: where it can be, what else is refused, its form and its lock."""

import os
from pathlib import Path

import duckdb
import pytest

from metajudge.errors import StoreError, StoreLockedError
from metajudge.store.duckdb_store import open_store
from tests.doubles.store_script import script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


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
        with pytest.raises(StoreError, match=r"truncated|damaged"):
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
    @pytest.mark.slow
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
