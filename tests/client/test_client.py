"""The clients against a running service: errors, jobs, and what is sent again, when, and for how long."""

import asyncio
import importlib
import threading
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
    ServiceUnreachableError,
    TimeLimitError,
    UnfinishedJobError,
)
from metajudge.errors import ConfigurationError
from metajudge.types import Status
from tests.api.conftest import panel_of, running
from tests.api.service_process import free_port
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


def test_an_answer_that_says_when_to_come_back():
    error = ServiceError(503, {"detail": "full", "request_id": "r"}, 5.0)
    assert (str(error), error.retry_after) == ("503: full (request r)", 5.0)


@pytest.mark.slow
async def test_150_vets_at_once_on_a_service_that_takes_8_are_all_answered(tmp_path):
    with LLMServer(answer=score_answer(5), latency_s=0.02) as server:
        limits = app_module.Limits(in_flight=8)
        panels = {"default": panel_of(server, "a")}
        with running(app_module.ServiceOptions(panels=panels, store=tmp_path / "s.duckdb", limits=limits)) as plain:
            async with AsyncClient(str(plain.base_url), patience_s=90.0) as client:
                found = await asyncio.gather(*(client.vet(one) for one in records(150)))
            refused = plain.get("/metrics").text
    assert {one.status for one in found} == {Status.ASSESSED}
    assert 'route="/v1/vet",status="503"' in refused, "nothing was refused, which proves nothing"


BUSY = (503, {"retry-after": "0", "content-type": "application/problem+json"}, b'{"detail": "full"}')

OK = (200, {"content-type": "application/json"}, b'{"job_id": "j"}')

CUT = (200, {"content-length": "100", "broken": "yes"}, b'{"item": 0')

GONE = (None, {}, b"")


class TestPatience:
    """What is sent again, when, and for how long."""

    @pytest.mark.slow
    def test_it_comes_back_when_the_answer_says_and_not_before(self):
        limited = (429, {"retry-after": "1"}, b"{}")
        with Scripted(limited, OK) as server, Client(server.url) as client:
            client.job("j")
        (*_, first), (*_, second) = server.requests
        assert 1.0 <= second - first < 4

    def test_patience_has_an_end_and_then_the_answer_is_raised(self):
        with Scripted(BUSY) as server, Client(server.url, patience_s=0.5) as client:
            began = time.monotonic()
            with pytest.raises(ServiceError, match="503: full"):
                client.job("j")
        assert time.monotonic() - began < 3

    def test_a_longer_pause_than_patience_allows_is_not_begun(self):
        later = (503, {"retry-after": "30"}, b"{}")
        with (
            Scripted(later) as server,
            Client(server.url, patience_s=5) as client,
            pytest.raises(ServiceError) as caught,
        ):
            client.job("j")
        assert len(server.requests) == 1
        assert caught.value.retry_after == 30

    def test_a_decision_that_may_have_been_made_is_not_sent_twice(self):
        for answer in (BUSY, GONE):
            with Scripted(answer, OK) as server, Client(server.url) as client, pytest.raises(ServiceError):
                client.request("POST", "/v1/reviews/r/decide", json={"outcome": "approve"})
            assert len(server.requests) == 1

    def test_a_deletion_that_may_have_been_a_cancellation_is_not_sent_twice(self):
        with Scripted(BUSY, OK) as server, Client(server.url) as client, pytest.raises(ServiceError):
            client.request("DELETE", "/v1/jobs/j")
        assert len(server.requests) == 1

    @pytest.mark.parametrize("refused", [BUSY, GONE], ids=["busy", "no answer"])
    def test_a_batch_sent_again_is_whole_and_under_one_key(self, refused):
        with Scripted(refused, OK) as server, Client(server.url) as client:
            assert client.vet_batch(records(3)) == {"job_id": "j"}
        (_, _, first, body, _), (_, _, second, again, _) = server.requests
        assert body == again
        assert body.count(b"\n") == 3
        assert first["idempotency-key"] == second["idempotency-key"]

    async def test_asynchronously_too(self):
        with Scripted(BUSY, GONE, OK) as server:
            async with AsyncClient(server.url) as client:
                assert await client.vet_batch(records(3)) == {"job_id": "j"}
        assert {body for _, _, _, body, _ in server.requests} == {server.requests[0][3]}

    def test_a_batch_from_an_iterator_is_not_sent_again_without_its_beginning(self):
        with Scripted(BUSY, OK) as server, Client(server.url) as client, pytest.raises(ServiceError, match="full"):
            client.vet_batch(iter(records(3)))
        assert len(server.requests) == 1

    def test_an_answer_that_breaks_off_is_an_error_of_ours_and_not_begun_anew(self):
        job = (200, {"content-type": "application/json"}, b'{"job_id": "j", "state": "done", "items": 1, "done": 1}')
        with (
            Scripted(job, CUT) as server,
            Client(server.url) as client,
            pytest.raises(ServiceUnreachableError, match="did not answer") as caught,
        ):
            list(client.results("j"))
        assert caught.value.sent
        assert len(server.requests) == 2

    def test_a_service_that_is_not_there_is_named(self):
        url = f"http://127.0.0.1:{free_port()}"
        with Client(url, patience_s=0.3) as client, pytest.raises(ServiceUnreachableError, match=url) as caught:
            client.job("j")
        assert (caught.value.status, caught.value.sent) == (None, False)
        began = time.monotonic()
        with Client("localhost:8080") as client, pytest.raises(ConfigurationError, match="is not a service URL"):
            client.job("j")
        assert time.monotonic() - began < 5, "it was tried again"

    def test_a_service_that_comes_a_moment_later_is_reached(self):
        port = free_port()
        server = Scripted.__new__(Scripted)

        def start():
            time.sleep(0.8)
            Scripted.__init__(server, OK, port=port)
            server.__enter__()

        thread = threading.Thread(target=start)
        thread.start()
        with Client(f"http://127.0.0.1:{port}") as client:
            assert client.job("j") == {"job_id": "j"}
        thread.join()
        server.__exit__()
