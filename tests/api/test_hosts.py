"""Hosts and origins: DNS rebinding, pages of other sites, and the names an operator allows."""

import importlib
import json
import socket

import pytest
from starlette.exceptions import HTTPException

from metajudge.errors import ConfigurationError
from tests.api.conftest import app_module, running
from tests.api.nouns import KEY, record

hosts = importlib.import_module("metajudge.api.hosts")
EVIL = "evil.example"
EVERYWHERE = (
    "/v1/assessments /v1/reviews /v1/jobs /v1/nothing /assessments /reviews /login /docs /openapi.json /metrics"
)
EVERYWHERE += " /readyz /version /static/style.css /nothing"


@pytest.fixture(scope="module")
def keyless(tmp_path_factory):
    with running(app_module.ServiceOptions(store=tmp_path_factory.mktemp("s") / "s.duckdb")) as client:
        yield client


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A service with a key that answers as judge.example.org alone, beside this machine's names."""
    path = tmp_path_factory.mktemp("s") / "s.duckdb"
    options = app_module.ServiceOptions(api_key=KEY, store=path, allowed_hosts=("judge.example.org",))
    with running(options) as client:
        client.headers["x-api-key"] = KEY
        yield client


def raw(client, head):
    """Sends bytes as they are; the answer's first line."""
    with socket.create_connection((client.base_url.host, client.base_url.port), 10) as one:
        one.sendall(head.encode() + b"\r\n\r\n")
        return one.recv(65536).partition(b"\r\n")[0].decode()


