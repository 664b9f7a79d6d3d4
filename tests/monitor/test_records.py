"""Promises from a store and from files; alarms recorded, sent, and what they stop."""

import json
import time

import pytest

from metajudge import Engine
from metajudge.monitor.records import (
    BROKEN,
    BrokenPromises,
    broken_promises,
    queue_picks,
    record_alarms,
    reports,
    send_alarms,
    watched_promises,
)
from metajudge.monitor.report import State, report_on
from metajudge.monitor.sampling import Purpose, pick
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewOrigin
from metajudge.store import open_store
from metajudge.types import text_digest
from metajudge.webhooks.webhook import Webhook, verify
from tests.doubles.crowds import crowd
from tests.doubles.promised import decide, guaranteed, vetted
from tests.doubles.webhook_receiver import Receiver

SECRET = "a secret shared with the receiver"


@pytest.fixture(scope="module")
def calibration():
    return guaranteed()


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "monitor.duckdb")
    yield opened
    await opened.close()


async def test_a_promise_is_read_with_everything_that_was_decided_under_it(store, calibration):
    fresh = crowd(30, seed=5, prefix="new")
    found = await vetted(store, calibration, fresh)
    (watched,) = await watched_promises(store, now=0.0, keep=True)
    assert (watched.target, watched.delta, watched.threshold) == (0.8, 0.1, 0.6)
    assert watched.judges == ("jay", "owl", "wren")
    assert watched.calibration == calibration.digest
    assert watched.known["category"] == ("Code", "Math")
    assert {one.judgment_id: one.kept for one in watched.tally.decisions} == {
        n: one.probability >= 0.6 for n, one in found.items()
    }
    by_id = {one.judgment_id: one for one in watched.tally.decisions}
    one = by_id["new3/owl/AB"]
    assert one.question == text_digest("new question 3")
    assert one.values["probability"] == one.probability == found["new3/owl/AB"].probability
    assert one.audit is not None
    assert one.audit.decided_at is None
    first = await reports(store, now=0.0)
    await vetted(store, calibration, fresh)
    assert await reports(store, now=0.0) == first, "the same judgments vetted again are no new decisions"


async def test_what_the_guarantee_does_not_cover_is_counted_with_its_reason(store, calibration):
    alone = [one for one in crowd(5, seed=7, prefix="alone") if one.judge == "owl"]
    await vetted(store, calibration, crowd(10, seed=5, prefix="new"))
    await vetted(store, calibration, alone)
    (report,) = await reports(store, now=0.0)
    assert report.to_json()["outside"] == {"absent_signal": 10}
    assert report.outside_line is not None
    assert "10 judgments vetted with this calibration, beside the 60 decided" in report.outside_line
    assert "10 lack a signal that was always there in the fit" in report.outside_line
    assert "taken together and not each judge alone" in report.sentence
    (checked,) = await reports(store, now=0.0, reviewed_only=True)
    assert checked.outside_line is None, "not counted where not everything is read"


async def test_decisions_of_people_are_audits_and_requests_are_not(store, calibration):
    await vetted(store, calibration, crowd(20, seed=5, prefix="new"))
    await decide(store, lambda review: None if review.judge == "jay" else bool(review.truth))
    (watched,) = await watched_promises(store, now=0.0, keep=True)
    answers = {
        one.judge: {two.audit.right for two in watched.tally.decisions if two.judge == one.judge}
        for one in watched.tally.decisions
    }
    assert answers["jay"] == {None}
    assert answers["owl"] <= {True, False}
    counts = report_on(watched).counts
    assert counts.undecided == sum(one.kept for one in watched.tally.decisions if one.judge == "jay") > 0
    assert counts.waiting == 0


async def test_reviews_of_doubtful_judgments_alone_say_nothing_of_a_promise(store, calibration):
    """Without a review sample what the policy approves is never seen, and the doubtful ones are no sample of the kept."""
    fresh = crowd(40, seed=5, prefix="new")
    await vetted(store, calibration, fresh, share=0.0)
    await decide(store, lambda review: False)
    (found,) = await reports(store, now=0.0)
    assert (found.state, found.counts.drawn, found.held.audits) == (State.TOO_LITTLE, 0, 0)
    assert found.counts.unsampled == found.counts.kept > 0
    assert found.predicted is None
    await vetted(store, calibration, crowd(10, seed=6, prefix="later"), share=0.5)
    (both,) = await reports(store, now=0.0)
    assert both.counts.unsampled == found.counts.unsampled
    assert both.counts.drawn > 0


