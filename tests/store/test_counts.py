"""Counts that triggers keep are those that a pass over all rows finds."""

import asyncio

import pytest

from metajudge.store import browsing, dashboard, open_store
from metajudge.store.annotations import without_annotation
from metajudge.store.browsing import AssessmentFilter
from metajudge.store.counts import current_span
from tests.doubles.postgres_urls import stores_on_postgres
from tests.store.test_newest import RUNS, drawn_rows

psycopg = pytest.importorskip("psycopg", reason="extra postgres is not installed")
pytestmark = pytest.mark.slow

COLUMNS = "subject, run_id, day, panel_digest, strategy, judge, status, accepted, policy, action"
KEPT = f"SELECT {COLUMNS}, sum(n) FROM version_counts GROUP BY {COLUMNS} HAVING sum(n) <> 0"
COUNTED = """
    SELECT 'line', run_id, floor(created_at / 86400)::INTEGER, panel_digest, strategy, judge, status, accepted, policy,
        action, count(*) FROM lines GROUP BY 2, 3, 4, 5, 6, 7, 8, 9, 10
    UNION ALL SELECT 'assessment', run_id, NULL, panel_digest, strategy, judge, NULL, NULL, NULL, NULL, count(*)
        FROM assessments GROUP BY run_id, panel_digest, strategy, judge
    UNION ALL SELECT 'annotation', n.run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, count(*) FROM annotations n
        JOIN assessments a USING (assessment_id) WHERE a.run_id <> n.run_id GROUP BY n.run_id
"""
FOLDED = "SELECT fold_version_counts()"


@pytest.fixture
def url():
    with stores_on_postgres() as made:
        yield made()


async def saved(store, rows, mark=""):
    for number, row in enumerate(rows):
        await store.save_assessment(f"{mark}{number}", row.judgment, row.said, row.run)


async def annotated_by_another_run(store, row):
    """A run vets, and another one decides."""
    plain = without_annotation(row.said)
    await store.save_assessment("shared", row.judgment, plain, RUNS[0])
    await store.save_assessment("shared", row.judgment, row.said, RUNS[1], plain)


def both(url):
    with psycopg.connect(url, autocommit=True) as connection:
        return [sorted(connection.execute(query).fetchall(), key=str) for query in (KEPT, COUNTED)]


async def test_they_are_exact_with_and_without_folding(url):
    store = await open_store(url)
    rows = list(drawn_rows(60))
    await saved(store, rows)
    await annotated_by_another_run(store, next(row for row in rows if row.said.decision is not None))
    found, expected = both(url)
    assert found == expected
    assert {one[0] for one in found} == {"line", "assessment", "annotation"}
    await store.change(lambda connection: connection.execute(FOLDED))
    assert both(url) == [expected, expected]
    assert await store.ask(lambda c: c.execute("SELECT count(*) FROM version_counts WHERE key IS NULL").fetchall()) == [
        (0,)
    ]
    await saved(store, rows[30:], "again ")
    await store.forget(rows[0].judgment.item.id)
    await store.change(lambda connection: connection.execute(FOLDED))
    found, later = both(url)
    assert found == later != expected
    await store.close()


async def test_they_are_exact_with_writers_and_folders_at_once(url):
    stores = [await open_store(url), await open_store(url)]
    drawn = list(drawn_rows(80))

    async def fold(store):
        for _ in range(20):
            await store.change(lambda connection: connection.execute(FOLDED))

    await asyncio.gather(
        *(saved(store, drawn[place::2], f"{place} ") for place, store in enumerate(stores)), *map(fold, stores)
    )
    found, expected = both(url)
    assert found == expected
    for store in stores:
        await store.close()


async def test_what_is_undone_is_not_counted(url):
    store = await open_store(url)
    await saved(store, drawn_rows(10))
    before, _ = both(url)
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM lines")
        connection.execute(FOLDED)
        connection.rollback()
    assert both(url) == [before, before]
    await store.close()


async def test_a_store_of_the_layout_before_is_counted_when_it_is_opened(url, monkeypatch):
    from metajudge.store import postgres_migrating

    steps = postgres_migrating.known_migrations()
    with monkeypatch.context() as patch:
        patch.setattr(postgres_migrating, "known_migrations", lambda: steps[:11])
        store = await open_store(url)
        await saved(store, drawn_rows(40))
        await store.close()
    await (await open_store(url)).close()
    found, expected = both(url)
    assert found == expected
    assert len(found) > 10


async def test_a_run_whose_versions_stand_is_listed_from_its_own_span_alone(url):
    store = await open_store(url)
    rows = [row for row in drawn_rows(40) if row.run == RUNS[0]]
    await saved(store, {row.subject: row for row in rows}.values())
    span = await store.ask(lambda c: current_span(c, RUNS[0]))
    numbers = await store.ask(lambda c: c.execute("SELECT number, assessment_id FROM lines").fetchall())
    assert span == (min(min(one) for one in numbers), max(max(one) for one in numbers))
    assert await store.ask(lambda c: current_span(c, "none")) is None

    async def listed():
        wanted = AssessmentFilter(run=RUNS[0])
        page = await store.ask(lambda c: browsing.page_of_assessments(c, wanted, limit=100))
        return [(line.judgment_id, line.panel_digest) for line in page.lines]

    before = await listed()
    assert len(before) == len(numbers)
    row = rows[-1]
    await store.save_assessment("other", row.judgment, row.said.model_copy(update={"final_score": 1.25}), RUNS[1])
    assert await store.ask(lambda c: current_span(c, RUNS[0])) is None
    assert await listed() == before
    await store.close()


async def test_a_period_may_begin_within_a_day(store):
    await saved(store, drawn_rows(30))
    times = await store.ask(lambda c: c.execute("SELECT created_at FROM lines ORDER BY 1").fetchall())
    for place, (since,) in enumerate(times):
        days = await store.ask(lambda c, since=since: dashboard.outcomes_by_day(c, since))
        assert sum(one.n for one in days) == sum(at >= since for (at,) in times[: place + 1]) + len(times) - place - 1
