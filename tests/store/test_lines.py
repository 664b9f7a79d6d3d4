"""The current versions are one line each, whatever is written and by whom: as a count over all versions would have it."""

import asyncio
import random

import pytest

from metajudge.store import open_store
from metajudge.store.copying import copy_store
from metajudge.store.database import Database
from metajudge.store.duckdb_store import opened_tables
from metajudge.types.location import store_location
from tests.store.blocks import write_some
from tests.store.test_bulk import block, decided, found, keep

_WANTED = """
    SELECT coalesce(n.annotation_id, a.assessment_id) AS number, a.assessment_id,
        coalesce(n.created_at, a.created_at) AS created_at, coalesce(n.run_id, a.run_id) AS run_id, a.judgment_id,
        a.item_id, a.judge, coalesce(n.status, a.status) AS status,
        CASE WHEN n.annotation_id IS NULL THEN a.accepted ELSE n.accepted END AS accepted, a.strategy, a.panel_digest,
        n.policy, n.action
    FROM assessments a LEFT JOIN annotations n ON n.assessment_id = a.assessment_id
        AND n.annotation_id = (SELECT max(m.annotation_id) FROM annotations m WHERE m.assessment_id = a.assessment_id)
    WHERE a.assessment_id = (SELECT max(o.assessment_id) FROM assessments o
        WHERE o.judgment_digest = a.judgment_digest AND o.panel_digest = a.panel_digest) ORDER BY 1
"""


async def check(store) -> int:
    """Compares the lines with all versions; returns how many there are."""
    lines, wanted = await store.ask(
        lambda connection: [
            connection.execute(query).fetchall() for query in ("SELECT * FROM lines ORDER BY number", _WANTED)
        ]
    )
    assert lines == wanted
    return len(lines)


@pytest.mark.parametrize("seed", range(2))
async def test_after_any_writes_there_is_a_line_for_each_judgment_and_panel(store, reopen, records, seed) -> None:
    rng = random.Random(seed)
    judgments = [records.judgment(n) for n in range(5)]
    await keep(store, *judgments)
    for number in range(12):
        await write_some(store, rng, rng.choices(judgments, k=rng.randrange(1, 4)), number)
        assert await check(store) > 0
        if number == 6:
            await store.close()
            store = await reopen()
    await store.close()


async def test_lines_that_are_missing_are_built_when_the_file_is_opened(tmp_path, records) -> None:
    path = tmp_path / "store.duckdb"
    store = await open_store(path)
    judgments = [records.judgment(n) for n in range(4)]
    await keep(store, *judgments)
    await store.blocks.append_block(block(*map(found, judgments[:3]), decided(found(judgments[3]))))
    await store.blocks.append_block(block(found(judgments[0], 4.9), decided(found(judgments[1]))))
    await store.close()
    database = Database(path)
    database.writer.execute("DELETE FROM lines WHERE number > 2")
    database.close()
    store = await open_store(path)
    assert await check(store) == 4
    await store.close()


async def test_a_copied_store_has_its_lines(tmp_path, records, location) -> None:
    source = tmp_path / "source.duckdb"
    store = await open_store(source)
    judgments = [records.judgment(n) for n in range(3)]
    await keep(store, *judgments)
    await store.blocks.append_block(block(decided(found(judgments[0])), *map(found, judgments[1:])))
    await store.blocks.append_block(block(found(judgments[1], 4.9)))
    await store.close()
    await asyncio.to_thread(copy_store, source, store_location(location))
    copied = await open_store(location)
    assert await check(copied) == 3
    await copied.close()
    with opened_tables(source) as tables:
        assert tables.count("lines") == 3
