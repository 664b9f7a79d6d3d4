"""The clients against a running service."""

import importlib
import time

import pytest

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
from tests.api.conftest import panel_of, running
from tests.client.conftest import KEY, records
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.scripted_http import Scripted
from tests.doubles.waiting import until

app_module = importlib.import_module("metajudge.api.app")

EXAMPLE_CASE = importlib.import_module("metajudge.api.routes.judging").EXAMPLE_CASE


async def test_the_asynchronous_client_says_the_same(service):
    url, _ = service
    async with AsyncClient(url, KEY) as client:
        found = await client.vet(judgment())
        events = [event async for event in client.vet_stream(judgment())]
    assert found.final_score == 5.0
    assert [name for name, _ in events] == ["assessment"]  # known by now: nobody is asked again


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


class TestResults:
    """What ``results`` gives is everything, or an error that counts what is missing."""

    @pytest.fixture
    def slow(self, tmp_path):
        """A service whose model takes 0.2 s, one at a time."""
        with LLMServer(answer=score_answer(5), latency_s=0.2) as server:
            shared = {"store": tmp_path / "s.duckdb", "api_key": KEY, "limits": app_module.Limits(job_workers=1)}
            with running(app_module.ServiceOptions(panels={"default": panel_of(server, "a")}, **shared)) as plain:
                yield str(plain.base_url)

    def test_not_waited_for_it_gives_what_there_is_and_says_how_many_are_missing(self, slow):
        with Client(slow, KEY) as client:
            job = client.vet_batch(records(20))
            until(lambda: client.job(job["job_id"])["done"] >= 3)
            found = []
            with pytest.raises(UnfinishedJobError, match=r"is running: \d+ of its 20 items have no result") as caught:
                found.extend(client.results(job["job_id"], wait=False))
            client.request("DELETE", f"/v1/jobs/{job['job_id']}")
        assert len(found) >= 3
        assert caught.value.missing == 20 - len(found)
        assert caught.value.job["state"] == "running"

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
