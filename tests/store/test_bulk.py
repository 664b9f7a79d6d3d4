"""Blocks of assessments on both databases."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from metajudge.errors import StoreError
from metajudge.store import open_store
from metajudge.store.rows import without_annotation
from tests.store.blocks import block, decided, found, keep, key_of, rows


class TestAppending:
    async def test_the_rows_are_those_of_single_saves(self, store, records, judgments, tmp_path) -> None:
        scores = (4.2, 4.9, None, 1.0, 5.0, 3.0)
        assessments = [found(one, score) for one, score in zip(judgments, scores, strict=True)]
        assessments[1], assessments[4] = decided(assessments[1]), decided(assessments[4], 0.5)
        assert await keep(store, *judgments) == 6 + len({one.item.digest for one in judgments})
        appended = await store.append_block(block(*assessments))
        single = await open_store(tmp_path / "single.db")
        other = await open_store(tmp_path / "block.db")
        for judgment, one in zip(judgments, assessments, strict=True):
            await single.save_assessment(key_of(one), judgment, one, "run-1", without_annotation(one))
        await keep(other, *judgments)
        await other.append_block(block(*assessments))
        assert await rows(other) == await rows(single)
        by_block, wanted = (await rows(store))["items"], (await rows(single))["items"]
        assert sorted(map(str, by_block)) == sorted(map(str, wanted))
        assert appended == 6
        assert await store.find_assessments([key_of(one) for one in assessments]) == {
            key_of(one): without_annotation(one) for one in assessments
        }
        await single.close()
        await other.close()

    async def test_what_is_there_already_adds_no_row(self, store, reopen, judgments) -> None:
        await keep(store, *judgments)
        assessments = [found(one) for one in judgments]
        first = await store.append_block(block(*assessments[:4]))
        again = await store.append_block(block(*assessments, run="run-2"))
        assert (first, again) == (4, 2)
        assert await keep(store, *judgments) == 0
        later = await reopen(store)
        assert await later.append_block(block(*assessments, run="run-3")) == 0
        assert await keep(later, *judgments) == 0

    async def test_what_a_single_save_kept_counts_as_there(self, store, judgments) -> None:
        one = found(judgments[0])
        await store.save_assessment(key_of(one), judgments[0], one, "run-1")
        assert await keep(store, judgments[0]) == 0
        assert (await store.append_block(block(one))) == 0
        other = decided(one)
        assert (await store.append_block(block(other))) == 1
        await store.save_assessment(key_of(one), judgments[0], other, "run-2", one)
        assert len((await rows(store))["annotations"]) == 1

    async def test_another_result_under_a_known_key_is_history(self, store, judgments) -> None:
        await keep(store, judgments[0])
        for score in (4.2, 4.3, 4.2):
            assert (await store.append_block(block(found(judgments[0], score)))) == 1
        assert [row["final_score"] for row in (await rows(store))["assessments"]] == [4.2, 4.3, 4.2]

    async def test_a_block_that_repeats_itself_adds_one_row(self, store, judgments) -> None:
        await keep(store, judgments[0], judgments[0])
        one = found(judgments[0])
        assert await store.append_block(block(one, one, decided(one), decided(one))) == 1
        assert [len((await rows(store))[table]) for table in ("assessments", "annotations")] == [1, 1]

    async def test_an_invalid_text_keeps_nothing_of_its_block_and_the_store_goes_on(self, store, judgments) -> None:
        await keep(store, *judgments)
        for bad in ({"judge": "\ud800"}, {"judgment_id": "a\ud800"}):
            with pytest.raises(StoreError, match="valid Unicode"):
                await store.append_block(block(*map(found, judgments[1:]), found(judgments[0], **bad)))
        assert not (await rows(store))["assessments"]
        *good, last = block(*map(found, judgments))
        with pytest.raises(StoreError):
            await store.append_block([*good, replace(last, run_id=object())])
        assert not (await rows(store))["assessments"]
        assert (await store.append_block(block(*map(found, judgments)))) == 6


async def test_texts_of_a_forgotten_item_come_back_when_kept_again(store, judgments) -> None:
    await keep(store, *judgments)
    await store.append_block(block(*map(found, judgments)))
    await store.forget("item-1")
    assert await keep(store, *judgments) == 4
    assert len(await store.judgments()) == 6


async def test_texts_that_are_missing_are_those_never_kept_and_those_forgotten(store, judgments) -> None:
    await keep(store, *judgments[:4])
    items, digests = [one.item.digest for one in judgments], [one.digest for one in judgments]
    assert await store.without_texts(items, digests) == (set(items[4:]), set(digests[4:]))
    await store.forget(judgments[0].item.id)
    assert await store.without_texts(items, digests) == ({*items[:2], *items[4:]}, {*digests[:2], *digests[4:]})
    assert await store.without_texts([], []) == (set(), set())


_KILLED = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.store.conftest import Records
from tests.store.test_bulk import block, found, keep
from metajudge.store import open_store

async def main():
    store = await open_store({path!r})
    for start in range(0, 100_000, 200):
        judgments = [Records().judgment(n) for n in range(start, start + 200)]
        await keep(store, *judgments)
        await store.append_block(block(*map(found, judgments)))
        print(start, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_process_leaves_whole_blocks(tmp_path) -> None:
    path = tmp_path / "killed.db"
    script = _KILLED.format(root=str(Path(__file__).parents[2]), path=str(path))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.readlines()
    with sqlite3.connect(path) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM assessments").fetchall()
    assert count % 200 == 0
    assert count >= 200 * len([line for line in told if line.endswith("\n")])
