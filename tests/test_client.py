"""The client against a running service, and a walk through every noun of it."""

import asyncio
import http.server
import importlib
import io
import threading
import time
import zipfile
from pathlib import Path

import pytest

import metajudge.client as client_module
from metajudge.client import AsyncClient, Client, ServiceError, ServiceUnreachableError, UnfinishedJobError
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.rubric import load_rubric
from metajudge.types import Status
from tests.api.conftest import running
from tests.api.service_process import free_port, process
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

app_module = importlib.import_module("metajudge.api.app")
EXAMPLE_CASE = importlib.import_module("metajudge.api.routes.judging").EXAMPLE_CASE
KEY = "k" * 32
WALKER = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


@pytest.fixture
def service(tmp_path):
    """The URL of a service with a panel of two agents, a store and a key; and the models' server."""
    with LLMServer(answer=score_answer(5)) as server:
        agents = [
            {"name": name, "model": f"openai:{name}@{server.url}", "price": {"input": 1, "output": 1}} for name in "ab"
        ]
        options = app_module.ServiceOptions(
            panels={"default": panel_config({"agents": agents}), "one": panel_config({"agents": agents[:1]})},
            store=tmp_path / "s.duckdb",
            api_key=KEY,
        )
        with running(options) as plain:
            yield str(plain.base_url), server


def records(count):
    return [judgment(id=f"j{n}", rationale=f"Reason {n}.") for n in range(count)]


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
def test_a_walk_through_every_operation_of_a_running_process(tmp_path):
    """Every operation of the document is asked at least once, by the client, and answers as it should."""
    with LLMServer(answer=score_answer(5)) as server:
        (tmp_path / "one.toml").write_text(
            f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{server.url}"\nprice = {{ input = 1, output = 1 }}\n'
        )
        with process(tmp_path, "--config", "one.toml", env={"METAJUDGE_API_KEY": WALKER}) as (_, plain):
            with Client(f"{plain.base_url}", WALKER) as client:
                _walk(client)
                deadline = time.monotonic() + 10
                while 'route="/v1/export/preferences",status="200"' not in (walked := metrics(client)):
                    assert time.monotonic() < deadline  # it is counted once all is sent and tidied up
                    time.sleep(0.05)
            document = plain.get("/openapi.json").json()
    missed = [
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if f'metajudge_requests_total{{method="{method.upper()}",route="{_route(path)}",status="2' not in walked
    ]
    expected = [f"POST /v1/feedback/proposals/{{proposal_id}}/{what}" for what in ("backtest", "activate")]
    assert missed in ([*expected, "GET /metrics"], expected), "these have tests of their own"


def metrics(client):
    return client.request("GET", "/metrics").text


def _route(path):
    return "/v1/assessments/{name:path}" if path == "/v1/assessments/{name}" else path


