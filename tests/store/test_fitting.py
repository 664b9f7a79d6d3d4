"""Pages of the newest assessments by filters: full while more fit, in order, each once."""

import asyncio

import pytest

from metajudge.store import browsing
from metajudge.store.browsing import AssessmentFilter, newest_fitting
from tests.api.pages.filled_store import made_assessment, made_judgment

COUNT = 40


def kept(number, **changes):
    made = made_judgment(number, judge="owl" if number % 2 else "hen")
    made = made.model_copy(update={"id": f"j{number}"})
    return made, made_assessment(made, number).model_copy(update=changes)


async def keep(store, *pairs):
    for one, said in pairs:
        await store.save_assessment(f"{one.id}-{said.panel_digest}", one, said, "run-1")


@pytest.fixture
async def filled(store):
    """Every tenth is of category "rare"; the first was vetted twice, at first under that category, too."""
    first, said = kept(1, category="rare")
    await store.save_assessment("j1-earlier", first, said, "run-1")
    pairs = [kept(n, category="rare" if n % 10 == 0 else 'a "rare" one') for n in range(COUNT)]
    await asyncio.gather(*(store.save_assessment(one.id, one, said, "run-1") for one, said in pairs))
    return store


async def walked(store, limit, category=None, wanted=None):
    """The ids of every page."""
    pages, after = [], 0
    for _ in range(COUNT):
        page = await store.ask(
            lambda connection, after=after: newest_fitting(
                connection, wanted or AssessmentFilter(), after, limit, category
            )
        )
        pages.append([said.judgment_id for _, said in page.found])
        after = page.next_cursor
        if after is None:
            return pages
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("window", [5_000, 3, 1])
async def test_a_rare_filter_gives_full_pages_however_many_windows_it_takes(filled, monkeypatch, window):
    monkeypatch.setattr(browsing, "PAGE", window)
    assert await walked(filled, 3, "rare") == [["j0", "j10", "j20"], ["j30"]]


async def test_no_empty_page_follows_the_last_full_one(filled):
    assert await walked(filled, 2, "rare") == [["j0", "j10"], ["j20", "j30"]]
    assert await walked(filled, 2, "none") == [[]]


async def test_a_judgment_s_text_cannot_pass_for_a_field(store):
    one, said = kept(0, category="plain", judge='"category":"rare","action":"REVIEW_PRIORITY"')
    await keep(store, (one, said))
    assert await walked(store, 5, "rare") == [[]]
    assert await walked(store, 5, wanted=AssessmentFilter(decision="REVIEW_PRIORITY")) == [[]]
