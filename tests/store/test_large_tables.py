"""The large tables: no index grows with them, and no checkpoint writes all of them anew."""

import duckdb
import pytest

from metajudge.store import open_store
from metajudge.store.database import ROW_GROUP_ROWS, STORAGE_VERSION
from metajudge.store.migrating import known_migrations
from metajudge.store.rows import assessment_row, assessment_write, call_row, item_row, judgment_row

LARGE = ("items", "judgments", "calls", "assessments", "agent_scores")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.duckdb"


def ask(path, query):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def earlier(path, records):
    """A file as a version with indexes left it: ten judgments, each with a call and an assessment."""
    connection = duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION})
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
    for step in known_migrations()[:3]:
        connection.execute(step.sql)
        connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
    for n in range(1, 11):
        judgment = records.judgment(n)
        assessment = records.assessment(judgment)
        write = assessment_write(f"key-{n}", judgment, assessment, None, "run")
        rows = {
            "items": item_row(judgment),
            "judgments": judgment_row(judgment),
            "calls": call_row(n, records.call(n, f"reply {n}")),
            "assessments": assessment_row(n, write, 1.0),
        }
        for table, row in rows.items():
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.close()
    return path


async def test_a_file_with_indexes_loses_them_and_nothing_else(earlier, records) -> None:
    before = {table: ask(earlier, f"SELECT * FROM {table} ORDER BY ALL") for table in LARGE}
    store = await open_store(earlier)
    assert {key: one.judgment_id for key, one in (await store.find_assessments(["key-3", "key-11"])).items()} == {
        "key-3": records.judgment(3).id
    }
    assert (await store.find_reply(records.key(10))).text == "reply 10"
    await store.close()
    assert {table: ask(earlier, f"SELECT * FROM {table} ORDER BY ALL") for table in LARGE} == before
    large = ", ".join(f"'{table}'" for table in LARGE)
    assert ask(earlier, "SELECT * FROM duckdb_indexes()") == []
    keyed = "constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
    assert ask(earlier, f"SELECT * FROM duckdb_constraints() WHERE {keyed} AND table_name IN ({large})") == []


async def test_what_is_saved_after_that_is_kept_once_and_numbered_on(earlier, records) -> None:
    store = await open_store(earlier)
    for n in (10, 11, 11):
        judgment = records.judgment(n)
        await store.save_assessment(f"new-{n}", judgment, records.assessment(judgment), "run-2")
        store._saved.clear()  # as after ten thousand others
        await store.show("none")  # commits
    for n in (10, 11):
        store.record_call(records.call(n, f"again {n}"))
    assert (await store.find_reply(records.key(10))).text == "again 10"
    await store.close()
    for table, count in (("items", 11), ("judgments", 11), ("calls", 12), ("assessments", 12)):
        assert ask(earlier, f"SELECT count(*) FROM {table}") == [(count,)]
    assert ask(earlier, "SELECT call_id FROM calls ORDER BY rowid") == [(n,) for n in range(1, 13)]


async def test_redacted_texts_come_back_with_the_next_save_in_this_process_and_in_another(earlier, records) -> None:
    judgment = records.judgment(4)
    for save in range(2):
        store = await open_store(earlier)
        assert await store.forget(judgment.item.id)
        if save:
            await store.close()
            store = await open_store(earlier)
        await store.save_assessment(f"again-{save}", judgment, records.assessment(judgment), "run-2")
        assert (await store.find_judgment(judgment.digest)).item.question == judgment.item.question
        await store.close()
    assert ask(earlier, "SELECT count(*), sum(redacted::INT) FROM items") == [(10, 0)]
    assert ask(earlier, "SELECT count(*), sum(redacted::INT) FROM judgments") == [(10, 0)]


async def test_what_this_process_adds_is_found_beside_what_was_there(earlier, records, monkeypatch) -> None:
    store = await open_store(earlier)
    for n in (1, 12):  # stored by the earlier process, and by this one
        judgment = records.judgment(n)
        await store.save_assessment(f"new-{n}", judgment, records.assessment(judgment), "run-2")
        store.record_call(records.call(n, f"again {n}"))
    assert set(await store.find_assessments(["key-2", "new-1", "new-12", "none"])) == {"key-2", "new-1", "new-12"}
    replies = [await store.find_reply(records.key(n)) for n in (1, 2, 12, 13)]
    assert [reply and reply.text for reply in replies] == ["again 1", "reply 2", "again 12", None]
    await store.close()
    assert ask(earlier, "SELECT count(*), count(DISTINCT item_digest) FROM items") == [(11, 11)]


async def test_row_groups_are_small_also_after_forgetting(path, records) -> None:
    count = 2 * ROW_GROUP_ROWS + 10
    store = await open_store(path)
    for n in range(count):
        store.record_call(records.call(n))
    judgment = records.judgment(1)
    await store.save_assessment("key", judgment, records.assessment(judgment), "run")
    await store.forget(judgment.item.id)
    await store.close()
    groups = "SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('calls')"
    assert ask(path, groups)[0][0] >= 3
    assert ask(path, "SELECT count(*) FROM calls") == [(count,)]
