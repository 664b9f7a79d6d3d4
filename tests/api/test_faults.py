"""Faults upstream, overload, slow and vanished callers: the right status, and nothing held."""

import contextlib
import importlib
import re
import socket
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.api.conftest import panel_of
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import random_faults, score_answer
from tests.doubles.waiting import until

options = importlib.import_module("metajudge.api.options")

UPLOAD = b"POST /v1/vet/batch HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-ndjson\r\n"
HALF_BODY = b"content-length: 100\r\ncontent-type: application/json\r\n\r\n{"
HTTP_FAULTS = ("429", "500", "503", "drop")


@pytest.fixture
def uploads(tmp_path, monkeypatch):
    """The uploads that are on the disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return lambda: list(tmp_path.glob("metajudge-uploads-*/*"))


def connected(client):
    """A bare connection to the service of a client."""
    return socket.create_connection((client.base_url.host, client.base_url.port), 5)


def panels(server, **given):
    return {"default": panel_of(server, retry={"attempts": 2, "total_s": 5}, **given)}


def record(number=0):
    return judgment(id=f"j{number}", rationale=f"Reason {number}.").model_dump(mode="json")


def metric(client, name, **labels):
    """The sum of a family's samples that have these labels."""
    found = re.findall(rf"^{name}(?:\{{([^}}]*)\}})? ([0-9.e+-]+)$", client.get("/metrics").text, re.MULTILINE)
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(float(value) for given, value in found if all(one in given for one in wanted))


def reached(client, name, value, within=10):
    """Waits until a metric has a value."""
    until(lambda: metric(client, name) == value, f"{name} is not {value}", within)


def in_background(*tasks):
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.slow
def test_faults_upstream_lose_no_item_and_the_metrics_are_the_server_s_counts(serve, models, tmp_path):
    kinds = (*HTTP_FAULTS, "malformed_content", "refusal")
    server = models(answer=score_answer(5), faults=random_faults(0.3, kinds))
    client = serve(panels=panels(server), store=tmp_path / "s.duckdb")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: client.post("/v1/vet", json=record(n)), range(40)))
    assert {one.status_code for one in answers} == {200}
    assert [one.json()["judgment_id"] for one in answers] == [f"j{n}" for n in range(40)]
    for one in answers:
        assert one.json()["status"] == "assessed" or all(a["score"] or a["failure"] for a in one.json()["agents"])
    upstream = [kind for kind in server.injected if kind in HTTP_FAULTS]
    assert len(upstream) > 10
    assert metric(client, "metajudge_model_calls_total") == server.count
    assert metric(client, "metajudge_model_replies_total") == server.count - len(upstream)
    for kind, fault in [
        ("rate_limited", "429"),
        ("server_error", "500"),
        ("overloaded", "503"),
        ("connection", "drop"),
    ]:
        assert metric(client, "metajudge_model_failures_total", kind=kind) == server.injected.count(fault)
    assert metric(client, "metajudge_assessments_total") == 40
    assert metric(client, "metajudge_requests_total", route="/v1/vet", status=200) == 40
    costs = [one.json()["cost_usd"] for one in answers]
    spent, counted = sum(one for one in costs if one is not None), metric(client, "metajudge_cost_usd_total")
    assert None in costs, "whether a call whose connection broke was billed is not known"
    used = [one.json()["usage"] for one in answers]
    assert spent < counted, "their known part counts"
    assert counted == pytest.approx(sum(one["input_tokens"] + one["output_tokens"] for one in used) * 1e-6)


def test_calls_that_a_vanished_caller_had_caused_are_counted_too(serve, models):
    server = models(latency_s=0.4)
    client = serve(panels=panels(server))
    with pytest.raises(httpx2.TimeoutException):
        client.post("/v1/vet", json=record(), timeout=0.2)
    reached(client, "metajudge_in_flight", 0)
    assert server.count == 2
    assert metric(client, "metajudge_model_calls_total") == 2


