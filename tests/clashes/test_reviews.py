"""Clashes in the review queue, and people's decisions as calls."""

import pytest

from metajudge.clashes.reviews import calls_of, clash_decision, clashes_in, labelled_calls, open_reviews
from metajudge.reviews.review import ReviewOrigin
from metajudge.store import open_store
from metajudge.types import Ranking
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "s.duckdb")
    yield opened
    await opened.close()


async def unanimous(id="u"):
    return await one(question(id), two_models(LONG, LONG))


async def split(id="s"):
    return await one(question(id), panel(ranks_by(LONG), ranks_by(LONG), ranks_by(SHORT)))


def two_models(*preferences):
    return panel(*(ranks_by(preference, name=f"m{n}") for n, preference in enumerate(preferences)))


class TestOpening:
    async def test_divided_evaluations_enter_once_and_unanimous_ones_by_sample(self, store):
        records = [await split(), await unanimous()]
        first = await open_reviews(store, records)
        assert list(first) == ["s"]
        assert await open_reviews(store, records) == first
        both = await open_reviews(store, records, sample=1.0)
        assert sorted(both) == ["s", "u"]
        found = {state.review.subject_id: state.review for state in await clashes_in(store)}
        assert (found["u"].origin, found["u"].inclusion) == (ReviewOrigin.AUDIT, 1.0)

    async def test_a_sample_is_drawn_by_the_record_alone(self, store):
        records = [await unanimous(f"u{n}") for n in range(60)]
        drawn = await open_reviews(store, records, sample=0.5)
        assert await open_reviews(store, records[::-1], sample=0.5) == drawn
        assert 15 <= len(drawn) <= 45

    async def test_records_that_are_not_to_be_added_are_only_looked_up(self, store):
        records = [await split("a"), await split("b")]
        await open_reviews(store, records[:1])
        assert list(await open_reviews(store, records, adding=())) == ["a"]
        assert list(await open_reviews(store, records, adding=[records[1].key])) == ["a", "b"]

    async def test_without_a_store_nothing_is_opened(self):
        assert await open_reviews(None, [await split()]) == {}


class TestCalls:
    async def test_blind_decisions_labels_and_no_verdict(self, store):
        reviews = await open_reviews(store, [await split("a"), await split("b"), await unanimous("c")], sample=1.0)
        for name, outcome, verdict in (("a", None, "x>y"), ("b", None, "y>x"), ("c", "approve", None)):
            state = await store.reviews.claim("Ada", now=1.0, review_id=reviews[name])
            made = clash_decision(state.review, "Ada", outcome, verdict, reason="", decided_at=2.0)
            await store.reviews.decide(made, now=2.0)
        calls = {call.item: call for call in calls_of(await clashes_in(store))}
        assert {name: (call.agrees, call.panel, call.source) for name, call in calls.items()} == {
            "a": (True, "divided", "blind"),
            "b": (False, "divided", "blind"),
            "c": (True, "unanimous", "seen"),
        }

    async def test_open_reviews_have_no_call(self, store):
        await open_reviews(store, [await split()])
        assert calls_of(await clashes_in(store)) == []

    async def test_labels_of_the_prompts_are_calls(self):
        record = (await split()).model_copy(update={"label": Ranking((("y",), ("x",)))})
        (call,) = labelled_calls([record, await unanimous()])
        assert (call.agrees, call.panel, call.source) == (False, "divided", "label")
