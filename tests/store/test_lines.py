"""The current versions are one line each, whatever is written and by whom: as a count over all versions would have it."""

import random

import pytest

from tests.store.blocks import write_some
from tests.store.test_bulk import keep

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
            store = await reopen(store)
