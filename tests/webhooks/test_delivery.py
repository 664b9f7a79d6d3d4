"""Deliveries of alarms: each once, and no more attempts where the receiver is gone."""

import json

from metajudge.store import open_store
from metajudge.webhooks.webhook import GIVE_UP_AFTER, KIND, Delivery, send_events

EVENTS = [(f"alarm {n}", {"event": "broken", "n": n}, {"n": n}) for n in range(5)]


class Hook:
    """A webhook that delivers or fails as told."""

    url = "https://hooks.example/path?token=secret"

    def __init__(self, *delivered):
        self.delivered, self.sent = list(delivered), []

    async def send(self, event, key, *, clock):
        self.sent.append(event["n"])
        fine = self.delivered.pop(0) if self.delivered else True
        return Delivery(fine, 1, 204 if fine else 500, "" if fine else "the receiver answered 500")


async def test_what_failed_is_sent_again_by_the_next_run_and_nothing_twice(tmp_path):
    store = await open_store(tmp_path / "s.duckdb")
    said = []
    first, second = Hook(True, False, True, True, True), Hook()
    assert await send_events(first, EVENTS, store, said.append) == {"delivered": 4, "known": 0, "failed": 1}
    assert said == ["webhook: alarm 1: the receiver answered 500 (1 attempts)"]
    assert await send_events(second, EVENTS, store, said.append) == {"delivered": 1, "known": 4, "failed": 0}
    assert second.sent == [1]
    (*_, entry) = await store.audit_log.entries(KIND)
    assert entry.payload["host"] == "hooks.example"
    assert "secret" not in json.dumps(entry.payload)
    await store.close()


async def test_sending_ends_after_failures_in_a_row():
    said = []
    hook = Hook(*[False] * 5)
    assert await send_events(hook, EVENTS, None, said.append) == {"delivered": 0, "known": 0, "failed": 5}
    assert len(hook.sent) == GIVE_UP_AFTER
    assert said[-1].startswith(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row")