class TestOverload:
    @pytest.mark.slow
    def test_what_there_is_no_place_for_is_refused_with_retry_after(self, serve, models):
        server = models(latency_s=2)
        client = serve(panels=panels(server), limits=options.Limits(in_flight=2))
        found = []
        threads = in_background(*(lambda n=n: found.append(client.post("/v1/vet", json=record(n))) for n in range(2)))
        reached(client, "metajudge_in_flight", 2)
        refused = [
            client.post(path, json=record(9)) for path in ("/v1/vet", "/v1/vet/stream", "/v1/judge", "/v1/cases")
        ]
        for thread in threads:
            thread.join()
        assert [one.status_code for one in found] == [200, 200]
        assert [one.status_code for one in refused] == [503] * 4
        assert {one.headers["retry-after"] for one in refused} == {"1"}
        assert {one.headers["content-type"] for one in refused} == {"application/problem+json"}
        assert metric(client, "metajudge_in_flight") == 0

    @pytest.mark.slow
    def test_large_bodies_together_are_bounded(self, serve, models):
        server = models(latency_s=1)
        client = serve(panels=panels(server), limits=options.Limits(held_bytes=150_000))
        big = {**record(), "rationale": "x" * 100_000}
        threads = in_background(lambda: client.post("/v1/vet", json=big))
        reached(client, "metajudge_in_flight", 1)
        refused = client.post("/v1/vet", json={**big, "id": "other"})
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert client.get("/v1/rubrics").status_code == 200
        for thread in threads:
            thread.join()
        assert client.post("/v1/vet", json={**big, "id": "third"}).status_code == 200

    @pytest.mark.slow
    def test_too_many_open_requests(self, serve, models):
        server = models(latency_s=2)
        client = serve(panels=panels(server), limits=options.Limits(connections=2))
        url = f"{client.base_url}"
        threads = in_background(*(lambda n=n: httpx2.post(f"{url}/v1/vet", json=record(n)) for n in range(2)))
        time.sleep(0.7)
        answer = httpx2.get(f"{url}/healthz")
        assert (answer.status_code, answer.json()["status"]) == (503, 503)
        assert answer.headers["retry-after"] == "1"
        for thread in threads:
            thread.join()


class TestVanishedCallers:
    @pytest.mark.parametrize("path", ["/v1/vet", "/v1/judge", "/v1/clash"])
    def test_the_work_ends_with_them(self, serve, models, path):
        server = models(latency_s=5)
        client = serve(panels=panels(server))
        body = record() if path == "/v1/vet" else {"item": record()["item"]}
        with pytest.raises(httpx2.TimeoutException):
            client.post(path, json=body, timeout=0.5)
        reached(client, "metajudge_in_flight", 0, within=3)
        assert metric(client, "metajudge_requests_total", route=path, status=499) == 1

    def test_a_stream_s_work_ends_with_them(self, serve, models):
        server = models(latency_s=5)
        client = serve(panels=panels(server))
        with client.stream("POST", "/v1/vet/stream", json=record()) as answer:
            assert answer.status_code == 200
            assert metric(client, "metajudge_in_flight") == 1
        reached(client, "metajudge_in_flight", 0, within=3)

    def test_in_the_middle_of_a_body(self, serve):
        client = serve()
        with connected(client) as one:
            one.sendall(b"POST /v1/vet HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{")
        assert client.get("/healthz").status_code == 200

    def test_in_the_middle_of_an_upload_no_file_is_left(self, uploads, serve, tmp_path):
        client = serve(store=tmp_path / "s.duckdb")
        with connected(client) as one:
            one.sendall(UPLOAD + b"content-length: 100000\r\n\r\n{}\n")
            until(uploads)
        until(lambda: not uploads(), "the upload is still there", within=5)
        assert client.get("/healthz").status_code == 200


def test_an_answer_that_takes_too_long_is_504(serve, models):
    server = models(latency_s=5)
    client = serve(panels=panels(server), limits=options.Limits(request_s=0.3))
    answer = client.post("/v1/vet", json=record())
    assert answer.status_code == 504
    assert metric(client, "metajudge_in_flight") == 0
    streamed = client.post("/v1/vet/stream", json=record()).text
    assert "event: error" in streamed
    assert '"status":504' in streamed.replace(" ", "")
    assert "request_id" in streamed
    assert metric(client, "metajudge_in_flight") == 0


def received(one):
    """All that comes until the connection is closed."""
    one.settimeout(10)
    found = b""
    with contextlib.suppress(ConnectionError):
        while chunk := one.recv(65536):
            found += chunk
    return found


