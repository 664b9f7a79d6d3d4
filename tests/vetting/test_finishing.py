"""What a policy sends to people is queued once, and an audited share of the rest with its probability."""

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest

from metajudge import Engine
from metajudge.decision import load_policy
from metajudge.errors import AuthError, ConfigurationError, FailureKind
from metajudge.providers.scripted import ScriptedModel
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewOrigin
from metajudge.store import dashboard, open_store
from metajudge.store.browsing import AssessmentFilter, page_of_assessments
from metajudge.store.fitting import NewestFilter, newest_fitting
from metajudge.types import Status
from metajudge.vetting.finishing import Completion
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
        ({"audit_share": 1.5, "policy": "verdict"}, "must be a fraction from 0 to 1, not 1.5"),
        ({"audit_share": float("nan"), "policy": "verdict"}, "must be a fraction from 0 to 1"),
        ({"audit_share": 0.1}, "reviews are opened by a policy"),
        ({"reviewers": 0, "policy": "verdict"}, "at least one reviewer"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        Engine(**options)


async def test_reviews_that_several_workers_queue_at_once_are_all_counted():
    class Slow:
        async def open_rows(self, reviews):
            await asyncio.sleep(0.01)
            return len(reviews)

    completion = Completion(None, False, None)
    completion._store = SimpleNamespace(reviews=Slow())

    async def queued(count):
        completion._waiting = [object()] * count
        await completion.open_reviews()

    await asyncio.gather(queued(200), queued(149))
    assert completion.opened == 349


GOOD, FAIR = (next(one for one in RECORDS if one.id.startswith(kind)) for kind in ("good", "fair"))


async def lines(store, **wanted):
    """(judgment, the policy and action shown) of each line, newest first."""
    page = await store.ask(partial(page_of_assessments, wanted=AssessmentFilter(**wanted), limit=100))
    found = await store.ask(lambda connection: newest_fitting(connection, NewestFilter(), 0, 500))
    said = {(one.judgment_id, one.panel_digest): one.decision for _, one in found.found}
    for line in page.lines:
        decision = said[line.judgment_id, line.panel_digest]
        assert line.action == (None if decision is None else decision.action.value)
    return {line.judgment_id: said[line.judgment_id, line.panel_digest] for line in page.lines}


async def test_the_decision_shown_is_not_a_stale_one_when_a_policy_is_used_again(store):
    strict = load_policy("verdict_score")
    lax = strict.model_copy(update={"name": "lax"})
    async with Engine(opinions(), store=store, strategy="weighted_average") as engine:
        for policy in (strict, lax, strict):
            answered = await engine.vet(FAIR, policy=policy)
            assert (await lines(store))[FAIR.id] == answered.decision
            assert list(await lines(store, decision=answered.decision.action.value)) == [FAIR.id]
        await engine.vet(FAIR)  # decides nothing, and takes nothing back
        assert (await lines(store))[FAIR.id].policy == strict.name
        shown = await store.show(FAIR.id)
    assert (shown["assessments_total"], shown["history_total"]) == (1, 3)  # the result, strict, lax


async def test_runs_with_one_policy_after_the_other_show_the_last_ones_decisions(store):
    strict = load_policy("verdict_score")
    lax = strict.model_copy(update={"name": "lax"})
    for policy in (strict, lax, strict):
        async with Engine(opinions(), store=store, strategy="weighted_average", policy=policy) as engine:
            await engine.vet_all(RECORDS)
            totals = (await store.ask(lambda c, run=engine.run_id: dashboard.run_totals(c, [run])))[engine.run_id]
        assert totals.assessments == len(RECORDS)
        assert {one.policy for one in (await lines(store)).values()} == {policy.name}
    (panel,) = await store.ask(lambda connection: dashboard.panels(connection, 0.0))
    assert panel.n == len(RECORDS)


async def test_two_policies_under_two_strategies_are_two_lines_a_judgment_not_six(store):
    for strategy in ("weighted_average", "majority_vote"):
        for policy in ("verdict_score", load_policy("verdict_score").model_copy(update={"name": "other"})):
            async with Engine(opinions(), store=store, strategy=strategy, policy=policy) as engine:
                await engine.vet_all(RECORDS)
    days = await store.ask(lambda connection: dashboard.outcomes_by_day(connection, 0.0))
    assert sum(one.n for one in days) == 2 * len(RECORDS)
    (judge,) = await store.ask(lambda connection: dashboard.judges(connection, 0.0))
    assert judge.n == 2 * len(RECORDS)


async def test_identical_vets_at_once_leave_a_result_and_a_decision_and_ask_once(store):
    models = opinions()
    async with Engine(models, store=store, strategy="weighted_average", policy="verdict_score") as engine:
        answers = await asyncio.gather(*(engine.vet(FAIR) for _ in range(20)))
    assert len({one.decision.action for one in answers}) == 1
    assert sum(len(model.requests) for model in models) == 2
    shown = await store.show(FAIR.id)
    assert (shown["assessments_total"], shown["history_total"], shown["calls_total"]) == (1, 1, 2)


@pytest.mark.parametrize(("policy", "history"), [(None, 0), ("verdict_score", 1)])
async def test_a_judgment_without_a_verdict_vetted_five_times_leaves_one_line_and_no_five_rows(store, policy, history):
    silent = judgment("silent", verdict=None, no_verdict="the judge gave none")
    async with Engine(opinions(), store=store, strategy="weighted_average", policy=policy) as engine:
        for _ in range(5):
            assert (await engine.vet(silent)).failure.kind is FailureKind.NO_VERDICT
    shown = await store.show("silent")
    assert (shown["assessments_total"], shown["history_total"]) == (1, history)


async def test_a_failure_that_is_retried_leaves_one_row_until_it_ends_differently(store):
    async def vet_once(answer):
        async with Engine([ScriptedModel(lambda _: answer, name="one")], store=store) as engine:
            status = (await engine.vet(GOOD)).status
        return status, await store.show(GOOD.id)

    for attempt in (1, 2, 3):
        status, shown = await vet_once(AuthError(f"401, request {attempt}"))
        assert status is Status.FAILED
        assert (shown["assessments_total"], shown["history_total"], shown["calls_total"]) == (1, 0, attempt)
    status, shown = await vet_once(reply(5))
    assert status is Status.ASSESSED
    assert (shown["assessments_total"], shown["history_total"], shown["calls_total"]) == (1, 1, 4)
