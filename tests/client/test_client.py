"""The clients against a running service."""

import importlib
import io
import time
import zipfile
from pathlib import Path

import pytest

import metajudge.client as client_module
from metajudge.client import (
    AccessError,
    AsyncClient,
    BusyError,
    Client,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServiceError,
    TimeLimitError,
    UnfinishedJobError,
)
from metajudge.panels.config import panel_config
from metajudge.rubric import load_rubric
from metajudge.types import Status
from tests.api.conftest import running
from tests.client.conftest import KEY, records
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.scripted_http import Scripted

app_module = importlib.import_module("metajudge.api.app")

EXAMPLE_CASE = importlib.import_module("metajudge.api.routes.judging").EXAMPLE_CASE


def test_vet_stream_and_batch(service):
    url, server = service
    with Client(url, KEY) as client:
        found = client.vet(judgment())
        events = list(client.vet_stream(judgment(id="other", rationale="Another.")))
        job = client.wait(client.vet_batch(records(5), rubric="baseline")["job_id"])
        results = list(client.results(job["job_id"]))
    assert found.status is Status.ASSESSED
    assert [name for name, _ in events] == ["agent", "agent", "assessment"]
    assert {data["agent"] for _, data in events[:2]} == {"a", "b"}
    assert job["by_status"] == {"assessed": 5}
    assert [item for item, _ in results] == list(range(5))
    assert server.count == 2 + 2 + 10


async def test_the_asynchronous_client_says_the_same(service):
    url, _ = service
    async with AsyncClient(url, KEY) as client:
        found = await client.vet(judgment())
        events = [event async for event in client.vet_stream(judgment())]
    assert found.final_score == 5.0
    assert [name for name, _ in events] == ["assessment"]  # known by now: nobody is asked again


async def test_an_audit_by_either_client(service):
    url, _ = service
    given = [judgment(id=f"j{n}", item_id=f"q{n}", label=None) for n in range(3)]
    labels = [{"item_id": f"q{n}", "value": "B", "annotator": "ada"} for n in range(3)]
    with Client(url, KEY) as client:
        found = client.audit(iter(given), iter(labels), on="item", right="equal")
    async with AsyncClient(url, KEY) as client:
        assert await client.audit(given, labels, on="item", right="equal") == found
    assert found["judges"][0]["accuracy"] == 0.0
    assert found["holdings"]["kinds"]["pairwise"]["right"] == "equal"


def test_problems_are_errors_with_the_service_s_words(service):
    url, _ = service
    with Client(url, "wrong") as client, pytest.raises(ServiceError, match="the key is not valid") as caught:
        client.vet(judgment())
    assert caught.value.status == 401
    with Client(url, KEY) as client, pytest.raises(ServiceError, match="unknown panel"):
        list(client.vet_stream(judgment(), panel="nobody"))


def test_an_idempotency_key_replayed_with_another_body_is_refused(service):
    url, server = service
    with Client(url, KEY) as client:
        first = client.vet(judgment(), idempotency_key="k1")
        again = client.vet(judgment(), idempotency_key="k1")
        with pytest.raises(ServiceError) as caught:
            client.vet(judgment(id="other"), idempotency_key="k1")
    assert first == again
    assert caught.value.status == 422
    assert server.count == 2


