"""Token probabilities, which earlier versions stored with a reply: their records are read without them."""

import duckdb
import orjson
import pytest

from metajudge.store import open_store
from metajudge.store.database import STORAGE_VERSION
from metajudge.store.migrating import known_migrations
from metajudge.store.rows import call_row, decode, encode

TOLD = '{"tokens": [[10, "4", -0.25, [["5", -1.5]]], [11, "}", 0.0, []]]}'


@pytest.mark.parametrize("logged", [b"null", orjson.dumps(TOLD)])
def test_a_record_logged_with_them_is_read(records, logged) -> None:
    call = records.call(1)
    assert decode(encode(call)[:-1] + b',"probabilities":' + logged + b"}") == call


async def test_a_stored_reply_with_them_is_found(tmp_path, records) -> None:
    path = tmp_path / "s.duckdb"
    store = await open_store(path)
    store.record_call(records.call(1, "kept"))
    await store.close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE calls SET token_probabilities = $1", [TOLD])
    again = await open_store(path)
    reply = await again.find_reply(records.key(1))
    assert (reply.text, reply.cached, reply.attempts) == ("kept", True, 0)
    await again.close()


async def test_a_file_of_an_earlier_version_keeps_its_replies(tmp_path, records) -> None:
    path = tmp_path / "s.duckdb"
    connection = duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION})
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
    for step in known_migrations()[:2]:
        connection.execute(step.sql)
        connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
    earlier = call_row(1, records.call(1, "kept"))[:-1]
    connection.execute(f"INSERT INTO calls VALUES ({', '.join('?' * len(earlier))})", earlier)
    connection.close()
    store = await open_store(path)
    reply = await store.find_reply(records.key(1))
    assert reply.text == "kept"
    store.record_call(records.call(2))
    await store.close()
    again = await open_store(path)
    assert await again.find_reply(records.key(2)) is not None
    await again.close()
