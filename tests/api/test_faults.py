"""Faults upstream, overload, slow and vanished callers: the right status, and nothing held."""

import importlib
import logging
import re
import socket
import threading
import time

import httpx2
import pytest

from metajudge.errors import ConfigurationError
from metajudge.panel_file import panel_config
from tests.api.service_process import process
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, random_faults, score_answer

options = importlib.import_module("metajudge.api.options")
config = importlib.import_module("metajudge.api.config")
keys = importlib.import_module("metajudge.api.keys")
server_module = importlib.import_module("metajudge.api.server")


HEADERS = {"x-api-key": "s" * 32}


def panel(server):
    agents = [{"name": n, "model": f"openai:{n}@{server.url}", "price": {"input": 1, "output": 1}} for n in "ab"]
    return {"default": panel_config({"agents": agents, "rubric": "baseline", "retry": {"attempts": 2, "total_s": 5}})}


def record(number=0):
    return judgment(id=f"j{number}", rationale=f"Reason {number}.").model_dump(mode="json")


def metric(client, name):
    found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.e+]+)$", client.get("/metrics").text, re.MULTILINE)
    return sum(map(float, found))


def test_faults_upstream_lose_no_item_and_the_metrics_are_the_server_s_counts(serve, tmp_path):
    kinds = ("429", "500", "503", "drop", "malformed_content", "refusal")
    with LLMServer(answer=score_answer(5), faults=random_faults(0.3, kinds)) as server:
        client = serve(panels=panel(server), store=tmp_path / "s.duckdb")
        answers = [client.post("/v1/vet", json=record(n)) for n in range(40)]
        sent, replies = metric(client, "metajudge_model_calls_total"), metric(client, "metajudge_model_replies_total")
        failures = metric(client, "metajudge_model_failures_total")
        assert {one.status_code for one in answers} == {200}
        assert [one.json()["judgment_id"] for one in answers] == [f"j{n}" for n in range(40)]
        assert all(one.json()["status"] == "assessed" or one.json()["agents"] for one in answers)
        assert sent == server.count
        upstream = sum(kind in ("429", "500", "503", "drop") for kind in server.injected)
        assert upstream > 10
        assert replies == server.count - upstream
        assert failures >= upstream
        assert metric(client, "metajudge_assessments_total") == 40


def test_overload_is_refused_with_retry_after(serve):
    with LLMServer(latency_s=0.6) as server:
        client = serve(panels=panel(server), limits=options.Limits(in_flight=2))
        found = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(client.post("/v1/vet", json=record(n)))) for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    statuses = sorted(one.status_code for one in found)
    assert statuses == [200, 200, 503, 503, 503, 503]
    assert all(one.headers["retry-after"] for one in found if one.status_code == 503)


def test_a_caller_who_goes_away_leaves_nothing_behind(serve):
    with LLMServer(latency_s=5) as server:
        client = serve(panels=panel(server))
        with pytest.raises(httpx2.TimeoutException):
            client.post("/v1/vet", json=record(), timeout=0.5)
        deadline = time.monotonic() + 3
        while metric(client, "metajudge_in_flight"):
            assert time.monotonic() < deadline, "the work goes on without a caller"
            time.sleep(0.05)


def test_an_answer_that_takes_too_long_is_504(serve):
    with LLMServer(latency_s=5) as server:
        client = serve(panels=panel(server), limits=options.Limits(request_s=0.3))
        answer = client.post("/v1/vet", json=record())
        assert answer.status_code == 504
        assert metric(client, "metajudge_in_flight") == 0