@pytest.mark.slow
def test_a_walk_through_every_noun(service):
    url, _ = service
    with Client(url, KEY) as client:
        ask = client.request
        client.vet(judgment(), panel="one", policy="verdict_score")  # one agent has no agreement: to be reviewed
        assert ask("GET", "/readyz").json() == {"ready": True, "checks": {"store": "ok", "providers": "ok"}}
        assert "metajudge_model_calls_total 1" in ask("GET", "/metrics").text
        page = ask("GET", "/v1/assessments", params={"accepted": True}).json()
        assert page["assessments"][0]["judgment_id"] == judgment().id
        assert ask("GET", f"/v1/assessments/{judgment().id}").json()["calls_total"] == 1
        waiting = ask("GET", "/v1/reviews", params={"status": "open"}).json()["reviews"]
        review = waiting[0]["review"]["review_id"]
        assert "truth" not in waiting[0]["review"]
        claimed = ask("POST", f"/v1/reviews/{review}/claim", json={"reviewer": "ada"}).json()
        assert claimed["judgment"]["id"] == judgment().id
        with pytest.raises(ServiceError) as taken:
            ask("POST", f"/v1/reviews/{review}/claim", json={"reviewer": "bob"})
        assert taken.value.status == 409
        said = {"reviewer": "ada", "outcome": "approve", "reason": "It is right."}
        decided = ask("POST", f"/v1/reviews/{review}/decide", json=said).json()
        assert decided["state"]["status"] == "decided"
        assert ask("GET", "/v1/feedback", params={"policy": "verdict_score"}).json()["cases"] == 1
        assert ask("GET", "/v1/feedback/proposals").json() == []
        for what in ("backtest", "activate"):
            with pytest.raises(ServiceError) as missing:
                ask("POST", f"/v1/feedback/proposals/none/{what}", json={})
            assert missing.value.status == 404
        rubric = load_rubric("baseline").model_dump(mode="json")
        assert ask("PUT", "/v1/rubrics/mine", json={**rubric, "name": "mine"}).json()["name"] == "mine"
        assert "mine" in {one["name"] for one in ask("GET", "/v1/rubrics").json()}
        assert client.vet(judgment(), rubric="mine").status is Status.ASSESSED
        policy = ask("GET", "/v1/policies/verdict_score").json()["policy"]
        assert ask("PUT", "/v1/policies/mine", json={**policy, "name": "mine"}).json()["name"] == "mine"
        assert client.vet(judgment(), policy="mine").decision.policy == "mine"
        assert ask("GET", "/v1/calibrations").json() == []
        item = judgment().item.model_dump(mode="json")
        judged = ask("POST", "/v1/judge", json={"item": item}).json()
        assert len(judged["judgments"]) + len(judged["failed"]) == 4
        assert ask("POST", "/v1/clash", json={"item": item}).json()["item_id"] == item["id"]
        ranked = ask("POST", "/v1/rank", json={"rankings": [[["a"], ["b"]], [["a"], ["b"]]]}).json()
        assert ranked["ranking"] == [["a"], ["b"]]
        ballots = [
            {"question_id": f"q{n}", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]}
            for n in range(3)
            for name in "abc"
        ]
        assert ask("POST", "/v1/peers", json={"ballots": ballots}).json()["models"]
        folder = ask("POST", "/v1/export/preferences", json={"selection": {"rule": "all"}})
        assert any(name.endswith("README.md") for name in zipfile.ZipFile(io.BytesIO(folder.content)).namelist())


@pytest.mark.slow
def test_clashes_cases_reviews_and_lists_have_methods(service):
    url, _ = service
    item = judgment().item.model_dump(mode="json")
    with Client(url, KEY) as client:
        assert client.judge(item, panel="one")["notices"] == []
        assert client.clash(item)["item_id"] == item["id"]
        assert client.case(EXAMPLE_CASE, panel="one")["case_id"] == EXAMPLE_CASE["id"]
        found = client.clash({"id": "q", "question": "Who?"}, candidates="default", panel="one")
        assert {one["name"] for one in found["candidates"]} == {"a", "b"}
        clashes = client.clash_batch([{**item, "id": f"i{n}"} for n in range(3)], panel="one")
        cases = client.case_batch([{**EXAMPLE_CASE, "id": "odd", "stages": [{"name": "x", "output": ""}]}], panel="one")
        assert [one["item_id"] for _, one in client.results(clashes["job_id"])] == ["i0", "i1", "i2"]
        ((_, failed),) = client.results(cases["job_id"])
        assert list(failed) == ["error"]
        assert client.cancel(cases["job_id"])["state"] == "done"
        client.wait(client.vet_batch(records(3), panel="one", policy="verdict_score")["job_id"])
        assert {one.judgment_id for one in client.assessments(limit=2)} == {"j0", "j1", "j2"}
        assert client.rank([[["a"], ["b"]]])["ranking"] == [["a"], ["b"]]
        ballots = [{"question_id": "q", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]} for name in "abc"]
        assert client.peers(ballots)["overall"] == [["a"], ["b"], ["c"]]
        waiting = [one["review"] for one in client.reviews(status="open", limit=1)]
        review = next(one["review_id"] for one in waiting if one["subject"] == "judgment")
        assert client.claim(review, "ada")["state"]["status"] == "claimed"
        assert client.release(review, "ada")["state"]["status"] == "open"
        client.claim(review, "ada", lease_s=60)
        assert client.decide(review, "ada", outcome="approve", reason="Right.")["state"]["status"] == "decided"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda client: client.job("none"), NotFoundError),
        (lambda client: client.vet(judgment(), panel="nobody"), InvalidRequestError),
        (lambda client: client.claim("none", "ada"), NotFoundError),
        (lambda client: client.clash({"id": "q", "question": "?"}), InvalidRequestError),
    ],
)
def test_each_kind_of_problem_is_an_error_of_its_own(service, call, error):
    with Client(service[0], KEY) as client, pytest.raises(error):
        call(client)
    with Client(service[0], "wrong") as client, pytest.raises(AccessError):
        call(client)


