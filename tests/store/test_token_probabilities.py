"""Token probabilities in the store: kept with their reply through the log, the file and a new opening."""

import duckdb
import pytest

from metajudge.store import open_store
from metajudge.store.database import STORAGE_VERSION
from metajudge.store.migrating import known_migrations
from metajudge.store.rows import call_row, decode, encode
from metajudge.types import TokenChoice, TokenProbabilities

TOLD = TokenProbabilities((TokenChoice(10, "4", -0.25, (("5", -1.5), ('"\n', -9.0))), TokenChoice(11, "}", 0.0)))


@pytest.mark.parametrize("told", [None, TOLD, TokenProbabilities(absent="the server does not support logprobs")])
async def test_a_stored_reply_has_those_it_came_with(reopen, records, told) -> None:
    store = await reopen()
    store.record_call(records.call(1, probabilities=told))
    assert (await store.find_reply(records.key(1))).probabilities == told
    await store.close()
    again = await reopen()
    reply = await again.find_reply(records.key(1))
    assert (reply.probabilities, reply.cached, reply.attempts) == (told, True, 0)
    await again.close()


@pytest.mark.parametrize("told", [None, TOLD])
@pytest.mark.parametrize("text", ["answer", "half \ud83d"])
def test_the_log_gives_back_what_was_put_in(records, told, text) -> None:
    call = records.call(1, text, probabilities=told)
    assert decode(encode(call)).probabilities == told


def test_a_record_logged_by_an_earlier_version_is_read(records) -> None:
    logged = encode(records.call(1)).replace(b',"probabilities":null', b"")
    assert b"probabilities" not in logged
    assert decode(logged).probabilities is None


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
    assert (reply.text, reply.probabilities) == ("kept", None)
    store.record_call(records.call(2, probabilities=TOLD))
    await store.close()
    again = await open_store(path)
    assert (await again.find_reply(records.key(2))).probabilities == TOLD
    await again.close()
