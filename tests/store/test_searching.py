"""Search over reviews, cases and runs, in both databases."""

import itertools

from metajudge.clashes.reviews import review_of_clash
from metajudge.reviews.opening import review_of
from metajudge.store import RunRecord, searching
from tests.api.pages.filled_store import case_review, made_assessment, made_clash, made_judgment


async def fill(store):
    judgment = made_judgment(1)
    assessment = made_assessment(judgment, 1)
    await store.save_assessment("k", judgment, assessment, "run-1")
    found = review_of(judgment, assessment, now=1.0, scale=(1, 5))
    await store.reviews.open([found, case_review(), review_of_clash(made_clash(), now=2.0)])


def names(found):
    return [hit.kind for hit in found.hits]


async def test_cases_and_clashes_are_found_by_what_stands_in_them(store) -> None:
    await fill(store)

    async def search(text, **options):
        return await store.ask(lambda connection: searching.search_reviews(connection, text, **options))

    assert names(await search("YIELDS fall")) == ["case"]
    assert names(await search("capital")) == ["clash"]
    assert names(await search("owl")) == ["case", "clash"]
    assert names(await search("content")) == [], "a name of a field"
    assert names(await search("train leaves")) == [], "its assessment is found"
    found = await search("capital")
    assert (found.searched, found.total) == (3, 3)
    assert found.hits[0].about == "Which city is the capital of France?"
    await store.forget("q1")
    assert names(await search("capital")) == []


async def test_what_is_hidden_is_found_by_what_a_reviewer_reads_alone(store) -> None:
    await fill(store)
    hidden = frozenset({"j1/owl-large", "q1", "case-1"})

    async def search(text):
        return await store.ask(lambda connection: searching.search_reviews(connection, text, hidden=hidden))

    assert names(await search("train leaves")) == ["judgment"]
    for text in ("owl-large", "fox-2", "clash panel", "q1", "case-1", "item-1"):
        assert names(await search(text)) == [], text
    assert all(hit.hidden for hit in (await search("a")).hits)


async def test_a_search_ends_in_time_and_says_how_far_it_came(store, monkeypatch) -> None:
    monkeypatch.setattr(searching, "_PAGE", 1)
    await fill(store)
    late = itertools.count(0, 10).__next__
    found = await store.ask(lambda connection: searching.search_reviews(connection, "nothing", clock=late))
    assert (found.hits, found.searched, found.total) == ((), 1, 3)


async def test_cases_and_runs_by_id(store) -> None:
    for at, action in ((1.0, "REVIEW"), (2.0, "APPROVE")):
        await store.audit_log.append("case", "Case-7", {"decision": {"action": action}}, now=at)
    await store.start_run(RunRecord("run-9", "vet", 1.0, "running", {"panel": 'a "quoted" panel'}))

    async def cases(text, **options):
        return await store.ask(lambda connection: searching.search_cases(connection, text, **options))

    assert [(one.case_id, one.action) for one in await cases("case-")] == [("Case-7", "APPROVE")]
    assert await cases("case-", without=frozenset({"Case-7"})) == []
    for text in ("RUN-9", "vet", 'a "quoted"'):
        runs = await store.ask(lambda connection, text=text: searching.search_runs(connection, text))
        assert [one.run_id for one in runs] == ["run-9"], text