@pytest.mark.parametrize(
    ("status", "error"),
    [(409, ConflictError), (429, BusyError), (503, BusyError), (504, TimeLimitError), (500, ServiceError)],
)
def test_statuses_have_kinds(status, error):
    with (
        Scripted((status, {}, b"{}")) as server,
        Client(server.url, patience_s=0) as client,
        pytest.raises(ServiceError) as caught,
    ):
        client.request("POST", "/x")
    assert type(caught.value) is error


async def test_the_asynchronous_client_has_the_same_methods_and_runs_jobs(service):
    url, _ = service
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public == {name for name in vars(AsyncClient) if not name.startswith("_")}
    async with AsyncClient(url, KEY) as client:
        job = await client.wait((await client.vet_batch(records(4), idempotency_key="a"))["job_id"])
        results = [item async for item, _ in client.results(job["job_id"])]
        again = await client.job(job["job_id"])
        with pytest.raises(ServiceError, match="there is no job"):
            await client.job("none")
    assert results == [0, 1, 2, 3]
    assert again["state"] == "done"


def test_the_client_stays_small():
    for path in Path(client_module.__file__).parent.glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) < 200, path


class TestResults:
    """What ``results`` gives is everything, or an error that counts what is missing."""

    @pytest.fixture
    def slow(self, tmp_path):
        """A service whose model takes 0.2 s, one at a time."""
        with LLMServer(answer=score_answer(5), latency_s=0.2) as server:
            agent = {"name": "a", "model": f"openai:a@{server.url}", "price": {"input": 1, "output": 1}}
            options = app_module.ServiceOptions(
                panels={"default": panel_config({"agents": [agent]})},
                store=tmp_path / "s.duckdb",
                api_key=KEY,
                limits=app_module.Limits(job_workers=1),
            )
            with running(options) as plain:
                yield str(plain.base_url)

    @pytest.mark.slow
    def test_asked_right_after_the_batch_it_waits_and_gives_all(self, slow):
        with Client(slow, KEY) as client:
            job = client.vet_batch(records(6))
            assert [item for item, _ in client.results(job["job_id"])] == list(range(6))

    @pytest.mark.slow
    async def test_the_asynchronous_client_waits_too(self, slow):
        async with AsyncClient(slow, KEY) as client:
            job = await client.vet_batch(records(6))
            assert [item async for item, _ in client.results(job["job_id"])] == list(range(6))

    def test_not_waited_for_it_gives_what_there_is_and_says_how_many_are_missing(self, slow):
        with Client(slow, KEY) as client:
            job = client.vet_batch(records(20))
            while client.job(job["job_id"])["done"] < 3:
                time.sleep(0.02)
            found = []
            with pytest.raises(UnfinishedJobError, match=r"is running: \d+ of its 20 items have no result") as caught:
                found.extend(client.results(job["job_id"], wait=False))
            client.request("DELETE", f"/v1/jobs/{job['job_id']}")
        assert len(found) >= 3
        assert caught.value.missing == 20 - len(found)
        assert caught.value.job["state"] == "running"

    async def test_asynchronously_not_waited_for_it_says_how_many_are_missing(self, slow):
        async with AsyncClient(slow, KEY) as client:
            job = await client.vet_batch(records(20))
            with pytest.raises(UnfinishedJobError, match="of its 20 items have no result"):
                _ = [one async for one in client.results(job["job_id"], wait=False)]
            await client.request("DELETE", f"/v1/jobs/{job['job_id']}")

    def test_of_a_cancelled_job_what_is_missing_is_an_error_and_not_a_short_list(self, slow):
        with Client(slow, KEY) as client:
            job = client.vet_batch(records(20))
            client.request("DELETE", f"/v1/jobs/{job['job_id']}")
            with pytest.raises(UnfinishedJobError, match=r"is cancelled: \d+ of its 20 items have no result"):
                list(client.results(job["job_id"]))

    def test_waiting_ends_in_time_with_the_state(self, slow):
        with Client(slow, KEY) as client:
            job = client.vet_batch(records(40))
            began = time.monotonic()
            with pytest.raises(UnfinishedJobError, match="still running after the time to wait") as caught:
                client.wait(job["job_id"], timeout_s=1.0)
            assert time.monotonic() - began < 3
            client.request("DELETE", f"/v1/jobs/{job['job_id']}")
        assert 0 < caught.value.missing < 40
