"""What a run itself kept, in pages."""

from metajudge.store.protocol import RunRecord
from tests.doubles.judgments import judgment
from tests.store.test_newest_assessments import assessment


async def test_a_runs_own_assessments_and_no_other_runs(store):
    one, other = judgment("j1"), judgment("j2")
    for name in ("first", "second"):
        await store.start_run(RunRecord(name, "test", 1.0, "running", {}))
    await store.save_assessment("a", one, assessment(one, 1.0), "first")
    await store.save_assessment("b", other, assessment(other, 2.0), "first")
    await store.save_assessment("a again", one, assessment(one, 3.0), "first")
    await store.save_assessment("later", one, assessment(one, 4.0), "second")
    page = await store.run_assessments("first", 0, 1)
    rest = await store.run_assessments("first", page[-1][0], 10)
    assert [(found.judgment_id, found.final_score) for _, found in page + rest] == [("j2", 2.0), ("j1", 3.0)]
    assert await store.run_assessments("nobody") == []