def test_a_body_that_does_not_arrive_is_408(serve):
    client = serve(limits=options.Limits(body_s=0.3))
    url = client.base_url
    with socket.create_connection((url.host, url.port), 5) as slow:
        slow.sendall(b"POST /v1/vet HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_a_head_that_does_not_arrive_closes_the_connection(tmp_path):
    (tmp_path / "service.toml").write_text("[service.limits]\nhead_s = 0.5\n")
    with process(tmp_path, "--config", "service.toml") as (_, client):
        url = client.base_url
        with socket.create_connection((url.host, url.port), 5) as slow:
            slow.sendall(b"POST /v1/vet HTTP/1.1\r\nx-slow: ")
            slow.settimeout(5)
            assert slow.recv(100) == b""
        assert client.get("/healthz").status_code == 200
    log = (tmp_path / "serve.log").read_text()
    assert '"route": "/healthz"' in log


class TestScopesAndRates:
    def ring(self, *scopes, rate=None):
        return (keys.ApiKey("ci", keys.hashed("s" * 32), frozenset(map(keys.Scope, scopes)), rate),)

    @pytest.mark.parametrize(
        ("scopes", "method", "path", "status"),
        [
            (["read"], "POST", "/v1/vet", 403),
            (["vet"], "GET", "/v1/reviews", 403),
            (["vet", "read", "review"], "PUT", "/v1/rubrics/mine", 403),
            (["vet"], "POST", "/v1/feedback/proposals/x/activate", 403),
            (["vet"], "GET", "/v1/rubrics", 200),
        ],
    )
    def test_a_key_may_do_what_its_scopes_say(self, serve, tmp_path, scopes, method, path, status):
        client = serve(keys=self.ring(*scopes), store=tmp_path / "s.duckdb")
        answer = client.request(method, path, headers=HEADERS, json=record() if method != "GET" else None)
        assert answer.status_code == status

    def test_a_key_that_asks_too_often_waits(self, serve):
        client = serve(keys=self.ring("read", rate=2))
        statuses = [client.get("/v1/rubrics", headers=HEADERS) for _ in range(3)]
        assert [one.status_code for one in statuses] == [200, 200, 429]
        assert int(statuses[-1].headers["retry-after"]) in (29, 30)


def test_the_log_holds_no_judged_text_and_no_key(serve, caplog):
    caplog.set_level(logging.INFO, "metajudge.api.access")
    serve(api_key="k" * 32).post("/v1/vet?secret=1", json=record(), headers={"x-api-key": "k" * 32})
    records = [one for one in caplog.records if one.name == "metajudge.api.access"]
    assert [(one.route, one.status, one.caller) for one in records] == [("/v1/vet", 200, "default")]
    text = " ".join(str(vars(one)) for one in records)
    assert "Reason 0" not in text
    assert "kkkk" not in text
    assert "secret" not in text


class TestServiceFile:
    def written(self, tmp_path, text):
        path = tmp_path / "service.toml"
        path.write_text(text)
        return path

    def test_paths_are_relative_to_it(self, tmp_path):
        path = self.written(tmp_path, '[service]\nstore = "a.duckdb"\n[service.limits]\nin_flight = 3\n')
        file, limits = config.load_service_file(path)
        assert file.store == tmp_path / "a.duckdb"
        assert limits.in_flight == 3

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[service]\nstroe = 1\n", "service.stroe"),
            ("[service.limits]\nin_flight = 0\n", "in_flight"),
            ('[[service.keys]]\nname = "a"\nsha256 = "b"\nscopes = ["vet"]\n', "sha256"),
            (f'[[service.keys]]\nname = "a"\nsha256 = "{keys.hashed("changeme")}"\nscopes = ["vet"]\n', "placeholder"),
            ("[service]\n[other]\n", "unknown tables other"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, text, said):
        with pytest.raises(ConfigurationError, match=said):
            config.load_service_file(self.written(tmp_path, text))

    def test_several_workers_are_refused(self):
        with pytest.raises(ConfigurationError, match="one process owns"):
            server_module.check_workers(2)

    def test_a_new_key_fits_the_file(self, tmp_path):
        key, lines = server_module.new_key_lines("ci", ["vet"])
        file, _ = config.load_service_file(self.written(tmp_path, lines))
        ring = keys.KeyRing([one.key() for one in file.keys])
        assert ring.caller(key).name == "ci"
        assert ring.caller(key + "x") is None
