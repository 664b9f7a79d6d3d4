"""The timings of the search and the start page, on a small store."""

import importlib

import pytest

from metajudge.reviews.queue import ReviewFilter
from metajudge.store import browsing, open_store

script = importlib.import_module("metajudge.benchmarks.pages_speed")


@pytest.mark.slow
async def test_the_made_store_has_the_texts_that_are_searched(tmp_path):
    found = await script.measure(tmp_path / "s.duckdb", 12, 3)
    assert {"search for what is nowhere", "search for a frequent text", "start page"} <= set(found)
    store = await open_store(tmp_path / "s.duckdb")
    wanted = browsing.AssessmentFilter(text="leave every morning")
    lines = await store.ask(lambda connection: browsing.page_of_assessments(connection, wanted, limit=20))
    assert len(lines.lines) == 12
    assert len((await store.reviews.page(ReviewFilter(), now=0.0)).reviews) == 3
    await store.close()
