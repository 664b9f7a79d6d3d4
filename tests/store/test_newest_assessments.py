"""Paging through what a store knows best about every judgment."""

from metajudge.store import RunRecord
from tests.doubles.judgments import assessed, judgment


async def test_the_newest_of_each_judgment_and_panel_in_pages(store):
    await store.start_run(RunRecord("r", "test", 1.0, "running", {}))
    judgments = [judgment(f"j{number}") for number in range(3)]
    for number, one in enumerate(judgments):
        await store.save_assessment(f"k{number}", one, assessed(one, 1.0), "r")
    await store.save_assessment("k0", judgments[0], assessed(judgments[0], 5.0), "r")
    await store.save_assessment("k0 decided", judgments[0], assessed(judgments[0], 4.0), "r")
    await store.save_assessment("other", judgments[0], assessed(judgments[0], 2.0, "p2"), "r")
    first = await store.newest_assessments(0, 2)
    second = await store.newest_assessments(first[-1][0], 2)
    found = [(one.judgment_id, one.panel_digest, one.final_score) for _, one in first + second]
    assert found == [("j1", "p", 1.0), ("j2", "p", 1.0), ("j0", "p", 4.0), ("j0", "p2", 2.0)]
    assert await store.newest_assessments(second[-1][0], 2) == []
