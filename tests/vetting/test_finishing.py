"""What a policy sends to people is queued once, and an audited share of the rest with its probability."""

import asyncio
from functools import partial
from types import SimpleNamespace

import orjson
import pytest

from metajudge import Engine
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.decision import load_policy, parse_policy
from metajudge.errors import AuthError, ConfigurationError, FailureKind
from metajudge.providers.scripted import ScriptedModel
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewOrigin
from metajudge.store import dashboard, open_store
from metajudge.store.browsing import AssessmentFilter, newest_fitting, page_of_assessments
from metajudge.types import Status
from metajudge.vetting.finishing import Completion
from tests.decision.policy_texts import band, small
from tests.doubles.crowds import crowd
from tests.doubles.graders import chosen, graded
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
    found = await store.ask(lambda connection: newest_fitting(connection, AssessmentFilter(), 0, 500))
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


# Reviews of judgments vetted together: those, and as stored, that vetting each alone queues.
FITTED_ON = crowd(60)
ODD = 'sums "50 %s" é'
QUEUED = [
    *crowd(20, seed=9, prefix="new", categories=(ODD, "Code")),
    *crowd(4, seed=2, prefix="bare", labelled=False),
    *FITTED_ON[:9],
    judgment("tie %d", judge="owl", verdict="A=B"),
    judgment("none", judge="owl", verdict=None, no_verdict="cut"),
    judgment("other", judge='st"ork'),
]
SCALED = [
    one.model_copy(update={"item": one.item.model_copy(update={"scale": (1.0, 5.0)})})
    for one in graded(6, kind="grade", prefix="n")
]
SINGLE = [*graded(12), *SCALED, *chosen(6), judgment("ranked", verdict=[["A"], ["B"]], label=["A", "B"])]
BANDS = [
    band("REJECT", {"below": 0.4}),
    band("REVIEW", {"at_least": 0.4, "below": 0.8}),
    band("REVIEW_PRIORITY", {"at_least": 0.8, "below": 0.9}),
    band("APPROVE", {"at_least": 0.9}),
]
LEARNED = {"recalibration": {"intercept": 0.2, "slope": 0.7}}


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(FITTED_ON, ["order", "strength", "peers"]), repeats=1)


async def queued(place, records, *, one_by_one=False, times=1, **options):
    """All columns of all reviews in their order of opening, without the time; and how many each run opened."""
    store, opened = await open_store(place), []
    for _ in range(times):
        async with Engine(store=store, **options) as engine:
            if one_by_one:
                for one in records:
                    await engine.vet(one, others=records)
                opened.append(engine.finishing.opened)
            else:
                opened.append((await engine.vet_all(records)).reviews)
    rows = await store.ask(lambda c: c.execute("SELECT * FROM reviews ORDER BY opened_at, review_id").fetchall())
    await store.close()
    return [_untimed(row) for row in rows], opened


def _untimed(row):
    *front, opened_at, reviewers, payload, redacted = row
    said = orjson.loads(payload)
    assert said["opened_at"] == opened_at
    return (*front, reviewers, payload.replace(f'"opened_at":{opened_at!r}', ""), redacted)


LABELS = parse_policy(small(bands=BANDS, adjustment=LEARNED, review={"labels": True}), "mine.yaml")
CASES = {
    "an audited share": (QUEUED, load_policy("verdict"), {"audit_share": 0.4, "seed": 3, "reviewers": 2}),
    "all, for labels and so blind": (QUEUED, LABELS, {"audit_share": 1.0}),
    "no calibration": (QUEUED, load_policy("verdict"), {}),
    "scores": ([*SINGLE, *QUEUED[:12]], load_policy("verdict_score"), {"audit_share": 0.5}),
}


@pytest.mark.parametrize("case", CASES)
async def test_blocks_queue_what_one_by_one_queues(case, calibration, tmp_path):
    records, policy, options = CASES[case]
    given = {"policy": policy, "calibration": "none", **options}
    if case not in ("no calibration", "scores"):
        given["calibration"] = calibration
    alone, counts = await queued(tmp_path / "alone.duckdb", records, one_by_one=True, **given)
    together, again = await queued(tmp_path / "blocks.duckdb", records, times=2, **given)
    assert len(alone) > 3
    assert sorted(map(repr, together)) == sorted(map(repr, alone))
    assert again == [*counts, 0]
    assert len({row[0] for row in together}) == len(together) == counts[0]


async def test_a_changed_judgment_opens_one_review_more(calibration, tmp_path):
    given = {"policy": load_policy("verdict"), "calibration": calibration, "audit_share": 1.0}
    before, _ = await queued(tmp_path / "s.duckdb", QUEUED, **given)
    *others, last = QUEUED
    changed = [*others, last.model_copy(update={"rationale": "Another one."})]
    after, (opened,) = await queued(tmp_path / "s.duckdb", changed, **given)
    assert (opened, len(after)) == (1, len(before) + 1)


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
