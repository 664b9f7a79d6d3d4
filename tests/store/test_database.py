"""One DuckDB file: opened anew while it is written to, copied whole, and locked all the while."""

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


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(database_module, "_TRIMMED", "2MB")
    opened = Database(tmp_path / "store.duckdb")
    yield opened
    opened.close()


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
