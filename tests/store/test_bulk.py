"""Blocks of assessments on both databases."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from metajudge.errors import StoreError
from metajudge.store import Store, open_store
from metajudge.store.annotations import DERIVED, without_annotation
from metajudge.store.bulk import Annotations, ItemRow, JudgmentRow
from metajudge.store.duckdb_store import opened_tables
from metajudge.store.gaps import filled_annotation
from metajudge.store.rows import item_row
from metajudge.types import Assessment, Judgment, SignalValue, digest
from tests.store.blocks import annotation, block, decided, found, keep, key_of, rows


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

    async def test_payloads_with_gaps_are_those_without(self, store, judgments) -> None:
        odd = [one.model_copy(update={"id": f'{one.id}\x01\x05"\u2028'}) for one in judgments]
        assessments = [found(one, 4.0 + 0.1 * place) for place, one in enumerate(odd)]
        await keep(store, *odd)
        whole = block(*assessments)
        part = ',"order":' + SignalValue(value=1.0, state="agree", detail="other order: A>B").model_dump_json()
        gapped = [
            json.dumps(
                json.loads(text)
                | {"judgment_id": 1, "item_id": 2, "judge": 3, "judgment_digest": 4, "signals": 5, "final_score": None}
            )
            for text in whole.payloads
        ]
        for place, name in enumerate(("judgment_id", "item_id", "judge", "judgment_digest", "signals"), start=1):
            gapped = [text.replace(f'"{name}": {place}', f'"{name}": {chr(place)}') for text in gapped]
        assert len(set(gapped)) == 1
        parts = [[""] * 6, [part] * 6, [""] * 6, [""] * 6, [""] * 6]
        appended = await store.blocks.append_block(
            replace(whole, payloads=[text.encode() for text in gapped], parts=parts)
        )
        read = await store.blocks.read_results(appended.numbers)
        wanted = [without_annotation(one).model_copy(update={"final_score": None}) for one in assessments]
        assert [Assessment.model_validate_json(one) for one in read] == wanted
        again = await store.blocks.append_block(
            replace(whole, payloads=[text.encode() for text in gapped], parts=parts)
        )
        assert again.added == 0
        assert again.numbers.tolist() == appended.numbers.tolist()

    async def test_annotations_by_kind_are_those_one_by_one(self, store, judgments) -> None:
        one, other = (annotation(decided(found(judgments[0]), number)) for number in (0.5, 0.25))
        kinds = [replace(one, payload=b'{"probability":\x01,"value":\x02}', numbers=(None,) * 3), None, other]
        codes, probabilities = np.array([0, 1, 2, 0, 1, 2]), np.array([0.1, np.nan, 0.25, np.nan, np.nan, 0.25])
        numbers = np.full((6, 3), np.nan)
        numbers[0] = 0.1, 0.2, 0.3
        said = Annotations(kinds, codes, probabilities, numbers)
        alone = [said.at(place) for place in range(6)]
        assert (alone[0].probability, alone[0].numbers, alone[1], alone[2]) == (0.1, (0.1, 0.2, 0.3), None, other)
        assert (alone[3].probability, alone[3].numbers) == (None, (None,) * 3)
        await keep(store, *judgments)
        await store.blocks.append_block(block(*map(found, judgments), annotations=said))
        together = (await rows(store))["annotations"]
        assert [row["probability"] for row in together] == [0.1, 0.25, None, 0.25]
        assert [json.loads(row["payload"]).get("value") for row in together] == [0.1, None, None, None]
        again = await store.blocks.append_block(block(*map(found, judgments), annotations=Annotations.of(alone)))
        assert again.added == 0

    async def test_annotations_with_gaps_are_those_without(self, store, judgments) -> None:
        assessments = [
            decided(found(one), number)
            for one, number in zip(judgments, (0.5, 0.001, 1.0, 0.123456789, 0.75, 0.0), strict=True)
        ]
        await keep(store, *judgments)
        whole = block(*assessments)
        rows = [
            replace(
                row,
                payload=row.payload.replace(
                    b'"probability":%b' % orjson.dumps(one.probability), b'"probability":\x01'
                ).replace(b'"calibration":"c1"', b'"calibration":"\x02 \x03 \x04 \x05"'),
                numbers=(one.probability, None, -0.25),
            )
            for row, one in zip(map(annotation, assessments), assessments, strict=True)
        ]
        assert len({row.payload for row in rows}) == 1
        await store.blocks.append_block(replace(whole, annotations=Annotations.of(rows)))
        read = await store.ask(
            lambda connection: connection.execute("SELECT payload FROM annotations ORDER BY annotation_id").fetchall()
        )
        for (text,), row, one in zip(read, rows, assessments, strict=True):
            assert json.loads(text) == json.loads(filled_annotation(row.payload.decode(), one.probability, row.numbers))
            said = json.loads(text)["calibration"].split(" ", 1)
            assert (float(said[0]), said[1]) == (one.probability, f"null -0.25 the probability {one.probability:.4g} ")
            assert json.loads(text)["probability"] == one.probability
        again = await store.blocks.append_block(replace(whole, annotations=Annotations.of(rows)))
        assert again.added == 0

    async def test_forgetting_leaves_no_part_of_the_signals(self, store, judgments) -> None:
        assessments = [found(one) for one in judgments]
        await keep(store, *judgments)
        parts = [[""] * 6, [',"rationale":{"value":1.0,"state":"agree","detail":"QUOTED"}'] * 6, *([[""] * 6] * 3)]
        payloads = [
            one.model_copy(update={"signals": {}})
            .model_dump_json(exclude=DERIVED)
            .replace('"signals":{}', '"signals":\x05')
            .encode()
            for one in assessments
        ]
        await store.blocks.append_block(replace(block(*assessments), payloads=payloads, parts=parts))
        assert await store.forget(judgments[0].item.id)

        def quoted(connection) -> int:
            tables = ("assessments",)
            if "key_hash" in {one[0] for one in connection.execute("SELECT * FROM assessments LIMIT 0").description}:
                tables += ("assessment_rows",)
            rows = [
                row
                for table in tables
                for row in connection.execute(
                    f"SELECT * FROM {table} WHERE item_id = $1", [judgments[0].item.id]
                ).fetchall()
            ]
            assert rows
            return sum("QUOTED" in str(row) for row in rows)

        assert await store.ask(quoted) == 0

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


async def facts_of(store: Store, lines: list[bytes]) -> list[object]:
    """What was kept of each line, where a segment's facts are a JSON list; None where there is nothing."""
    found = await store.blocks.find_facts(lines)
    kept = {number: orjson.loads(content) for number, content in found.facts.items()}
    places = zip(found.segment.tolist(), found.place.tolist(), strict=True)
    return [None if segment < 0 else kept[segment][place] for segment, place in places]