def _walk(client):
    ask = client.request
    for path in ("/healthz", "/readyz", "/version", "/metrics", "/docs"):
        assert ask("GET", path).status_code == 200
    assert client.vet(judgment(), policy="verdict_score").status is Status.ASSESSED
    assert [name for name, _ in client.vet_stream(judgment(id="s", rationale="Streamed."))] == ["agent", "assessment"]
    job = client.wait(client.vet_batch(records(3), rubric="short", idempotency_key="walk")["job_id"])
    assert client.vet_batch(records(3), rubric="short", idempotency_key="walk")["job_id"] == job["job_id"]
    assert [item for item, _ in client.results(job["job_id"])] == [0, 1, 2]
    assert [name for name, _ in client.stream("GET", f"/v1/jobs/{job['job_id']}/events")] == ["result"] * 3 + ["end"]
    assert ask("GET", "/v1/jobs").json()["jobs"][0]["job_id"] == job["job_id"]
    assert ask("DELETE", f"/v1/jobs/{job['job_id']}").json()["state"] == "done"
    item = {**judgment().item.model_dump(mode="json"), "label": None}
    assert len(ask("POST", "/v1/judge", json={"item": item}).json()["judgments"]) <= 2
    assert ask("POST", "/v1/clash", json={"item": item}).json()["item_id"] == item["id"]
    assert ask("POST", "/v1/cases", json={"case": EXAMPLE_CASE}).json()["decision"]["action"]
    assert ask("POST", "/v1/rank", json={"rankings": [[["a"], ["b"]]]}).json()["ranking"] == [["a"], ["b"]]
    ballots = [{"question_id": "q", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]} for name in "abc"]
    assert ask("POST", "/v1/peers", json={"ballots": ballots}).json()["overall"] == [["a"], ["b"], ["c"]]
    assert client.audit([judgment()], [{"item_id": judgment().item.id, "value": "B"}], right="equal")["judges"]
    assert ask("GET", "/v1/audit").json() == ask("GET", "/v1/changes").json()
    assert len(ask("GET", "/v1/assessments", params={"judge": judgment().judge}).json()["assessments"]) == 5
    assert ask("GET", "/v1/assessments/s").json()["calls_total"] == 1
    queue = ask("GET", "/v1/reviews", params={"status": "open"}).json()["reviews"]
    review = next(one["review"] for one in queue if one["review"]["subject"] == "judgment")["review_id"]
    assert ask("GET", f"/v1/reviews/{review}").json()["judgment"]["item"]["label"] is None
    for what, body in [("claim", {}), ("release", {}), ("claim", {}), ("decide", {"outcome": "approve"})]:
        state = ask("POST", f"/v1/reviews/{review}/{what}", json={"reviewer": "ada", **body}).json()["state"]
    assert state["status"] == "decided"
    assert ask("GET", "/v1/feedback", params={"policy": "verdict_score"}).json()["cases"] == 1
    assert ask("GET", "/v1/feedback/activations").json() == []
    assert isinstance(ask("POST", "/v1/feedback/proposals", params={"policy": "verdict_score"}).json(), list)
    assert isinstance(ask("GET", "/v1/feedback/proposals").json(), list)
    for what in ("backtest", "activate"):
        with pytest.raises(ServiceError, match="there is no proposal"):
            ask("POST", f"/v1/feedback/proposals/none/{what}", json={})
    for noun, name in (("rubrics", "short"), ("policies", "verdict_score")):
        assert ask("GET", f"/v1/{noun}").json()
        found = ask("GET", f"/v1/{noun}/{name}").json()
        found = {**found.get("policy", found), "name": "mine"}
        assert ask("PUT", f"/v1/{noun}/mine", json=found).json()["name"] == "mine"
    assert ask("GET", "/v1/calibrations").json() == []
    assert ask("GET", "/v1/monitor").status_code == 200
    archive = ask("POST", "/v1/export/preferences", json={"selection": {"rule": "all"}})
    assert zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
    actions = [one["change"]["action"] for one in ask("GET", "/v1/changes").json()]
    assert {"job.add", "job.delete", "case.decide", "review.decide", "rubric.put", "policy.put"} <= set(actions)
    assert "export.preferences" in actions


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


def test_an_answer_that_says_when_to_come_back():
    error = ServiceError(503, {"detail": "full", "request_id": "r"}, 5.0)
    assert (str(error), error.retry_after) == ("503: full (request r)", 5.0)


def test_the_client_stays_small():
    assert len(Path(client_module.__file__).read_text("utf-8").splitlines()) < 400


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


@pytest.mark.slow
async def test_150_vets_at_once_on_a_service_that_takes_8_are_all_answered(tmp_path):
    with LLMServer(answer=score_answer(5), latency_s=0.02) as server:
        agent = {"name": "a", "model": f"openai:a@{server.url}", "price": {"input": 1, "output": 1}}
        limits = app_module.Limits(in_flight=8)
        panels = {"default": panel_config({"agents": [agent]})}
        with running(app_module.ServiceOptions(panels=panels, store=tmp_path / "s.duckdb", limits=limits)) as plain:
            async with AsyncClient(str(plain.base_url), patience_s=90.0) as client:
                found = await asyncio.gather(*(client.vet(one) for one in records(150)))
            refused = plain.get("/metrics").text
    assert {one.status for one in found} == {Status.ASSESSED}
    assert 'route="/v1/vet",status="503"' in refused, "nothing was refused, which proves nothing"


class Scripted:
    """An HTTP server that gives answers one after the other, the last one again and again."""

    def __init__(self, *answers, port=0):
        self.requests = requests = []
        left = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self):
                if "chunked" in self.headers.get("transfer-encoding", ""):
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("content-length", 0)))
                requests.append((self.command, self.path, dict(self.headers), body, time.monotonic()))
                status, headers, said = left.pop(0) if len(left) > 1 else left[0]
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(said)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said)
                if "broken" in headers:
                    self.close_connection = True

            do_GET = do_POST = do_DELETE = _answer

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


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
