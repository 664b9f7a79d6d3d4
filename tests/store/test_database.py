"""One DuckDB file: what it holds in memory."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metajudge.errors import StoreError
from metajudge.store import database as database_module
from metajudge.store import duckdb_store
from metajudge.store.database import Database
from metajudge.store.duckdb_store import open_store

HELD = "SELECT sum(memory_usage_bytes) / 1e6 FROM duckdb_memory()"
LIMIT = "SELECT current_setting('memory_limit')"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(database_module, "_TRIMMED", "2MB")
    opened = Database(tmp_path / "store.duckdb")
    yield opened
    opened.close()


def fill(database: Database) -> None:
    query = "CREATE TABLE filler AS SELECT range AS n, md5(range::VARCHAR) || md5((range + 1)::VARCHAR) AS text"
    database.writer.execute(f"{query} FROM range(120000)")
    database.writer.execute("CHECKPOINT")
    database.writer.execute("SELECT sum(length(text)), max(text) FROM filler").fetchall()


def held(database: Database) -> float:
    return float(database.writer.execute(HELD).fetchall()[0][0])


def test_pages_that_are_in_the_file_are_let_go_and_the_limit_and_the_rows_stay(database: Database) -> None:
    limit = database.writer.execute(LIMIT).fetchall()
    fill(database)
    before = held(database)
    assert before > 4
    assert database.trim()
    assert held(database) < 2.1
    assert database.writer.execute(LIMIT).fetchall() == limit
    rows = database.writer.execute("SELECT count(*), count(DISTINCT n), min(length(text)) FROM filler").fetchall()
    assert rows == [(120_000, 120_000, 64)]


def test_a_reader_never_meets_the_low_limit(database: Database) -> None:
    fill(database)
    with database.reading():
        before = held(database)
        assert not database.trim()
        assert held(database) == before
    assert database.trim()


def test_what_is_in_memory_alone_stays_there() -> None:
    database = Database(":memory:")
    database.writer.execute("CREATE TABLE filler AS SELECT range AS n, md5(range::VARCHAR) AS text FROM range(50000)")
    before = held(database)
    assert database.trim()
    assert held(database) == before
    database.close()


async def test_a_store_that_is_written_to_is_trimmed_again_and_again(tmp_path, monkeypatch, records) -> None:
    monkeypatch.setattr(duckdb_store, "_TRIM_EVERY", 10)
    store = await open_store(tmp_path / "store.duckdb")
    trimmed = []
    monkeypatch.setattr(store._database, "trim", lambda: trimmed.append(1) or len(trimmed) > 1)
    for number in range(45):
        store.record_call(records.call(number))
        if number % 5 == 4:
            await store.find_assessments([f"none-{number}"])
            await store._writer.flush()
    await store.close()
    assert len(trimmed) == 5  # once more after the one that had to be put off, then after every tenth record


async def test_a_store_that_is_written_to_is_reopened_keeps_its_rows_and_stays_locked(tmp_path, monkeypatch, records):
    monkeypatch.setattr(duckdb_store, "_REOPEN_EVERY", 20)
    path = tmp_path / "store.duckdb"
    store = await open_store(path)
    first, reopened, reopen = store._database.writer, [], store._database.reopen
    monkeypatch.setattr(store._database, "reopen", lambda: reopened.append(reopen()) or reopened[-1])
    for number in range(60):
        judgment = records.judgment(number)
        store.record_call(records.call(number))
        await store.save_assessment(f"key-{number}", judgment, records.assessment(judgment), "run-1")
        if number % 10 == 9:
            await store.flush()
        if number % 30 == 29:
            assert opens_elsewhere(path) == "locked"
    assert reopened == [True] * 6
    assert store._database.writer is not first
    assert len(await store.find_assessments([f"key-{number}" for number in range(60)])) == 60
    assert (await store.find_reply(records.key(3))) is not None
    await store.close()
    assert opens_elsewhere(path) == "(60, 60, 60)"


async def test_a_copy_is_whole_and_the_file_stays_locked(tmp_path, monkeypatch, records) -> None:
    monkeypatch.setattr(database_module, "_PART_BYTES", 5_000)
    path = tmp_path / "store.duckdb"
    store = await open_store(path)
    for number in range(3):
        judgment = records.judgment(number)
        await store.save_assessment(f"key-{number}", judgment, records.assessment(judgment), "run-1")
        copy = tmp_path / f"copy-{number}.duckdb"
        await store.copy_to(copy)
        assert opens_elsewhere(copy) == f"(0, {number + 1}, {number + 1})"
    assert opens_elsewhere(path) == "locked"
    await store.close()
    assert opens_elsewhere(path) == "(0, 3, 3)"


async def test_a_reader_puts_reopening_off(tmp_path, database: Database) -> None:
    with database.reading() as cursor:
        assert not database.reopen()
        cursor.execute("SELECT 1")
    assert database.reopen()


async def test_what_another_process_wrote_in_between_ends_the_writer(tmp_path, monkeypatch, records) -> None:
    monkeypatch.setattr(duckdb_store, "_REOPEN_EVERY", 1)
    store = await open_store(tmp_path / "store.duckdb")
    monkeypatch.setattr(store._journal, "committed_segment", lambda: 1_000)
    store.record_call(records.call(1))
    with pytest.raises(StoreError, match="another process"):
        await store.flush()
    await store.close()


def opens_elsewhere(path: Path) -> str:
    """What another process finds in a file: the numbers of calls, judgments and assessments, or that it is locked."""
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in ("calls", "judgments", "assessments"))
    code = f"""
import duckdb, sys
try:
    print(duckdb.connect(sys.argv[1], read_only=True).execute("SELECT {counts}").fetchall()[0])
except duckdb.IOException:
    print("locked")
"""
    return subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout[
        :-1
    ]