class TestSlowCallers:
    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            (b"POST /v1/vet HTTP/1.1\r\nhost: 127.0.0.1\r\n" + HALF_BODY, 408),
            (b"POST /v1/vet/batch HTTP/1.1\r\nhost: 127.0.0.1\r\n" + HALF_BODY, 408),
            (b"GET /healthz HTTP/1.1\r\nx-long: " + b"x" * 200_000, 431),
            (b"hello, is this a service?\r\n\r\n", 400),
        ],
    )
    def test_what_is_no_whole_request_is_a_problem_and_the_connection_is_closed(self, serve, sent, status):
        with connected(serve(limits=options.Limits(body_s=0.3))) as one:
            one.sendall(sent)
            answer = received(one)
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"application/problem+json" in answer

    @pytest.mark.parametrize(
        ("limits", "head", "piece"),
        [
            pytest.param({"body_s": 5, "upload_s": 0.6}, UPLOAD + b"content-length: 1000\r\n\r\n", b" ", id="upload"),
            pytest.param({"head_s": 0.4}, b"POST /v1/vet HTTP/1.1\r\nx-slow: ", b"x", id="head"),
        ],
    )
    def test_what_trickles_is_408_and_leaves_nothing(self, uploads, serve, tmp_path, limits, head, piece):
        client = serve(limits=options.Limits(**limits), store=tmp_path / "s.duckdb")
        with connected(client) as slow:
            slow.sendall(head)
            slow.settimeout(0.1)
            deadline, answer = time.monotonic() + 5, b""
            while not answer and time.monotonic() < deadline:
                slow.sendall(piece)
                with contextlib.suppress(TimeoutError):
                    answer = slow.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert not uploads()
        assert client.get("/healthz").status_code == 200

    def test_a_connection_that_says_nothing_is_closed(self, serve):
        client = serve(limits=options.Limits(head_s=0.3))
        with connected(client) as silent:
            assert received(silent) == b""

    def test_a_second_head_that_does_not_arrive_is_408_too(self, serve):
        client = serve(limits=options.Limits(head_s=0.4))
        with connected(client) as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            assert slow.recv(4096).startswith(b"HTTP/1.1 200 ")
            slow.sendall(b"GET /hea")
            assert received(slow).startswith(b"HTTP/1.1 408 ")

    @pytest.mark.parametrize("pieces", [1, 3, 5000])
    def test_a_long_head_is_431_however_it_arrives_and_a_long_body_is_none(self, serve, pieces):
        client = serve()

        def status(content):
            size = -(-len(content) // pieces)
            with connected(client) as one:
                with contextlib.suppress(ConnectionError):
                    for start in range(0, len(content), size):
                        one.sendall(content[start : start + size])
                return received(one)[:12]

        line = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        assert status(line + b"x-filler: " + b"a" * 70_000 + b"\r\n\r\n") == b"HTTP/1.1 431"
        assert status(line + b"content-length: 70000\r\n\r\n" + b"a" * 70_000) == b"HTTP/1.1 200"


class TestLargeBodies:
    SIZE = 100_000_000

    def send(self, client, head, chunks):
        """Sends until refused; the answer, and how much had been sent."""
        with connected(client) as one:
            one.sendall(head)
            one.settimeout(10)
            sent = 0
            with contextlib.suppress(OSError):
                for chunk in chunks:
                    one.sendall(chunk)
                    sent += len(chunk)
            return received(one), sent

    @pytest.mark.parametrize("path", [b"/v1/vet", b"/v1/vet/batch", b"/v1/rank", b"/nowhere"])
    def test_a_hundred_megabytes_by_their_length(self, serve, path):
        client = serve(limits=options.Limits(upload_bytes=50_000_000))
        head = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        answer, sent = self.send(client, head % (path, self.SIZE), (b"x" * 100_000 for _ in range(1000)))
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"application/problem+json" in answer
        assert sent < 20_000_000

    @pytest.mark.parametrize("path", [b"/v1/vet", b"/v1/vet/batch"])
    def test_a_hundred_megabytes_in_chunks(self, uploads, serve, path, tmp_path):
        client = serve(limits=options.Limits(upload_bytes=1_000_000), max_body_bytes=500_000, store=tmp_path / "s.db")
        head = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        chunk = b"%x\r\n%b\r\n" % (100_000, b"x" * 100_000)
        answer, sent = self.send(client, head % path, (chunk for _ in range(1000)))
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert sent < 20_000_000
        assert not uploads()
        assert client.get("/healthz").status_code == 200

    def test_a_client_that_is_still_sending_gets_the_answer(self, serve):
        client = serve(max_body_bytes=1_000_000)
        answer = client.post("/v1/vet", content=b"x" * 3_000_000)
        assert answer.status_code == 413
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
