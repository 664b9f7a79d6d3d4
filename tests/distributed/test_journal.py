import asyncio

import pyarrow.parquet as pq
import pytest

from metajudge.distributed.journal import BatchJournal, CallJournals, gather_journals, read_journal, replies_of
from metajudge.errors import FailureKind, StoreError
from metajudge.types import CallRecord, TokenProbabilities, Usage


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
    first = BatchJournal(tmp_path / "b.jsonl")
    first.append(call("k1", probabilities=TokenProbabilities(absent="none given")))
    first.append(call("k2", "failed", failure_kind=FailureKind.TIMEOUT, failure_message="late"))
    with (tmp_path / "b.jsonl").open("ab") as file:
        file.write(b'{"key": "k3", "endpo')  # cut off by the kill
    journals = CallJournals(tmp_path, {})
    with journals.batch("b") as journal:
        reply = await journals.find_reply("k1")
        assert (reply.text, reply.cached, reply.attempts, reply.usage) == ("said", True, 0, Usage(3, 2, 1, 4))
        assert await journals.find_reply("k2") is None
        journals.record_call(call("k4"))
    assert [one.key for one in read_journal(tmp_path / "b.jsonl")] == ["k1", "k2", "k4"]
    assert [one.key for one in journal.calls] == ["k1", "k2", "k4"]
    first.close()


async def test_calls_belong_to_the_batch_that_started_them(tmp_path):
    journals = CallJournals(tmp_path, {})

    async def batch(name):
        with journals.batch(name):
            async with asyncio.TaskGroup() as group:
                for index in range(3):
                    group.create_task(one(f"{name}{index}"))

    async def one(key):
        await asyncio.sleep(0)
        journals.record_call(call(key))

    await asyncio.gather(batch("a"), batch("b"))
    assert {one.key for one in read_journal(tmp_path / "a.jsonl")} == {"a0", "a1", "a2"}
    assert {one.key for one in read_journal(tmp_path / "b.jsonl")} == {"b0", "b1", "b2"}


async def test_replies_of_a_run_that_was_cut_off_are_found(tmp_path):
    journals = CallJournals(tmp_path, replies_of([call("old"), call("bad", "failed")]))
    with journals.batch("a"):
        assert (await journals.find_reply("old")).text == "said"
        assert await journals.find_reply("bad") is None


def test_what_killed_runs_left_is_gathered_once(tmp_path):
    journals, calls = tmp_path / "journals", tmp_path / "calls"
    journals.mkdir(), calls.mkdir()
    for name in ("a", "b"):
        journal = BatchJournal(journals / f"{name}.jsonl")
        journal.append(call(f"key-{name}"))
        journal.close()
    (calls / "b-run0.parquet").touch()  # its worker died after writing them down
    target = gather_journals(journals, calls, "run1")
    assert [one.key for one in read_journal(target)] == ["key-a", "key-b"]
    assert list(journals.iterdir()) == [target]
    assert pq.read_table(calls / "left-run1.parquet")["key"].to_pylist() == ["key-a"]
    assert [one.key for one in read_journal(gather_journals(journals, calls, "run2"))] == ["key-a", "key-b"]
    assert not (calls / "left-run2.parquet").exists()


def test_a_call_that_cannot_be_kept_is_an_error(tmp_path):
    journal = BatchJournal(tmp_path / "missing" / "b.jsonl")
    with pytest.raises(StoreError, match="cannot save a call"):
        journal.append(call("k"))


def test_text_that_no_file_can_hold_is_kept_all_the_same(tmp_path):
    journal = BatchJournal(tmp_path / "b.jsonl")
    journal.append(call("k", reply_text="half \ud800 pair\nand a line"))
    journal.close()
    assert next(read_journal(tmp_path / "b.jsonl")).reply_text == "half ? pair\nand a line"
