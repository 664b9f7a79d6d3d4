import asyncio

import pyarrow.parquet as pq
import pytest

from metajudge.distributed.journal import EARLIER, BatchJournal, CallJournals, encode, gather_journals, read_journal
from metajudge.distributed.place import Place
from metajudge.errors import FailureKind, StoreError
from metajudge.types import CallRecord, Usage


def call(key, status="ok", **changes):
    fields = {
        "key": key,
        "endpoint": "openai",
        "model": "m",
        "draw": 0,
        "attempt": 1,
        "status": status,
        "started_at": 1.0,
        "latency_s": 0.5,
        "reply_text": "said" if status == "ok" else None,
        "finish": "stop",
        "usage": Usage(3, 2, 1, 4),
        "cost_usd": 0.25,
    }
    return CallRecord(**{**fields, **changes})


async def test_a_successor_finds_what_was_answered_before_the_kill(tmp_path):
    first = BatchJournal(Place(tmp_path), "b")
    first.append(call("k1"))
    first.append(call("k2", "failed", failure_kind=FailureKind.TIMEOUT, failure_message="late"))
    with (tmp_path / "b.jsonl").open("ab") as file:
        file.write(b'{"key": "k3", "endpo')  # cut off by the kill
    journals = CallJournals(Place(tmp_path))
    with journals.batch("b") as journal:
        reply = await journals.find_reply("k1")
        assert (reply.text, reply.cached, reply.attempts, reply.usage) == ("said", True, 0, Usage(3, 2, 1, 4))
        assert await journals.find_reply("k2") is None
        journals.record_call(call("k4"))
    assert [one.key for one in read_journal(Place(tmp_path), "b.jsonl")] == ["k1", "k2", "k4"]
    assert [one.key for one in journal.calls] == ["k1", "k2", "k4"]
    first.close()


async def test_calls_belong_to_the_batch_that_started_them(tmp_path):
    journals = CallJournals(Place(tmp_path))

    async def batch(name):
        with journals.batch(name):
            async with asyncio.TaskGroup() as group:
                for index in range(3):
                    group.create_task(one(f"{name}{index}"))

    async def one(key):
        await asyncio.sleep(0)
        journals.record_call(call(key))

    await asyncio.gather(batch("a"), batch("b"))
    assert {one.key for one in read_journal(Place(tmp_path), "a.jsonl")} == {"a0", "a1", "a2"}
    assert {one.key for one in read_journal(Place(tmp_path), "b.jsonl")} == {"b0", "b1", "b2"}


async def test_replies_of_a_run_that_was_cut_off_are_found(tmp_path):
    Place(tmp_path).write(EARLIER, b"\n".join(encode(one) for one in (call("old"), call("bad", "failed"))))
    journals = CallJournals(Place(tmp_path))
    with journals.batch("a"):
        assert (await journals.find_reply("old")).text == "said"
        assert await journals.find_reply("bad") is None


def test_what_killed_runs_left_is_gathered_once(tmp_path):
    journals, calls = Place(tmp_path, "journals"), Place(tmp_path, "calls")
    for name in ("a", "b"):
        journal = BatchJournal(journals, name)
        journal.append(call(f"key-{name}"))
        journal.close()
    calls.write("b-run0.parquet", b"")  # its worker died after writing them down
    gather_journals(journals, calls, "run1")
    assert [one.key for one in read_journal(journals, EARLIER)] == ["key-a", "key-b"]
    assert journals.names_of() == [EARLIER]
    assert pq.read_table(calls.path / "left-run1.parquet")["key"].to_pylist() == ["key-a"]
    gather_journals(journals, calls, "run2")
    assert [one.key for one in read_journal(journals, EARLIER)] == ["key-a", "key-b"]
    assert "left-run2.parquet" not in calls.names_of()


def test_a_call_that_cannot_be_kept_is_an_error(tmp_path):
    journal = BatchJournal(Place(tmp_path, "folder"), "b")
    (tmp_path / "folder").rmdir()
    with pytest.raises(StoreError, match="cannot save a call"):
        journal.append(call("k"))


def test_a_journal_that_is_kept_elsewhere_is_removed(tmp_path):
    journal = BatchJournal(Place(tmp_path), "b")
    journal.append(call("k"))
    journal.discard()
    assert Place(tmp_path).names_of() == []


def test_text_that_no_file_can_hold_is_kept_all_the_same(tmp_path):
    journal = BatchJournal(Place(tmp_path), "b")
    journal.append(call("k", reply_text="half \ud800 pair\nand a line"))
    journal.close()
    assert next(read_journal(Place(tmp_path), "b.jsonl")).reply_text == "half ? pair\nand a line"
