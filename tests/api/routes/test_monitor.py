"""A served promise that breaks: the same report by HTTP, page and package; metric, webhook, and no more stamps."""

import asyncio
import json
import time

import pytest

from metajudge.monitor.records import reports
from metajudge.panels.config import panel_config
from metajudge.store import open_store
from metajudge.webhooks.webhook import Webhook
from tests.api.conftest import app_module, running
from tests.doubles.crowds import crowd
from tests.doubles.promised import decide, guaranteed, vetted
from tests.doubles.waiting import until
from tests.doubles.webhook_receiver import Receiver

SECRET = "a secret shared with the receiver"


@pytest.fixture(scope="module")
def calibration():
    return guaranteed()


async def _filled(path, calibration):
    """All reviews are decided: every verdict is wrong."""
    store = await open_store(path)
    try:
        await vetted(store, calibration, crowd(40, seed=5, prefix="new"))
        await decide(store, lambda review: False)
        return [one.to_json() for one in await reports(store, now=time.time())]
    finally:
        await store.close()


def options(folder, calibration, **more):
    (folder / "cal.json").write_bytes(calibration.to_json())
    kept = {"store": folder / "s.duckdb", "calibration": folder / "cal.json", "review_sample": 1.0}
    return app_module.ServiceOptions(panels={"default": panel_config({"strategy": "signals"})}, **kept, **more)


@pytest.mark.slow
def test_an_alarm_is_found_told_and_ends_the_stamps(tmp_path, calibration):
    (expected,) = asyncio.run(_filled(tmp_path / "s.duckdb", calibration))
    with (
        Receiver(204) as receiver,
        running(options(tmp_path, calibration, webhook=Webhook.at(receiver.url, SECRET))) as client,
    ):
        until(lambda: 'metajudge_promise_broken{promise="' in client.get("/metrics").text, "no check was made")
        broken = [
            line for line in client.get("/metrics").text.splitlines() if line.startswith("metajudge_promise_broken{")
        ]
        assert broken[0].endswith(" 1.0")
        until(lambda: receiver.requests, "no webhook was sent")
        (answered,) = client.get("/v1/monitor").json()["promises"]
        assert answered.pop("alarm_at") >= expected.pop("alarm_at")
        assert answered == json.loads(json.dumps(expected))
        text = client.get("/monitor").text
        assert "Broken since" in text
        assert expected["promise_id"] in text
        later = [one.model_dump(mode="json") for one in crowd(1, seed=6, prefix="later")]
        asked = {"judgment": later[0], "others": later[1:], "policy": "verdict"}
        vetted_now = client.post("/v1/vet", json=asked).json()
        assert (vetted_now["guarantee"], vetted_now["probability_marks"]) == (None, ["promise_broken"])
    (event,) = [one for *_, body in receiver.requests if "promise_id" in (one := json.loads(body))]
    assert (event["event"], event["promise_id"]) == ("promise.broken", expected["promise_id"])


@pytest.mark.slow
def test_a_served_decision_is_drawn_for_people_and_their_decision_is_checked(tmp_path, calibration):
    with running(options(tmp_path, calibration)) as client:
        assert client.get("/v1/monitor").json() == {"promises": []}
        assert "No promise yet" in client.get("/monitor").text
        given = [one.model_dump(mode="json") for one in crowd(1, seed=5, prefix="new")]
        assert (
            client.post("/v1/vet", json={"judgment": given[0], "others": given[1:], "policy": "verdict"}).status_code
            == 200
        )
        (state,) = client.get("/v1/reviews").json()["reviews"]
        address = f"/v1/reviews/{state['review']['review_id']}"
        assert client.post(f"{address}/claim", json={"reviewer": "ada"}).status_code == 200
        assert client.post(f"{address}/decide", json={"reviewer": "ada", "outcome": "approve"}).status_code == 200
        until(lambda: "metajudge_promise_audits{" in client.get("/metrics").text, "the decision was not checked")
        (found,) = client.get("/v1/monitor").json()["promises"]
        assert found["state"] == "too little data"
        assert found["counts"]["unsampled"] == 0
        assert found["held"]["audits"] == found["counts"]["drawn"] == found["counts"]["kept"] == 1
