"""What is read from a store beside lists: an overview, pages by filters, searches, results and answers of runs."""

import asyncio
import dataclasses
import itertools
from functools import partial

import pytest

from metajudge.clashes.record import keep_clashes
from metajudge.clashes.reviews import review_of_clash
from metajudge.reviews.opening import review_of
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store import RunRecord, browsing, overview, searching
from metajudge.store import run_results as module
from metajudge.store.answers import RunAnswers
from metajudge.store.browsing import AssessmentFilter, newest_fitting
from metajudge.store.overview import Undecided, undecided_by
from metajudge.store.queries import judgments_of
from metajudge.store.run_results import current_results, run_results
from tests.api.pages.filled_store import case_review, made_assessment, made_clash, made_judgment
from tests.doubles.judgments import assessed, judgment


async def test_what_waits_is_what_the_person_can_still_decide(store) -> None:
    first = review("a").model_copy(update={"priority": 0, "opened_at": 5.0})
    await store.reviews.open([first, review("b"), review("c", 2)])

    async def waits(person, now=2.0):
        return await store.ask(lambda connection: overview.waiting(connection, person, now))

    assert await waits(None) == overview.Waiting({0: 1, 1: 2}, 0, "b", 1.0)
    await store.reviews.claim("ada", now=2.0, review_id="b")
    await store.reviews.claim("ada", now=2.0, review_id="c")
    assert (await waits("ada")).mine == 2
    assert (await waits("ada", now=1e9)).mine == 0, "a claim that has expired is nobody's"
    made = HumanDecision(review_id="c", reviewer="ada", outcome=Outcome.APPROVE, decided_at=3.0)
    await store.reviews.decide(made, now=3.0)
    assert (await waits("ada")).by_priority == {0: 1, 1: 1}
    assert (await waits("ada")).mine == 1
    assert (await waits("bob")).total == 3
    assert (await waits(None)).total == 3


async def test_models_count_requests_since_a_time(store, records) -> None:
    cheap = dataclasses.replace(records.call(1), model="cheap", started_at=100.0, cost_usd=0.5)
    unpriced = dataclasses.replace(records.call(2), model="bare", started_at=100.0, cost_usd=None)
    store.record_call(dataclasses.replace(cheap, started_at=1.0))
    for call in (cheap, cheap, unpriced, dataclasses.replace(cheap, status="failed", cost_usd=None)):
        store.record_call(call)
    found = await store.ask(lambda connection: overview.model_calls(connection, 50.0))
    assert found == [overview.ModelCalls("cheap", 3, 1, 1.0, 0), overview.ModelCalls("bare", 1, 0, 0.0, 1)]


async def test_a_case_counts_once_by_its_newest_decision_and_a_clash_as_one(store) -> None:
    for at, name, action in ((1.0, "a", "REVIEW"), (2.0, "a", "REVIEW_PRIORITY"), (3.0, "b", "APPROVE")):
        await store.audit_log.append("case", name, {"decision": {"action": action}}, now=at)
    await store.reviews.open([case_review(), review_of_clash(made_clash(), now=5.0)])
    found = await store.ask(lambda connection: overview.judged(connection, 0.0))
    assert found == overview.Judged(2, {"APPROVE": 1, "REVIEW_PRIORITY": 1}, 1, 1)
    later = await store.ask(lambda connection: overview.judged(connection, 2.5))
    assert (later.actions, later.clashes) == ({"APPROVE": 1}, 1)


async def test_a_clash_counts_once_and_those_that_no_person_is_asked_about_are_listed(store) -> None:
    alike = {"j1": (("owl",), ("fox-2",), ("bear-1",)), "j2": (("owl",), ("bear-1",), ("fox-2",))}
    divided, unanimous = made_clash(), made_clash("q2", rankings=alike)
    await keep_clashes(store, [divided, unanimous, made_clash("q3", rankings=alike)], now=4.0)
    await store.reviews.open([review_of_clash(divided, now=5.0)])
    found = await store.ask(lambda connection: overview.judged(connection, 0.0))
    assert (found.clashes, found.divided) == (3, 1), "the review of a clash is the same clash"

    async def alone(**wanted):
        return await store.ask(lambda connection: overview.decided_clashes(connection, **wanted))

    both = await alone()
    assert [(one.item_id, one.winner, one.unanimous) for one in both] == [("q3", "owl", True), ("q2", "owl", True)]
    assert [one.item_id for one in await alone(text="Q2")] == ["q2"]
    assert await alone(text="owl") == [], "a candidate's name is no id"
    assert [one.item_id for one in await alone(before=both[0].number, limit=1)] == ["q2"]


async def test_the_newest_versions_begin_after_a_number(store) -> None:
    for number in range(1, 4):
        judgment = made_judgment(number)
        await store.save_assessment(f"k{number}", judgment, made_assessment(judgment, number), "run-1")

    async def before(newest):
        return await store.ask(lambda connection: overview.number_before(connection, newest))

    last = await before(1)
    assert [len(await store.newest_assessments(after)) for after in (0, last)] == [3, 1]
    assert await before(3) == 0