@pytest.mark.slow
async def test_a_broken_promise_is_recorded_once_and_stamped_on_nothing_from_then_on(store, calibration):
    before = await vetted(store, calibration, crowd(40, seed=5, prefix="new"))
    assert any(one.guarantee for one in before.values())
    await decide(store, lambda review: False)
    found = await reports(store, now=10.0)
    assert [one.state for one in found] == [State.BROKEN]
    assert [one.promise_id for one in await record_alarms(store, found, now=99.0)] == [found[0].promise_id]
    assert await record_alarms(store, await reports(store, now=11.0), now=100.0) == []
    assert await broken_promises(store) == {found[0].promise_id: 99.0}
    after = await vetted(store, calibration, crowd(40, seed=6, prefix="later"))
    assert {one.guarantee for one in after.values()} == {None}
    assert {one.probability_marks for one in after.values()} == {("promise_broken",)}
    assert all(0 < one.probability < 1 for one in after.values())
    again = await vetted(store, calibration, crowd(40, seed=5, prefix="new"))
    assert {one.guarantee for one in again.values()} == {None}
    (watched,) = await watched_promises(store, now=12.0, keep=True)
    assert {one.judgment_id for one in watched.tally.decisions} == set(before)
    assert (await reports(store, now=12.0))[0].alarm_at == 99.0


async def test_a_run_that_is_under_way_notices_an_alarm(store, calibration):
    async with Engine(store=store, strategy="signals", calibration=calibration) as engine:
        one, two = crowd(2, seed=5, prefix="new")[::6]
        others = crowd(2, seed=5, prefix="new")
        stamped = await engine.vet(one, others=others)
        assert stamped.guarantee is not None
        (watched,) = await watched_promises(store, now=0.0, keep=True)
        await store.audit_log.append(BROKEN, watched.promise_id, {}, now=1.0)
        assert (await engine.vet(two, others=others)).guarantee is None


async def test_alarms_of_other_processes_are_noticed_in_time(store):
    class Elsewhere:
        """The same log, where another process adds entries."""

        def __init__(self, log):
            self.entries = log.entries

        def appended(self, kind):
            return 0

    class Seen:
        audit_log = Elsewhere(store.audit_log)

    slow, quick = BrokenPromises(Seen()), BrokenPromises(Seen(), every_s=0)
    assert (await slow.now(), await quick.now()) == (frozenset(), frozenset())
    await store.audit_log.append(BROKEN, "p", {}, now=1.0)
    assert (await slow.now(), await quick.now()) == (frozenset(), frozenset({"p"}))


async def test_an_alarm_is_sent_once_signed_and_without_texts(store, calibration):
    await vetted(store, calibration, crowd(40, seed=5, prefix="new"))
    await decide(store, lambda review: False)
    found = await reports(store, now=10.0)
    await record_alarms(store, found, now=99.0)
    said = []
    with Receiver(500, 204) as receiver:
        hook = Webhook.at(receiver.url, SECRET, attempts=1)
        assert (await send_alarms(hook, store, said.append))["failed"] == 1
        assert (await send_alarms(hook, store, said.append))["delivered"] == 1
        assert (await send_alarms(hook, store, said.append))["known"] == 1
        (_, headers, body) = receiver.requests[-1]
    assert len(said) == 1
    assert verify(SECRET, headers, body, now=time.time())
    event = json.loads(body)
    assert (event["event"], event["promise_id"]) == ("promise.broken", found[0].promise_id)
    assert event["e_value"] >= 10
    assert b"question" not in body.replace(b"audited questions", b"")


async def test_drawn_judgments_are_queued_with_their_inclusion_and_do_not_feed_the_test(store, calibration):
    await vetted(store, calibration, crowd(30, seed=5, prefix="new"), share=0.0)
    (watched,) = await watched_promises(store, now=0.0, keep=True)
    picks = pick(watched.tally.candidates(), Purpose.DRIFT, 20)
    assert await queue_picks(store, picks, now=5.0) == len(picks) > 0
    assert await queue_picks(store, picks, now=6.0) == 0
    page = await store.reviews.page(ReviewFilter(), now=0.0, limit=1000)
    asked = {one.review.subject_id: one.review for one in page.reviews if one.review.origin is ReviewOrigin.REQUEST}
    assert {name: one.inclusion for name, one in asked.items()} == {
        one.candidate.judgment_id: one.inclusion for one in picks
    }
    await decide(store, lambda review: False)
    requested = set(asked)
    (after,) = await watched_promises(store, now=0.0, keep=True)
    assert all(one.audit is None for one in after.tally.decisions if one.judgment_id in requested)
