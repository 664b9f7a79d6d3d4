"""Blocks of assessments on both databases."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

from metajudge.errors import StoreError
from metajudge.store import Store, open_store
from metajudge.store.annotations import DERIVED, annotation_of, without_annotation
from metajudge.store.bulk import AnnotationRow, AssessmentBlock, ItemRow, JudgmentRow
from metajudge.store.duckdb_store import opened_tables
from metajudge.store.rows import item_row, judgment_row
from metajudge.types import Assessment, Judgment, SignalValue, digest

POLICY = {"policy": "verdict", "policy_digest": "p1", "action": "REVIEW", "inputs": {}, "margin": 0.5}


def found(judgment: Judgment, score: float | None = 4.2, **changes: object) -> Assessment:
    values = {
        "judgment_id": judgment.id,
        "item_id": judgment.item.id,
        "judge": judgment.judge,
        "status": "unscored" if score is None else "assessed",
        "final_score": score,
        "accepted": None if score is None else score > 4.5,
        "strategy": "signals",
        "threshold": 4.5,
        "signals": {"order": SignalValue(value=1.0, state="agree", detail="other order: A>B")},
        "panel_digest": "panel",
        "judgment_digest": judgment.digest,
        "metajudge_version": "0",
    }
    return Assessment(**{**values, **changes})


def key_of(assessment: Assessment) -> str:
    return digest(["key", assessment.judgment_digest])


def annotation(one: Assessment) -> AnnotationRow | None:
    text = annotation_of(one, without_annotation(one))
    if text is None:
        return None
    return AnnotationRow(
        *(one.status.value, one.accepted, one.calibration, one.probability),
        *((None,) * 3 if one.decision is None else (one.decision.policy, one.decision.policy_digest, "REVIEW")),
        text.encode(),
    )


def block(*assessments: Assessment, run: str = "run-1", **changes: object) -> AssessmentBlock:
    values = {
        "run_id": run,
        "keys": [key_of(one) for one in assessments],
        "judgment_digests": [one.judgment_digest for one in assessments],
        "judgment_ids": [one.judgment_id for one in assessments],
        "item_ids": [one.item_id for one in assessments],
        "judges": [one.judge for one in assessments],
        "statuses": [one.status.value for one in assessments],
        "final_scores": [one.final_score for one in assessments],
        "accepted": [one.accepted for one in assessments],
        "strategies": [one.strategy for one in assessments],
        "panel_digests": [one.panel_digest for one in assessments],
        "payloads": [without_annotation(one).model_dump_json(exclude=DERIVED).encode() for one in assessments],
        "annotations": [annotation(one) for one in assessments],
    }
    return AssessmentBlock(**{**values, **changes})


async def keep(store: Store, *judgments: Judgment) -> int:
    items, said = map(item_row, judgments), map(judgment_row, judgments)
    return await store.blocks.keep_texts(
        [ItemRow(*row[:3], row[3].encode()) for row in items], [JudgmentRow(*row[:5], row[5].encode()) for row in said]
    )


TABLES = ("items", "judgments", "assessments", "annotations")


async def rows(store: Store) -> dict[str, list[tuple]]:
    """All rows, without the times."""

    def read(connection):
        tables = {}
        for table in TABLES:
            result = connection.execute(f"SELECT * FROM {table} ORDER BY 1")
            names = [column[0] for column in result.description]
            tables[table] = [
                {name: value for name, value in zip(names, row, strict=True) if name not in ("created_at", "rowid")}
                for row in result.fetchall()
            ]
        return tables

    return await store.ask(read)


@pytest.fixture
def judgments(records) -> list[Judgment]:
    return [records.judgment(n, item=f"item-{n // 2}", mark="é“”\\frac" * 3) for n in range(6)]


def decided(one: Assessment, probability: float = 0.75) -> Assessment:
    return one.model_copy(update={"probability": probability, "calibrated": True, "calibration": "c1"})


class TestAppending:
    async def test_the_rows_are_those_of_single_saves(self, store, records, judgments, tmp_path) -> None:
        scores = (4.2, 4.9, None, 1.0, 5.0, 3.0)
        assessments = [found(one, score) for one, score in zip(judgments, scores, strict=True)]
        assessments[1], assessments[4] = decided(assessments[1]), decided(assessments[4], 0.5)
        assert await keep(store, *judgments) == 6 + len({one.item.digest for one in judgments})
        appended = await store.blocks.append_block(block(*assessments))
        single = await open_store(tmp_path / "single.duckdb")
        other = await open_store(tmp_path / "block.duckdb")
        for judgment, one in zip(judgments, assessments, strict=True):
            await single.save_assessment(key_of(one), judgment, one, "run-1", without_annotation(one))
        await keep(other, *judgments)
        await other.blocks.append_block(block(*assessments))
        assert await rows(other) == await rows(single)
        by_block = await rows(store)
        if "key_hash" not in by_block["assessments"][0]:  # PostgreSQL has no such column, and other gaps in its numbers
            by_block, wanted = by_block["items"], (await rows(single))["items"]
            assert sorted(map(str, by_block)) == sorted(map(str, wanted))
        else:
            assert by_block == await rows(single)
        assert appended.added == 8
        assert await store.find_assessments([key_of(one) for one in assessments]) == {
            key_of(one): without_annotation(one) for one in assessments
        }
        await single.close()
        await other.close()

    async def test_what_is_there_already_adds_no_row_and_has_its_number(self, store, reopen, judgments) -> None:
        await keep(store, *judgments)
        assessments = [found(one) for one in judgments]
        first = await store.blocks.append_block(block(*assessments[:4]))
        again = await store.blocks.append_block(block(*assessments, run="run-2"))
        assert (first.added, again.added) == (4, 2)
        assert again.numbers[:4].tolist() == first.numbers.tolist()
        assert await keep(store, *judgments) == 0
        await store.close()
        later = await reopen()
        third = await later.blocks.append_block(block(*assessments, run="run-3"))
        assert (third.added, third.numbers.tolist()) == (0, again.numbers.tolist())
        assert await keep(later, *judgments) == 0
        await later.close()

    async def test_what_a_single_save_kept_counts_as_there(self, store, judgments) -> None:
        one = found(judgments[0])
        await store.save_assessment(key_of(one), judgments[0], one, "run-1")
        assert await keep(store, judgments[0]) == 0
        assert (await store.blocks.append_block(block(one))).added == 0
        other = decided(one)
        assert (await store.blocks.append_block(block(other))).added == 1
        await store.save_assessment(key_of(one), judgments[0], other, "run-2", one)
        assert len((await rows(store))["annotations"]) == 1

    async def test_another_result_under_a_known_key_is_history(self, store, judgments) -> None:
        await keep(store, judgments[0])
        for score in (4.2, 4.3, 4.2):
            assert (await store.blocks.append_block(block(found(judgments[0], score)))).added == 1
        assert [row["final_score"] for row in (await rows(store))["assessments"]] == [4.2, 4.3, 4.2]

    async def test_a_block_that_repeats_itself_adds_one_row(self, store, judgments) -> None:
        await keep(store, judgments[0], judgments[0])
        one = found(judgments[0])
        appended = await store.blocks.append_block(block(one, one, decided(one), decided(one)))
        assert appended.added == 2
        assert len({*appended.numbers[:2].tolist()}) == len({*appended.numbers[2:].tolist()}) == 1

    async def test_an_invalid_text_keeps_nothing_of_its_block_and_the_store_goes_on(self, store, judgments) -> None:
        await keep(store, *judgments)
        payloads = [b'{"a": "\xff"}', *block(*map(found, judgments[1:])).payloads]
        with pytest.raises(StoreError, match="valid Unicode"):
            await store.blocks.append_block(block(*map(found, judgments), payloads=payloads))
        assert not (await rows(store))["assessments"]
        with pytest.raises(StoreError, match="valid Unicode"):
            await store.blocks.append_block(block(*map(found, judgments), judges=["\ud800"] * 6))
        with pytest.raises(StoreError, match="equal lengths"):
            await store.blocks.append_block(block(*map(found, judgments), judges=["one"]))
        assert (await store.blocks.append_block(block(*map(found, judgments)))).added == 6

    async def test_texts_that_cannot_be_kept_leave_nothing_behind(self, store, judgments) -> None:
        rows = [JudgmentRow("no digest", "j", "i", "i", "judge", b"{}")]
        items = [ItemRow(*item_row(judgments[0])[:3], item_row(judgments[0])[3].encode())]
        with pytest.raises(StoreError, match="hexadecimal"):
            await store.blocks.keep_texts(items, rows)
        assert await keep(store, judgments[0]) == 2

    async def test_calls_and_assessments_acknowledged_before_are_there_too(self, store, records, judgments) -> None:
        store.record_call(records.call())
        await keep(store, judgments[0])
        assert await store.find_reply(records.key(0)) is not None


class TestReading:
    async def test_results_come_with_their_annotations_in_the_order_asked(self, store, judgments) -> None:
        assessments = [found(one, 1.0 + n / 2) for n, one in enumerate(judgments)]
        assessments[2] = decided(assessments[2])
        await keep(store, *judgments)
        numbers = (await store.blocks.append_block(block(*assessments))).numbers
        order = np.array([5, 2, 0, 2, 1])
        results = await store.blocks.read_results(numbers[order])
        assert [Assessment.model_validate_json(one) for one in results] == [assessments[n] for n in order]
        plain = [n for n in range(6) if n != 2]
        assert await store.blocks.read_results(numbers[plain]) == list(block(*(assessments[n] for n in plain)).payloads)
        assert await store.blocks.read_results(np.array([10**6, numbers[0]])) == [None, results[2]]
        assert await store.blocks.read_results(np.array([], dtype=np.int64)) == []

    async def test_a_forgotten_result_is_not_read_and_its_texts_come_back_when_kept_again(
        self, store, judgments
    ) -> None:
        await keep(store, *judgments)
        numbers = (await store.blocks.append_block(block(*map(found, judgments)))).numbers
        await store.forget("item-1")
        results = await store.blocks.read_results(numbers)
        assert [one is None for one in results] == [False, False, True, True, False, False]
        assert await keep(store, *judgments) == 4
        assert len(await store.judgments()) == 6


async def test_texts_that_are_missing_are_those_never_kept_and_those_forgotten(store, judgments) -> None:
    await keep(store, *judgments[:4])
    items, digests = [one.item.digest for one in judgments], [one.digest for one in judgments]
    assert await store.blocks.without_texts(items, digests) == (set(items[4:]), set(digests[4:]))
    await store.forget(judgments[0].item.id)
    assert await store.blocks.without_texts(items, digests) == ({*items[:2], *items[4:]}, {*digests[:2], *digests[4:]})
    assert await store.blocks.without_texts([], []) == (set(), set())


class TestFacts:
    @staticmethod
    def line(n: int) -> bytes:
        return bytes.fromhex(digest(["line", n]))

    async def test_they_are_found_by_line_also_after_reopening(self, store, reopen) -> None:
        lines = [self.line(n) for n in range(100)]
        await store.blocks.keep_facts(lines[:60], [["item-1", n] for n in range(60)])
        await store.blocks.keep_facts(lines[60:90], [["item-2", n] for n in range(60, 90)])
        asked = [*reversed(lines), lines[3]]
        wanted = [["item-1" if n < 60 else "item-2", n] if n < 90 else None for n in (*reversed(range(100)), 3)]
        assert await store.blocks.find_facts(asked) == wanted
        await store.close()
        later = await reopen()
        assert await later.blocks.find_facts(asked) == wanted
        half = lines[0][:8] + bytes(8)
        assert await later.blocks.find_facts([half]) == [None]
        await later.blocks.drop_input_caches()
        assert await later.blocks.find_facts(asked) == [None] * 101
        await later.close()

    async def test_many_calls_leave_segments_that_are_read_together(self, store, monkeypatch) -> None:
        for n in range(40):
            await store.blocks.keep_facts([self.line(10 * n + k) for k in range(10)], [10 * n + k for k in range(10)])
        store.blocks.clear()
        asked, reads = [], store.blocks._ask
        monkeypatch.setattr(store.blocks, "_ask", lambda question: asked.append(1) or reads(question))
        for n in range(40):
            lines = [self.line(10 * n + k) for k in range(10)]
            assert await store.blocks.find_facts(lines) == [10 * n + k for k in range(10)]
        assert len(asked) == 1 + 3  # all digests, then sixteen segments at a time

    async def test_a_few_lines_of_each_of_many_segments_are_not_worth_reading_them(self, store) -> None:
        for n in range(12):
            await store.blocks.keep_facts([self.line(40 * n + k) for k in range(40)], list(range(40)))
        few = [self.line(40 * n) for n in range(8)]
        assert await store.blocks.find_facts(few) == [0] * 8
        scattered = [self.line(40 * n) for n in range(12)]
        assert await store.blocks.find_facts(scattered) == [None] * 12
        mixed = [*scattered, *(self.line(k) for k in range(1, 20))]
        assert await store.blocks.find_facts(mixed) == [0, *([None] * 11), *range(1, 20)]

    async def test_forgetting_an_item_drops_all_facts_as_some_name_it(self, store, records) -> None:
        one = records.judgment(0, item='item "é"')
        same = Judgment(id="other", judge="j", item=one.item.model_copy(update={"id": "twin"}), verdict="A>B")
        await keep(store, one, same)
        for n, name in enumerate((one.item.id, "twin", "item-9")):
            await store.blocks.keep_facts([self.line(n)], [[name, n]])
        assert await store.blocks.find_facts([self.line(n) for n in range(3)]) != [None] * 3
        await store.forget(one.item.id)
        assert await store.blocks.find_facts([self.line(n) for n in range(3)]) == [None] * 3

    async def test_the_oldest_are_dropped(self, store, monkeypatch) -> None:
        monkeypatch.setattr("metajudge.store.input_caches.MAX_LINES", 25)
        for n in range(4):
            await store.blocks.keep_facts([self.line(10 * n + k) for k in range(10)], list(range(10)))
        found = await store.blocks.find_facts([self.line(n) for n in range(40)])
        assert [one is None for one in found] == [True] * 20 + [False] * 20

    async def test_results_of_blocks(self, store, reopen) -> None:
        numbers = [np.arange(5, 5000), np.array([9, 3, 2**40, 7]), np.array([], dtype=np.int64)]
        await store.blocks.keep_results([self.line(n) for n in range(3)], numbers)
        await store.blocks.keep_results([self.line(1)], [np.array([8])])
        await store.close()
        later = await reopen()
        asked = await later.blocks.find_results([self.line(n) for n in (1, 3, 0, 2)])
        assert [None if one is None else one.tolist() for one in asked] == [[8], None, list(range(5, 5000)), []]
        await later.close()


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
        await store.blocks.append_block(block(*map(found, judgments)))
        print(start, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_process_leaves_whole_blocks(tmp_path) -> None:
    path = tmp_path / "killed.duckdb"
    script = _KILLED.format(root=str(Path(__file__).parents[2]), path=str(path))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.readlines()
    with opened_tables(path) as tables:
        count = tables.count("assessments")
    assert count % 200 == 0
    assert count >= 200 * len([line for line in told if line.endswith("\n")])


def test_a_payload_is_what_the_single_path_writes(records) -> None:
    one = found(records.judgment())
    assert orjson.loads(block(one).payloads[0]) == orjson.loads(one.model_dump_json(exclude=DERIVED))
