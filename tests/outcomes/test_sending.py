"""Events reach their receiver at least once under one event id: after failures, other receivers' failures and kill -9."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from metajudge.outcomes.model import Callback
from metajudge.outcomes.sending import Sender, receiver_of, sending
from metajudge.store import open_store
from metajudge.store.outcomes import WAITS_S
from metajudge.webhooks.webhook import GIVE_UP_AFTER, Delivery, Webhook, verify
from tests.doubles.outcomes import KINDS, decide
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.waiting import Clock
from tests.doubles.webhook_receiver import Receiver

SECRET = "a secret of many characters"


class Hook:
    """A webhook that delivers or fails as told, by event id."""

    def __init__(self, url="https://hooks.example/path?token=secret", fails=()):
        self.url, self.fails, self.sent = url, fails, []

    async def send(self, event, key, *, clock):
        self.sent.append((key, event))
        fine = self.fails != "all" and key not in self.fails
        return Delivery(fine, 1, 204 if fine else 400, None if fine else "it answered 400")


@pytest.fixture(params=["duckdb", "postgres"])
def location(request, tmp_path):
    if request.param == "duckdb":
        yield str(tmp_path / "s.duckdb")
        return
    with stores_on_postgres() as make:
        yield make()


@pytest.fixture
async def store(location):
    opened = await open_store(location)
    yield opened
    await opened.close()


async def ids(store):
    await store.outcomes.collect_all()
    return [one.event_id for one in reversed(await store.outcomes.page(limit=100))]


async def test_what_is_decided_after_a_receiver_is_known_is_sent_once(store):
    await decide(store, "case", 0)
    sender = Sender(store, hook := Hook())
    await sender.start()
    for number, kind in enumerate(KINDS, start=1):
        await decide(store, kind, number)
    await sender.round()
    await sender.round()
    assert sorted(key for key, _ in hook.sent) == sorted((await ids(store))[1:])
    assert {event["data"]["kind"] for _, event in hook.sent} == set(KINDS)
    assert all(event["type"] == "outcome.approved" for _, event in hook.sent)


async def test_a_poisonous_event_blocks_no_other_and_is_given_up_visibly_and_resumed(store):
    clock = Clock(time.time())
    sender = Sender(store, hook := Hook(), clock=clock)
    await sender.start()
    for number in range(12):
        await decide(store, "case", number)
    poison = (await ids(store))[0]
    hook.fails = {poison}
    await sender.round()
    assert len(hook.sent) == 12
    for wait in WAITS_S:
        await sender.round()  # not due
        clock.now += wait
        await sender.round()
    assert [key for key, _ in hook.sent[12:]] == [poison] * len(WAITS_S)
    (state,) = await store.outcomes.receivers()
    assert (state.delivered, state.waiting, state.given_up, state.last_reason) == (11, 0, 1, "it answered 400")
    hook.fails = ()
    assert await sender.resume() == 1
    await sender.round()
    (state,) = await store.outcomes.receivers()
    assert (state.delivered, state.given_up) == (12, 0)


async def test_a_receiver_that_is_away_is_left_alone_after_some_failures_and_others_get_theirs(store):
    away, there = Hook("https://away.example", fails="all"), Hook()
    senders = [Sender(store, hook) for hook in (away, there)]
    for sender in senders:
        await sender.start()
    for number in range(30):
        await decide(store, "case", number)
    for sender in senders:
        await sender.round()
    assert GIVE_UP_AFTER <= len(away.sent) < 30
    assert len(there.sent) == 30
    away.fails = ()
    await senders[0].resume()
    await senders[0].round()
    assert {key for key, _ in away.sent[-30:]} == {key for key, _ in there.sent}


async def test_two_that_send_at_once_share_the_events(store):
    hook = Hook()
    senders = [Sender(store, hook) for _ in range(2)]
    for sender in senders:
        await sender.start()
    for number in range(20):
        await decide(store, "case", number)
    async with sending(store, hook, print), sending(store, hook, print):
        pass
    assert len(hook.sent) == 20


async def test_the_address_is_not_kept_but_for_its_host(store):
    hook = Hook()
    await Sender(store, hook).start()
    (state,) = await store.outcomes.receivers()
    assert (state.host, state.receiver) == ("hooks.example", receiver_of(hook))
    assert "secret" not in state.model_dump_json()


async def test_callbacks_go_to_receivers_that_want_them(store):
    plain, service = Hook("https://one.example"), Hook("https://two.example")
    senders = [Sender(store, plain), Sender(store, service, callbacks=True)]
    for sender in senders:
        await sender.start()
    ended = Callback.of("job", "j1", "done", 1_700_000_000.0, {"job_id": "j1", "state": "done"})
    assert await store.outcomes.call_back([ended]) == 1
    assert await store.outcomes.call_back([ended]) == 0
    await decide(store, "case", 1)
    for sender in senders:
        await sender.round()
    assert [event["type"] for _, event in plain.sent] == ["outcome.approved"]
    assert [event["type"] for _, event in service.sent] == ["job.ended", "outcome.approved"]
    assert await store.outcomes.page(limit=10) == [
        one for one in await store.outcomes.page(limit=10) if one.kind == "case"
    ]


async def test_earlier_outcomes_are_sent_on_request_and_only_what_was_not_accepted(store):
    await decide(store, "case", 0)
    sender = Sender(store, hook := Hook())
    await sender.start()
    await decide(store, "case", 1)
    await sender.round()
    assert len(hook.sent) == 1
    await sender.wish_since(None)
    await sender.round()
    assert len({key for key, _ in hook.sent}) == len(hook.sent) == 2
    assert sender.counts.known == 1


KILLED = """
    import asyncio, os, signal, sys
    from metajudge.outcomes.sending import Sender
    from metajudge.store import open_store
    from metajudge.types.location import store_location
    from metajudge.webhooks.webhook import Webhook
    from tests.doubles.outcomes import decide

    where, kind, moment, url = sys.argv[1:]

    async def main():
        store = await open_store(store_location(where))
        sender = Sender(store, Webhook.at(url, "a secret of many characters"))
        await sender.start()
        await decide(store, kind, 7)
        if moment == "after the decision":
            os.kill(os.getpid(), signal.SIGKILL)
        await store.outcomes.collect_all()
        if moment == "after the outcome":
            os.kill(os.getpid(), signal.SIGKILL)

        async def killed(number, how, failures=0):
            os.kill(os.getpid(), signal.SIGKILL)

        store.outcomes.sent = killed  # the receiver has the event, its record is missing
        await sender.round()

    asyncio.run(main())
"""
MOMENTS = ("after the decision", "after the outcome", "after the delivery")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", MOMENTS)
async def test_the_event_is_delivered_under_one_id_also_after_kill_9(location, tmp_path, kind, moment):
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    with Receiver(204) as receiver:
        command = [sys.executable, str(script), location, kind, moment, receiver.url]
        done = subprocess.run(  # noqa: ASYNC221 - it is killed at once
            command, env={**os.environ, "PYTHONPATH": os.getcwd()}, check=False
        )
        assert done.returncode == -signal.SIGKILL
        before = len(receiver.requests)
        assert before == (moment == "after the delivery")
        store = await open_store(location)
        try:
            sender = Sender(store, Webhook.at(receiver.url, SECRET))
            await sender.start()
            await sender.round()
            await sender.round()
            assert await ids(store) == [receiver.requests[0][1]["webhook-id"]]
        finally:
            await store.close()
        assert len(receiver.requests) == before + 1
        assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 1
        assert len({body for *_, body in receiver.requests}) == 1
        for _, headers, body in receiver.requests:
            assert verify(SECRET, headers, body, now=time.time())
            assert json.loads(body)["data"]["kind"] == kind