class TestRebinding:
    """A page of evil.example whose name was made to point at this machine."""

    @pytest.mark.parametrize("path", EVERYWHERE.split())
    def test_a_foreign_name_reads_nothing_without_a_key(self, keyless, path):
        for host in (EVIL, f"{EVIL}:{keyless.base_url.port}", EVIL.upper(), f"{EVIL}.", f"127.0.0.1.{EVIL}"):
            answer = keyless.get(path, headers={"host": host})
            assert answer.status_code == 403, host
            assert "accepts only loopback names" in answer.text.replace("&#39;", "'")

    def test_a_foreign_name_with_its_own_origin_vets_nothing(self, keyless):
        host = f"{EVIL}:{keyless.base_url.port}"
        answer = keyless.post("/v1/vet", json=record(), headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"
        put = keyless.put("/v1/policies/mine", json={}, headers={"host": host, "origin": f"http://{host}"})
        assert put.status_code == 403

    @pytest.mark.parametrize("name", ["x-forwarded-host", "forwarded", "x-host", "x-original-host"])
    def test_no_other_header_stands_for_the_host(self, keyless, name):
        value = "host=127.0.0.1" if name == "forwarded" else "127.0.0.1"
        assert keyless.get("/v1/assessments", headers={"host": EVIL, name: value}).status_code == 403
        value = value.replace("127.0.0.1", EVIL)
        assert keyless.get("/v1/assessments", headers={name: value}).status_code == 200

    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "127.0.0.1:1", "LOCALHOST", "localhost.", "Localhost.:8080", "[::1]", "[::1]:99", "[0:0::1]"],
    )
    def test_this_machine_s_own_names_are_answered(self, keyless, host):
        assert keyless.get("/v1/assessments", headers={"host": host}).status_code == 200
        assert keyless.get("/reviews", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize(
        "host",
        [
            *("", "192.168.1.5", "0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "2130706433", "localhost.evil.example", "::1"),
            *("user@127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1 ", "[127.0.0.1", "localhost:"),
            *("127.0.0.1/x", "local\u0127ost".encode().decode("latin-1"), "localhost..", ".localhost"),
        ],
    )
    def test_any_other_spelling_is_refused(self, host):
        with pytest.raises(HTTPException) as refused:
            hosts.HostRule().check("GET", [(b"host", host.encode("latin-1"))])
        assert refused.value.status_code == 403

    def test_a_missing_host_is_refused(self, keyless):
        assert raw(keyless, "GET /v1/assessments HTTP/1.0").split()[1] in ("400", "403")
        with pytest.raises(HTTPException):
            hosts.HostRule().check("GET", [])

    def test_two_hosts_are_refused(self, keyless):
        head = f"GET /v1/assessments HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: {EVIL}"
        assert raw(keyless, head).split()[1] == "400"
        with pytest.raises(HTTPException) as refused:
            hosts.HostRule(keyed=True).check("GET", [(b"host", b"a"), (b"host", b"b")])
        assert refused.value.status_code == 400

    def test_liveness_alone_is_told_under_any_name_and_tells_nothing_else(self, keyless):
        assert keyless.get("/healthz", headers={"host": EVIL}).json() == {"status": "ok"}

    def test_people_get_a_page_and_programs_a_problem(self, keyless):
        page = keyless.get("/reviews", headers={"host": EVIL})
        assert page.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert 'name="csrf"' not in page.text
        assert "set-cookie" not in page.headers
        assert json.loads(keyless.get("/v1/reviews", headers={"host": EVIL}).text)["status"] == 403


class TestOrigins:
    @pytest.mark.parametrize(
        "origin",
        [
            *("http://evil.example", "https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "x"),
            *("http://127.0.0.1:{port}/x", "https://127.0.0.1:{port}@evil.example", "file://127.0.0.1:{port}"),
            "http://[::1",
        ],
    )
    def test_another_site_s_page_changes_nothing_without_a_key(self, keyless, origin):
        headers = {"origin": origin.format(port=keyless.base_url.port)}
        assert keyless.post("/v1/feedback/proposals", headers=headers).status_code == 403

    @pytest.mark.parametrize("origin", ["http://evil.example", "null"])
    def test_another_site_s_page_changes_nothing_with_a_key_either(self, named, origin):
        assert named.post("/v1/vet", json=record(), headers={"origin": origin}).status_code == 403

    def test_an_own_page_may(self, keyless):
        own = f"{keyless.base_url}".rstrip("/")
        assert keyless.post("/v1/vet", json=record(), headers={"origin": own}).status_code == 200
        withheld = {"origin": "null", "sec-fetch-site": "same-origin"}
        assert keyless.post("/v1/vet", json=record(), headers=withheld).status_code == 200

    def test_a_default_port_may_be_left_out(self):
        rule = hosts.HostRule(keyed=True)
        https, http = "https://a.example", "http://a.example"
        same = [("a.example", https), ("a.example:443", https), ("a.example", f"{http}:80"), ("A.example.", http)]
        for host, origin in same:
            rule.check("POST", [(b"host", host.encode()), (b"origin", origin.encode())])
        with pytest.raises(HTTPException):
            rule.check("POST", [(b"host", b"a.example:8080"), (b"origin", https.encode())])

    def test_a_site_that_cors_names_may(self):
        rule = hosts.HostRule(keyed=True, sites=("https://tools.example",))
        rule.check("POST", [(b"host", b"a"), (b"origin", b"https://tools.example")])


class TestAllowedHosts:
    @pytest.mark.parametrize("host", ["judge.example.org", "JUDGE.example.org.:8443", "127.0.0.1", "localhost:1"])
    def test_a_named_host_and_loopback_are_answered(self, named, host):
        assert named.get("/v1/assessments", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize("host", [EVIL, "example.org", "x.judge.example.org", "judge.example.org.evil.example"])
    def test_others_are_refused_with_the_right_key_too(self, named, host):
        for path in ("/v1/assessments", "/login"):
            answer = named.get(path, headers={"host": host})
            assert answer.status_code == 403
            assert "allowed_hosts" in answer.text

    def test_with_keys_and_no_names_any_host_is_answered(self, serve, tmp_path):
        client = serve(api_key=KEY, store=tmp_path / "s.duckdb")
        client.headers["x-api-key"] = KEY
        assert client.get("/v1/assessments", headers={"host": EVIL}).status_code == 200
        assert client.get("/login", headers={"host": "a:b:c"}).status_code == 400

    def test_without_keys_a_name_may_be_allowed(self, serve, tmp_path):
        client = serve(store=tmp_path / "s.duckdb", allowed_hosts=("judge.local",))
        assert client.get("/v1/assessments", headers={"host": "judge.local:8080"}).status_code == 200
        assert client.get("/v1/assessments", headers={"host": EVIL}).status_code == 403

    def test_behind_a_proxy_that_changes_the_host_its_name_is_an_origin(self, named):
        headers = {"origin": "https://judge.example.org"}
        assert named.post("/v1/vet", json=record(), headers=headers).status_code == 200
        assert named.post("/v1/vet", json=record(), headers={"origin": "https://x.example.org"}).status_code == 403
        headers = {"origin": "https://judge.example.org:8443"}
        assert named.post("/v1/vet", json=record(), headers=headers).status_code == 403, "another service of that host"

    @pytest.mark.parametrize("name", ["*", "*.example.org", "https://a.example", "a.example:80", "", "a/b", "a b"])
    def test_what_is_no_host_name_is_refused_at_the_start(self, name):
        with pytest.raises(ConfigurationError, match="is not a host name"):
            hosts.allowed_names([name], "--allowed-host")
