"""Copying a store: all of it, nothing twice, through interruptions, and never over something else."""

import itertools

import pytest

from metajudge.errors import StoreError
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store import RunRecord, copying, open_store
from metajudge.store.copying import copy_store
from metajudge.types.location import store_location

NOW = 1_000_000.0


@pytest.fixture
def new_store(tmp_path, request):
    """Makes places for stores, on either database."""
    numbers = itertools.count()

    def make(kind):
        if kind == "postgres":
            return store_location(request.getfixturevalue("postgres_urls")())
        return tmp_path / f"s{next(numbers)}.duckdb"

    return make


async def fill(location, records, first=0, count=30):
    store = await open_store(location)
    await store.start_run(RunRecord(f"run-{first}", "vet", 1.0, "running", {"a": 1}))
    for n in range(first, first + count):
        store.record_call(records.call(n, f"reply {n} \x00 \x1b[0m ä"))
        judgment = records.judgment(n)
        await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), f"run-{first}")
    await store.finish_run(f"run-{first}", "finished", 2.0, {"calls": count})
    review = Review(
        review_id=f"r{first}",
        subject_id="judgment-1",
        subject_digest="d",
        item_id=f"item-{first}",
        judge="owl",
        category="Math",
        action="REVIEW",
        policy=None,
        opened_at=NOW,
    )
    await store.reviews.open([review])
    await store.reviews.claim("ada", now=NOW)
    said = HumanDecision(review_id=review.review_id, reviewer="ada", outcome=Outcome.APPROVE, decided_at=NOW)
    await store.reviews.decide(said, now=NOW)
    await store.audit_log.append("activation", "careful", {"by": "ada"}, now=NOW)
    await store.close()


async def everything(location):
    store = await open_store(location)
    found = {
        "runs": await store.runs(),
        "judgments": [one.id for one in await store.judgments()],
        "shown": [await store.show(f"item-{n}") for n in range(0, 40, 7)],
        "assessments": await store.find_assessments([f"key-{n}" for n in range(40)]),
        "newest": await store.newest_assessments(0, 1000),
        "audit": await store.audit_log.entries("activation"),
        "review": await store.reviews.get("r0", now=NOW),
    }
    await store.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [("duckdb", "postgres"), ("postgres", "duckdb"), ("duckdb", "duckdb"), ("postgres", "postgres")],
)
async def test_the_copy_holds_all_and_goes_on_as_a_store(new_store, records, one, other):
    source, target = new_store(one), new_store(other)
    await fill(source, records)
    before = await everything(source)
    done = {table.table: table for table in copy_store(source, target)}
    assert (done["calls"].rows, done["calls"].added, done["assessments"].added) == (30, 30, 30)
    assert await everything(target) == before
    assert sum(table.added for table in copy_store(source, target)) == 0, "a second copy added something"
    await fill(target, records, first=30, count=5)  # numbering goes on, on either side
    after = await everything(target)
    assert len(after["assessments"]) == 35
    assert after["shown"][:5] == before["shown"][:5]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), [("duckdb", "postgres"), ("postgres", "duckdb")])
async def test_a_copy_that_was_cut_off_goes_on_and_what_came_since_is_added(
    new_store, records, one, other, monkeypatch
):
    source, target = new_store(one), new_store(other)
    await fill(source, records)
    monkeypatch.setattr(copying, "BATCH", 7)

    def cut(table, done, _total):
        if table == "assessments" and done > 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target, watch=cut)
    await fill(source, records, first=30, count=5)
    done = {table.table: table for table in copy_store(source, target)}
    assert done["assessments"].rows == 35
    assert done["assessments"].added == 35 - 21
    assert await everything(target) == await everything(source)


@pytest.mark.parametrize("other", ["duckdb", "postgres"])
async def test_a_target_with_something_else_in_it_is_refused_and_left_as_it_is(new_store, records, other):
    source, target = new_store("duckdb"), new_store(other)
    await fill(source, records, count=3)
    await fill(target, records, first=10, count=4)
    before = await everything(target)
    with pytest.raises(StoreError, match="it is another store"):
        copy_store(source, target)
    assert await everything(target) == before


@pytest.mark.parametrize("other", ["duckdb", "postgres"])
async def test_other_content_under_the_same_number_is_refused(new_store, records, other):
    source, target = new_store("duckdb"), new_store(other)
    for location, text in ((source, "one"), (target, "two")):
        store = await open_store(location)
        store.record_call(records.call(1, text))
        await store.close()
    with pytest.raises(StoreError, match=r"other content .* call_id of calls"):
        copy_store(source, target)


@pytest.mark.parametrize("other", ["duckdb", "postgres"])
@pytest.mark.slow
async def test_what_was_forgotten_in_the_source_since_is_not_kept_in_silence(new_store, records, other):
    source, target = new_store("duckdb"), new_store(other)
    await fill(source, records, count=3)
    copy_store(source, target)
    store = await open_store(source)
    await store.forget("item-1")
    await store.close()
    with pytest.raises(StoreError, match=r"has redacted .*item 'item-1'.*forget it there too"):
        copy_store(source, target)
    store = await open_store(target)
    await store.forget("item-1")
    await store.close()
    assert sum(table.added for table in copy_store(source, target)) == 0


async def test_what_was_forgotten_in_the_target_stays_forgotten(new_store, records):
    source, target = new_store("duckdb"), new_store("postgres")
    await fill(source, records, count=3)
    copy_store(source, target)
    store = await open_store(target)
    await store.forget("item-1")
    await store.close()
    copy_store(source, target)
    store = await open_store(target)
    assert (await store.show("item-1"))["judgments"][0]["redacted"]
    await store.close()


def test_onto_itself_and_from_nowhere(tmp_path):
    with pytest.raises(StoreError, match="into itself"):
        copy_store(tmp_path / "a", tmp_path / "a")
    with pytest.raises(StoreError, match="no such store to copy from"):
        copy_store(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()
