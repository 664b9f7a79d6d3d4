"""Promises are read a page at a time, from either kind of store."""

from collections.abc import Iterator

import pytest

from metajudge.monitor import stored
from metajudge.monitor.records import reports, watched_promises
from metajudge.store import open_store, run_results
from metajudge.types import text_digest
from tests.doubles.crowds import crowd
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.promised import decide, guaranteed, vetted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def calibration():
    return guaranteed()


@pytest.fixture
def postgres() -> Iterator[str]:
    with stores_on_postgres() as made:
        yield made()


async def filled(location, calibration):
    store = await open_store(location)
    await vetted(store, calibration, crowd(30, seed=5, prefix="new"))
    await decide(store, lambda review: None if review.judge == "jay" else bool(review.truth))
    await vetted(store, calibration, [one for one in crowd(5, seed=7, prefix="alone") if one.judge == "owl"])
    await vetted(store, calibration, crowd(30, seed=5, prefix="new"))
    return store


def told(found):
    """Reports without times."""
    return [{**one.to_json(), "calibration": None, "alarm_at": None} for one in found]


async def test_small_pages_give_what_one_page_gives(tmp_path, calibration, monkeypatch):
    store = await filled(tmp_path / "s.duckdb", calibration)
    whole, parts = await reports(store, now=0.0), await reports(store, now=0.0, reviewed_only=True)
    assert whole[0].counts.drawn
    assert whole[0].outside == {"absent_signal": 10}
    monkeypatch.setattr(stored, "_MOST_ITEMS", 2)
    for place in (stored, run_results):
        monkeypatch.setattr(place, "SPAN", 16)
    assert await reports(store, now=0.0) == whole
    assert await reports(store, now=0.0, reviewed_only=True) == parts
    await store.close()


async def test_a_database_gives_what_a_file_gives(tmp_path, calibration, postgres):
    found = []
    for location in (tmp_path / "s.duckdb", postgres):
        store = await filled(location, calibration)
        found.append(told(await reports(store, now=0.0)))
        (watched,) = await watched_promises(store, now=0.0, keep=True)
        questions = {one.judgment_id: one.question for one in watched.tally.decisions}
        assert questions["new3/owl/AB"] == text_digest("new question 3")
        await store.close()
    assert found[0] == found[1]
