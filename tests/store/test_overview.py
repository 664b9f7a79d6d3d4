"""A store at a glance, in both databases."""

import dataclasses

from metajudge.clashes.record import keep_clashes
from metajudge.clashes.reviews import review_of_clash
from metajudge.reviews.review import HumanDecision, Outcome
from metajudge.store import overview
from tests.api.pages.filled_store import case_review, made_assessment, made_clash, made_judgment
from tests.store.test_undecided import review


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
