"""What a policy sends to people is queued once, and an audited share of the rest with its probability."""

import asyncio
from types import SimpleNamespace

import pytest

from metajudge import Engine
from metajudge.completion import Completion
from metajudge.errors import ConfigurationError
from metajudge.providers.scripted import ScriptedModel
from metajudge.reviews import ReviewOrigin
from metajudge.reviews.queue import ReviewFilter
from metajudge.store import open_store
from tests.doubles.judgments import judgment, reply

SCORES = {"good": 5, "fair": 4, "bad": 2}
RECORDS = [
    judgment(f"{kind}{number}", question=f"{kind} question {number}?") for kind in SCORES for number in range(20)
]


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "completion.duckdb")
    yield opened
    await opened.close()


def opinions():
    """Two agents who agree: good 5, fair 4, bad 2, by the question's first word."""

    def score(request):
        text = request.messages[-1].text
        return reply(next(value for kind, value in SCORES.items() if f"{kind} question" in text))

    return [ScriptedModel(score, name=name) for name in ("one", "two")]


async def vetted(store, records=RECORDS, **options):
    found = {}
    async with Engine(
        opinions(), store=store, strategy="weighted_average", policy="verdict_score", **options
    ) as engine:
        summary = await engine.vet_all(records, on_result=lambda _, one, result: found.update({one.id: result}))
    return found, summary


async def queue(store):
    page = await store.reviews.page(ReviewFilter(), now=0.0, limit=1000)
    return {one.review.subject_id: one.review for one in page.reviews}


async def test_what_a_policy_sends_to_people_is_queued_with_what_feedback_needs(store):
    found, summary = await vetted(store)
    waiting = await queue(store)
    needed = {name for name, one in found.items() if one.decision.action.needs_person}
    assert needed
    assert set(waiting) == needed
    assert summary.reviews == len(needed)
    one = next(iter(waiting.values()))
    record = next(each for each in RECORDS if each.id == one.subject_id)
    decision = found[one.subject_id].decision
    assert (one.action, one.margin, one.policy.digest) == (decision.action, decision.margin, decision.policy_digest)
    assert (one.subject_digest, one.verdict, one.judge) == (record.digest, record.verdict, record.judge)
    assert set(one.criteria) == set(one.criterion_weights)
    assert one.score == found[one.subject_id].final_score


async def test_the_same_run_again_queues_nothing_new(store):
    await vetted(store)
    before = await queue(store)
    _, summary = await vetted(store)
    assert (summary.reviews, summary.calls) == (0, 0)
    assert await queue(store) == before


async def test_an_audited_share_is_drawn_by_content_and_says_its_probability(store):
    found, _ = await vetted(store, audit_share=0.5, seed=3)
    sure = {name for name, one in found.items() if not one.decision.action.needs_person}
    audited = {name: one for name, one in (await queue(store)).items() if one.origin is ReviewOrigin.AUDIT}
    assert set(audited) < sure
    assert 0.2 < len(audited) / len(sure) < 0.8
    assert {(one.inclusion, one.priority) for one in audited.values()} == {(0.5, 2)}
    _, again = await vetted(store, records=list(reversed(RECORDS)), audit_share=0.5, seed=3)
    assert again.reviews == 0


async def test_everything_is_audited_at_one(store):
    await vetted(store, audit_share=1.0)
    assert len(await queue(store)) == len(RECORDS)


async def test_one_judgment_alone_is_queued_too(store):
    async with Engine(opinions(), store=store, strategy="weighted_average", policy="verdict_score") as engine:
        fair = next(one for one in RECORDS if one.id.startswith("fair"))
        found = await engine.vet(fair)
    assert found.decision.action.needs_person == (fair.id in await queue(store))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"audit_share": 1.5, "policy": "verdict"}, "must lie in 0..1, not 1.5"),
        ({"audit_share": float("nan"), "policy": "verdict"}, "must lie in 0..1"),
        ({"audit_share": 0.1}, "reviews are opened by a policy"),
        ({"reviewers": 0, "policy": "verdict"}, "at least one reviewer"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        Engine(**options)


async def test_reviews_that_several_workers_queue_at_once_are_all_counted():
    class Slow:
        async def open(self, reviews):
            await asyncio.sleep(0.01)
            return len(reviews)

    completion = Completion(None, False, None)
    completion._store = SimpleNamespace(reviews=Slow())

    async def queued(count):
        completion._waiting = [object()] * count
        await completion.open_reviews()

    await asyncio.gather(queued(200), queued(149))
    assert completion.opened == 349
