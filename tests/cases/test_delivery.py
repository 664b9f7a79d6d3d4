"""Deliveries of decisions: each once, and no more attempts where the receiver is gone."""

import json

import pytest

from metajudge.cases.delivery import GIVE_UP_AFTER, KIND, event_of, send_all
from metajudge.cases.run import judge_cases
from metajudge.cases.webhook import Delivery
from metajudge.providers.scripted import ScriptedModel
from metajudge.session import Session
from metajudge.store import open_store
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply


class Hook:
    """A webhook that delivers or fails as told."""

    url = "https://hooks.example/path?token=secret"

    def __init__(self, *delivered):
        self.delivered, self.sent = list(delivered), []

    async def send(self, event, key, *, clock):
        self.sent.append(event["case_id"])
        fine = self.delivered.pop(0) if self.delivered else True
        return Delivery(key, fine, 1, 204 if fine else 500, "" if fine else "the receiver answered 500")


@pytest.fixture
async def results():
    model = ScriptedModel(lambda request: reply(ANALYSIS if "completeness" in request.system else RELEVANCE))
    async with Session([model]) as session:
        return (await judge_cases(session, [flood(f"c{number}") for number in range(5)])).results


async def test_an_event_has_numbers_and_no_text_of_the_case(results):
    event = event_of(results[0])
    assert (event["case_id"], event["action"]) == ("c0", "APPROVE")
    assert "plant" not in json.dumps(event)
    assert "About" not in json.dumps(event)


async def test_what_failed_is_sent_again_by_the_next_run_and_nothing_twice(results, tmp_path):
    store = await open_store(tmp_path / "s.duckdb")
    said = []
    first, second = Hook(True, False, True, True, True), Hook()
    assert await send_all(first, results, store, said.append) == {"delivered": 4, "known": 0, "failed": 1}
    assert said == ["webhook: c1: the receiver answered 500 (1 attempts)"]
    assert await send_all(second, results, store, said.append) == {"delivered": 1, "known": 4, "failed": 0}
    assert second.sent == ["c1"]
    await store.close()


async def test_the_address_stays_out_of_the_record_but_for_its_host(results, tmp_path):
    store = await open_store(tmp_path / "s.duckdb")
    await send_all(Hook(), results[:1], store, print)
    (entry,) = await store.audit_log.entries(KIND)
    assert entry.payload["host"] == "hooks.example"
    assert "secret" not in json.dumps(entry.payload)
    await store.close()


async def test_sending_ends_after_failures_in_a_row(results):
    said = []
    hook = Hook(*[False] * 5)
    assert await send_all(hook, results, None, said.append) == {"delivered": 0, "known": 0, "failed": 5}
    assert len(hook.sent) == GIVE_UP_AFTER
    assert said[-1].startswith(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row")
