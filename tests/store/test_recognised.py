"""Rows that a store has as the newest ones, by columns in a DuckDB file."""

from dataclasses import replace

from metajudge.store import open_store
from metajudge.store.block_writes import BlockWrite
from metajudge.store.bulk import Annotations
from tests.store.blocks import annotation, decided, estimated, in_parts, keep


class TestRecognising:
    async def test_the_same_result_adds_nothing_and_anything_else_does(self, store, judgments) -> None:
        await keep(store, *judgments)
        first = await store.blocks.append_block(in_parts(*(estimated(one, 0.8) for one in judgments)))
        assert (first.added, first.changed) == (6, 6)
        changes = [(0.8, 4.2), (0.8, 4.2), (0.81, 4.2), (0.8, 4.3), (0.8, 4.2), (0.8, 4.2)]
        again = in_parts(*(estimated(one, *new) for one, new in zip(judgments, changes, strict=True)), run="run-2")
        second = await store.blocks.append_block(again)
        assert (second.added, second.changed) == (2, 2)
        same = [one == other for one, other in zip(first.numbers.tolist(), second.numbers.tolist(), strict=True)]
        assert same == [True, True, False, False, True, True]
        newest = {one.judgment_id: one for _, one in await store.newest_assessments()}
        stored = [newest[one.id] for one in judgments]
        assert [one.signals["no_labels"].value for one in stored] == [0.8, 0.8, 0.81, 0.8, 0.8, 0.8]
        assert [one.final_score for one in stored] == [4.2, 4.2, 4.2, 4.3, 4.2, 4.2]
        third = await store.blocks.append_block(replace(again, run_id="run-3"))
        assert (third.added, third.numbers.tolist()) == (0, second.numbers.tolist())

    async def test_rows_of_several_runs_are_recognised_together(self, tmp_path, judgments, monkeypatch) -> None:
        store = await open_store(tmp_path / "s.duckdb")
        await keep(store, *judgments)
        await store.blocks.append_block(in_parts(*(estimated(one, 0.8) for one in judgments)))
        scores = (4.2, 4.7, 4.2, 4.7, 4.2, 4.2)
        again = in_parts(*(estimated(one, 0.8, score) for one, score in zip(judgments, scores, strict=True)))
        assert (await store.blocks.append_block(again)).added == 2
        monkeypatch.setattr("metajudge.store.journal._APART", 1)
        monkeypatch.setattr(BlockWrite, "payload", None)  # nothing is compared one by one
        assert (await store.blocks.append_block(again)).added == 0
        monkeypatch.undo()
        monkeypatch.setattr("metajudge.store.journal._STRETCHES", 0)
        assert (await store.blocks.append_block(again)).added == 0
        await store.close()

    async def test_an_older_result_counts_again_and_so_does_what_was_forgotten(self, store, judgments) -> None:
        await keep(store, *judgments)
        old, new = (in_parts(*(estimated(one, 0.8, score) for one in judgments)) for score in (4.2, 4.7))
        new = replace(new, keys=[f"{key}-new" for key in new.keys])
        for known in (old, new, old):
            assert (await store.blocks.append_block(known)).added == 6
        await store.forget("item-1")
        await keep(store, *judgments)
        assert (await store.blocks.append_block(old)).added == 2

    async def test_a_judgment_twice_in_a_block_is_compared_in_order(self, store, judgments) -> None:
        await keep(store, *judgments)
        one, other = estimated(judgments[0], 0.8), estimated(judgments[0], 0.8, 4.7)
        await store.blocks.append_block(in_parts(one))
        added = await store.blocks.append_block(in_parts(other, one))
        assert added.added == 2
        ((_, newest),) = await store.newest_assessments()
        assert newest.final_score == 4.2

    async def test_what_a_calibrated_run_said_stays_the_newest_version(self, store, judgments) -> None:
        await keep(store, *judgments)
        assessments = [estimated(one, 0.8) for one in judgments]
        said = Annotations.of([annotation(decided(one)) for one in assessments])
        first = await store.blocks.append_block(in_parts(*assessments, annotations=said))
        second = await store.blocks.append_block(in_parts(*assessments))
        assert (first.added, second.added) == (12, 0)
        assert first.numbers.tolist() == second.numbers.tolist()