class TestFacts:
    @staticmethod
    def line(n: int) -> bytes:
        return bytes.fromhex(digest(["line", n]))

    async def test_they_are_found_by_line_also_after_reopening(self, store, reopen) -> None:
        lines = [self.line(n) for n in range(100)]
        await store.blocks.keep_facts(lines[:60], orjson.dumps([["item-1", n] for n in range(60)]))
        await store.blocks.keep_facts(lines[60:90], orjson.dumps([["item-2", n] for n in range(60, 90)]))
        asked = [*reversed(lines), lines[3]]
        wanted = [["item-1" if n < 60 else "item-2", n] if n < 90 else None for n in (*reversed(range(100)), 3)]
        assert await facts_of(store, asked) == wanted
        await store.close()
        later = await reopen()
        assert await facts_of(later, asked) == wanted
        half = lines[0][:8] + bytes(8)
        assert await facts_of(later, [half]) == [None]
        await later.close()

    async def test_many_calls_leave_segments_that_are_read_together(self, store, monkeypatch) -> None:
        for n in range(40):
            await store.blocks.keep_facts(
                [self.line(10 * n + k) for k in range(10)], orjson.dumps([10 * n + k for k in range(10)])
            )
        store.blocks.clear()
        asked, reads = [], store.blocks._ask
        monkeypatch.setattr(store.blocks, "_ask", lambda question: asked.append(1) or reads(question))
        for n in range(40):
            lines = [self.line(10 * n + k) for k in range(10)]
            assert await facts_of(store, lines) == [10 * n + k for k in range(10)]
        assert len(asked) == 1 + 3  # all digests, then sixteen segments at a time

    async def test_a_few_lines_of_each_of_many_segments_are_not_worth_reading_them(self, store) -> None:
        for n in range(12):
            await store.blocks.keep_facts([self.line(40 * n + k) for k in range(40)], orjson.dumps(list(range(40))))
        few = [self.line(40 * n) for n in range(8)]
        assert await facts_of(store, few) == [0] * 8
        scattered = [self.line(40 * n) for n in range(12)]
        assert await facts_of(store, scattered) == [None] * 12
        mixed = [*scattered, *(self.line(k) for k in range(1, 20))]
        assert await facts_of(store, mixed) == [0, *([None] * 11), *range(1, 20)]

    async def test_forgetting_an_item_drops_all_facts_as_some_name_it(self, store, records) -> None:
        one = records.judgment(0, item='item "é"')
        same = Judgment(id="other", judge="j", item=one.item.model_copy(update={"id": "twin"}), verdict="A>B")
        await keep(store, one, same)
        for n, name in enumerate((one.item.id, "twin", "item-9")):
            await store.blocks.keep_facts([self.line(n)], orjson.dumps([[name, n]]))
        assert await facts_of(store, [self.line(n) for n in range(3)]) != [None] * 3
        await store.forget(one.item.id)
        assert await facts_of(store, [self.line(n) for n in range(3)]) == [None] * 3

    async def test_the_oldest_are_dropped(self, store, monkeypatch) -> None:
        monkeypatch.setattr("metajudge.store.input_caches.MAX_LINES", 25)
        for n in range(4):
            await store.blocks.keep_facts([self.line(10 * n + k) for k in range(10)], orjson.dumps(list(range(10))))
        found = await facts_of(store, [self.line(n) for n in range(40)])
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