def review(name: str, reviewers: int = 1) -> Review:
    about = {"subject_id": f"judgment {name}", "subject_digest": "d", "item_id": f"item {name}"}
    return Review(review_id=name, **about, action="REVIEW", opened_at=1.0, reviewers=reviewers)


async def test_a_review_waits_until_the_person_or_enough_others_have_decided(store) -> None:
    await store.reviews.open([review("one"), review("two", 2), review("three")])
    for name, person in (("one", "ada"), ("two", "ada")):
        await store.reviews.claim(person, now=2.0, review_id=name)
        made = HumanDecision(review_id=name, reviewer=person, outcome=Outcome.APPROVE, decided_at=3.0)
        await store.reviews.decide(made, now=3.0)

    async def waiting(person: str | None) -> Undecided:
        return await store.ask(lambda connection: undecided_by(connection, person))

    assert (await waiting("ada")).subjects == {"judgment three"}
    assert (await waiting("bob")).subjects == {"judgment two", "judgment three"}
    assert (await waiting(None)).items == {"item two", "item three"}


COUNT = 40


def kept(number, **changes):
    made = made_judgment(number, judge="owl" if number % 2 else "hen")
    made = made.model_copy(update={"id": f"j{number}"})
    return made, made_assessment(made, number).model_copy(update=changes)


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


async def test_an_answer_is_given_until_anything_else_is_kept(store, records):
    answers, judgment = RunAnswers(store), records.judgment(1)
    assert await answers.find("k") is None
    await answers.keep("k", b'{"a": 1}')
    assert (await answers.find("k"), await answers.find("other")) == (b'{"a": 1}', None)
    await store.save_assessment("key", judgment, records.assessment(judgment, 1), "run")
    assert await answers.find("k") is None
    await answers.keep("k", b'{"a": 2}')
    assert await answers.find("k") == b'{"a": 2}'
    await store.audit_log.append("calibration", "digest", {}, now=1.0)
    assert await answers.find("k") is None


def compared(one):
    return one.judgment_id, one.item_id, one.judgment_digest, one.panel_digest, one.accepted, one.final_score


@pytest.fixture
async def two_runs(store, monkeypatch):
    """Two runs, one of which repeats some judgments, and annotates some."""
    monkeypatch.setattr(module, "_SPAN", 3)
    for name in ("first", "second"):
        await store.start_run(RunRecord(name, "test", 1.0, "running", {}))
    for n, run in enumerate(["first", "first", "first", "second", "first", "second", "first"]):
        one = judgment(f"j{n % 3}")
        own = assessed(one, 1.0 + n, f"p{n // 5}")
        decided = own.model_copy(update={"probability": 0.4, "calibrated": True, "accepted": n % 4 == 0})
        await store.save_assessment(f"k{n % 3}", one, decided if n % 2 else own, run, own)
    return store


async def test_of_a_run_are_those_of_its_assessments(two_runs) -> None:
    for run in ("first", "second", "nobody"):
        whole = await two_runs.run_assessments(run)
        found = await two_runs.ask(partial(run_results, run_id=run))
        assert [one.number for one in found] == [number for number, _ in whole]
        assert [compared(one) for one in found] == [compared(one) for _, one in whole]


async def test_current_ones_are_the_newest_of_each_panel(two_runs) -> None:
    whole = [compared(one) for _, one in await two_runs.newest_assessments()]
    assert len({panel for _, _, _, panel, _, _ in whole}) == 2
    assert [compared(one) for one in await two_runs.ask(partial(current_results, panel=None))] == whole
    of_one = await two_runs.ask(partial(current_results, panel="p1"))
    assert [compared(one) for one in of_one] == [one for one in whole if one[3] == "p1"]


async def test_an_annotation_kept_as_a_whole_assessment_counts_as_that(store) -> None:
    await store.start_run(RunRecord("r", "test", 1.0, "running", {}))
    one = judgment("j")
    own = assessed(one, 1.0)
    decided = own.model_copy(update={"probability": 0.5, "calibrated": True})
    await store.save_assessment("k", one, decided, "r", own)
    whole = decided.model_copy(update={"final_score": 4.0}).model_dump_json(exclude={"do"})

    def as_before(connection):
        connection.execute("UPDATE annotations SET payload = $1", [whole])

    await store.audit_log._write(as_before)
    ((_, kept),) = await store.run_assessments("r")
    (found,) = await store.ask(partial(run_results, run_id="r"))
    assert compared(found) == compared(kept)
    assert found.final_score == 4.0


async def test_verdicts_and_labels_of_judgments_whose_texts_are_kept(store) -> None:
    given = [judgment("labelled"), judgment("bare", label=None), judgment("gone", item_id="gone")]
    for n, one in enumerate(given):
        await store.save_assessment(f"k{n}", one, assessed(one, 1.0), "r")
    await store.forget(given[2].item.id)
    digests = [one.digest for one in given]
    assert await store.ask(partial(judgments_of, digests=digests)) == dict(zip(digests[:2], given[:2], strict=True))
