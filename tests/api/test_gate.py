"""Who may come in: keys, scopes, rates, other sites; decided before a body is read."""

import hmac
import importlib
import socket
import time

import pytest

from metajudge.errors import ConfigurationError, StoreError
from tests.api.conftest import app_module, running
from tests.api.nouns import record

keys = importlib.import_module("metajudge.api.keys")
KEY = "s" * 32
HEADERS = {"x-api-key": KEY}


def ring(*scopes, rate=None, name="ci", key=KEY):
    return keys.ApiKey(name, keys.hashed(key), frozenset(map(keys.Scope, scopes)), rate)


SCOPES_OF = {
    "vet": ["POST /v1/vet /v1/vet/stream /v1/vet/batch /v1/clash/batch /v1/cases/batch /v1/judge /v1/clash /v1/cases"],
    "vet read admin": [
        "GET /v1/jobs /v1/jobs/x /v1/jobs/x/events /v1/jobs/x/results",
        "POST /v1/rank /v1/peers /v1/audit",
    ],
    "vet admin": ["DELETE /v1/jobs/x"],
    "review": [
        "POST /v1/reviews/x/claim /v1/reviews/x/release /v1/reviews/x/decide /v1/reviews/x/amend /v1/reviews/x/comment",
        "POST /v1/reviews/x/assign /v1/reviews/decide",
        "GET /v1/reviews/progress",
    ],
    "read review admin": [
        "GET /v1/assessments /v1/assessments/x /v1/outcomes /v1/outcomes/events?follow=false /v1/reviews /v1/reviews/x",
        "GET /v1/feedback /v1/feedback/proposals /v1/feedback/activations /v1/monitor",
    ],
    "read admin": ["GET /v1/feedback/drafts /v1/feedback/drafts/x", "POST /v1/export/preferences"],
    "read vet admin": ["GET /v1/rubrics /v1/rubrics/short /v1/policies /v1/policies/verdict /v1/calibrations"],
    "admin": [
        "POST /v1/feedback/proposals /v1/feedback/proposals/x/backtest /v1/feedback/proposals/x/activate",
        "POST /v1/feedback/drafts /v1/feedback/drafts/x/rejudge /v1/feedback/drafts/x/activate",
        "PUT /v1/rubrics/mine /v1/policies/mine",
        "GET /v1/changes /v1/audit",
    ],
}
"""What a key may do that has one of the scopes: a method and its paths."""
OPERATIONS = [
    (method, path, scopes.split())
    for scopes, rows in SCOPES_OF.items()
    for method, *paths in map(str.split, rows)
    for path in paths
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service with one key for each scope."""
    every = [ring(scope, name=scope, key=scope * 8) for scope in keys.Scope]
    options = app_module.ServiceOptions(keys=tuple(every), store=tmp_path_factory.mktemp("s") / "s.db")
    with running(options) as one:
        yield one


class TestScopes:
    @pytest.mark.parametrize(("method", "path", "allowed"), OPERATIONS)
    def test_a_key_may_do_what_its_scopes_say_and_no_more(self, client, method, path, allowed):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}, {"x-api-key": ""}):
            unknown = client.request(method, path, headers=headers)
            assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, "Bearer")
        for scope in keys.Scope:
            answer = client.request(method, path, headers={"authorization": f"Bearer {scope * 8}"})
            if scope in allowed:
                assert answer.status_code not in (401, 403), f"{scope} may"
            else:
                assert answer.status_code == 403, f"{scope} may not"
                assert answer.headers["content-type"] == "application/problem+json"

    def test_the_list_above_is_the_whole_document(self, client):
        paths = client.get("/openapi.json").json()["paths"]
        told = {(method.upper(), path) for path, methods in paths.items() for method in methods if "/v1/" in path}
        tried = {(method, path.replace("/x", "/{}")) for method, path, _ in OPERATIONS}
        assert len(told) == len(tried)

    @pytest.mark.parametrize(("method", "path", "allowed"), OPERATIONS)
    def test_without_a_key_or_with_a_wrong_one_nothing_is_done(self, client, method, path, allowed):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}, {"x-api-key": ""}):
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["status"] == 401


class TestKeys:
    def test_the_right_key_alone_is_let_in(self, serve):
        client = serve(api_key=KEY)
        wrong = [{"authorization": b"Bearer wrong"}, {"x-api-key": (KEY + "x").encode()}, {"x-api-key": "ü".encode()}]
        for headers in (*wrong, {"authorization": f"bearer {KEY}"}, {"x-api-key": KEY}):
            status = client.post("/v1/vet", json=record(), headers=headers).status_code
            assert status == (401 if headers in wrong else 200), headers

    def test_a_stranger_s_body_is_not_waited_for(self, serve):
        client = serve(api_key=KEY)
        with socket.create_connection((client.base_url.host, client.base_url.port), 5) as one:
            one.sendall(b"POST /v1/vet HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{")
            assert one.recv(1000).startswith(b"HTTP/1.1 401 ")

    def test_every_key_is_compared_in_constant_time(self, monkeypatch):
        compared = []
        compare = hmac.compare_digest
        monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or compare(a, b))
        found = keys.KeyRing([ring("vet", name="a"), ring("vet", name="b", key="t" * 32)])
        assert found.caller(KEY).name == "a"
        assert len(compared) == 2, "the search stopped at the first that fits"
        assert all(KEY not in pair for pair in compared), "keys themselves are compared, not their hashes"

    def test_a_key_is_nowhere_but_its_hash(self):
        assert KEY not in repr(ring("vet"))
        assert keys.hashed(KEY) not in repr(ring("vet"))

    @pytest.mark.parametrize("names", [("a", "a"), ("anybody",)])
    def test_names_that_logs_could_not_tell_apart_are_refused(self, names):
        with pytest.raises(ConfigurationError, match="give each key a unique name"):
            keys.KeyRing([ring("vet", name=name) for name in names])

    def test_a_stranger_learns_nothing_from_a_bad_body(self, serve):
        answer = serve(api_key=KEY).post("/v1/vet", content=b"{", headers={"content-type": "application/json"})
        assert answer.status_code == 401


class TestRates:
    def test_a_key_that_asks_too_often_waits(self, serve):
        client = serve(keys=(ring("read", rate=2),))
        statuses = [client.get("/v1/rubrics", headers=HEADERS) for _ in range(3)]
        assert [one.status_code for one in statuses] == [200, 200, 429]
        assert int(statuses[-1].headers["retry-after"]) in (29, 30)
        assert statuses[-1].headers["content-type"] == "application/problem+json"
        assert client.get("/healthz").status_code == 200


class TestOtherSites:
    def test_cors_is_off(self, serve):
        client = serve()
        asked = {"origin": "https://tools.example", "access-control-request-method": "POST"}
        assert client.options("/v1/vet", headers=asked).status_code == 405
        assert "access-control-allow-origin" not in client.get("/v1/rubrics", headers=asked).headers

    def test_cors_for_the_sites_that_are_named(self, serve):
        client = serve(cors_origins=("https://tools.example",), api_key=KEY)
        asked = {"origin": "https://tools.example", "access-control-request-method": "POST"}
        allowed = client.options("/v1/vet", headers={**asked, "access-control-request-headers": "authorization"})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://tools.example"
        refused = client.options("/v1/vet", headers={**asked, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in refused.headers
        assert client.post("/v1/vet", json=record(), headers={"origin": "https://tools.example"}).status_code == 401


def test_every_answer_forbids_guessing_its_type(serve):
    client = serve()
    for path in ("/healthz", "/nowhere", "/v1/rubrics"):
        assert client.get(path).headers["x-content-type-options"] == "nosniff"


def test_a_made_up_method_is_no_label_of_its_own(serve):
    client = serve()
    for number in range(5):
        assert client.request(f"PURGE{number}" if number else "PROPFIND", "/healthz").status_code in (400, 405)
    time.sleep(0.05)
    assert 'method="PROPFIND"' not in client.get("/metrics").text
    assert 'method="(other)"' in client.get("/metrics").text


class TestMetrics:
    def test_with_keys_it_needs_one_that_may_read_unless_it_is_open(self, serve):
        client = serve(keys=(ring("read"), ring("vet", name="other", key="o" * 32)))
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"x-api-key": "o" * 32}).status_code == 403
        answer = client.get("/metrics", headers={"authorization": f"Bearer {KEY}"})
        assert "metajudge_cost_usd_total" in answer.text
        assert serve(keys=(ring("read"),), metrics="open").get("/metrics").status_code == 200
        assert serve().get("/metrics").status_code == 200, "without keys it is closed"

    def test_what_is_not_ready_is_told_to_callers_with_a_key_alone(self, serve, tmp_path, monkeypatch):
        store = importlib.import_module("metajudge.store.store").Store

        async def broken(*_):
            raise StoreError("the disk is full")

        client = serve(keys=(ring("vet"),), store=tmp_path / "s.db")
        monkeypatch.setattr(store, "runs", broken)
        told = client.get("/readyz", headers=HEADERS)
        untold = client.get("/readyz", headers={"x-api-key": "wrong"})
        assert (told.status_code, untold.status_code) == (503, 503)
        assert told.json()["checks"]["store"] == "the disk is full"
        assert untold.json()["checks"] == {"store": "not ok: send a key to see why", "providers": "ok"}


class TestUnknownAddresses:
    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("DELETE", "/v1/policies/x", "GET, PUT"),
            ("PUT", "/v1/jobs/x", "DELETE, GET"),
            ("GET", "/v1/vet", "POST"),
            ("PUT", "/v1/audit", "GET, POST"),
        ],
    )
    def test_a_refused_method_comes_with_all_that_the_path_has(self, serve, method, path, allowed):
        answer = serve().request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)

    def test_a_request_refused_before_it_is_routed_is_counted_under_its_route(self, serve):
        client = serve(keys=(ring("read"),))
        client.post("/v1/vet", json={})
        client.get("/v1/jobs/secret-name/results")
        time.sleep(0.05)
        text = client.get("/metrics", headers=HEADERS).text
        assert 'route="/v1/vet",status="401"' in text
        assert 'route="/v1/jobs/{job_id}/results",status="401"' in text
        assert "secret-name" not in text
