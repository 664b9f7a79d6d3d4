"""What surrounds the routes: health, limits, keys, errors, the document."""

import importlib

import pytest

from metajudge import __version__
from metajudge.errors import ConfigurationError
from tests.doubles.judgments import judgment

server = importlib.import_module("metajudge.api.server")
KEY = "k" * 32


def record():
    return judgment().model_dump(mode="json")


def test_health_and_version(serve):
    client = serve(api_key=KEY)
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/version").json() == {"name": "metajudge", "version": __version__}


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nope", 404), ("GET", "/v1/vet", 405), ("DELETE", "/healthz", 405)]
)
def test_routing_errors_are_problem_details_too(serve, method, path, status):
    response = serve().request(method, path)
    assert response.status_code == response.json()["status"] == status
    assert response.headers["content-type"] == "application/problem+json"


class TestKeys:
    def test_no_key(self, serve):
        response = serve(api_key=KEY).post("/v1/vet", json=record())
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert response.headers["content-type"] == "application/problem+json"

    @pytest.mark.parametrize(
        "headers", [{"authorization": "Bearer wrong"}, {"x-api-key": KEY + "x"}, {"x-api-key": "ü"}]
    )
    def test_wrong_key(self, serve, headers):
        headers = {name: value.encode() for name, value in headers.items()}
        assert serve(api_key=KEY).post("/v1/vet", json=record(), headers=headers).status_code == 401

    @pytest.mark.parametrize("headers", [{"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}])
    def test_right_key(self, serve, headers):
        assert serve(api_key=KEY).post("/v1/vet", json=record(), headers=headers).status_code == 200

    def test_away_from_loopback_a_key_is_demanded(self):
        with pytest.raises(ConfigurationError, match="set METAJUDGE_API_KEY"):
            server.checked_key(None, "0.0.0.0")
        assert server.checked_key(None, "127.0.0.1") is None
        assert server.checked_key(None, "::1") is None
        assert server.checked_key(KEY, "0.0.0.0") == KEY

    @pytest.mark.parametrize("key", ["changeme", "Secret", "short"])
    def test_a_key_anybody_could_guess_is_refused(self, key):
        with pytest.raises(ConfigurationError, match="placeholder or shorter"):
            server.checked_key(key, "127.0.0.1")

    @pytest.mark.parametrize("host", ["example.org", "192.168.0.1", "0.0.0.0", "::", "localhost.example.org"])
    def test_what_is_not_loopback(self, host):
        assert not server.is_loopback(host)


class TestBodyLimit:
    def test_a_declared_length_over_the_limit(self, serve):
        response = serve(max_body_bytes=1000).post("/v1/vet", json={**record(), "rationale": "x" * 2000})
        assert response.status_code == 413
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["x-request-id"] == response.json()["request_id"]

    def test_a_chunked_body_is_cut_off_as_soon_as_it_passes(self, serve):
        sent = 0

        def chunks():
            nonlocal sent
            for _ in range(10_000):
                sent += 10_000
                yield b"x" * 10_000

        client = serve(max_body_bytes=50_000)
        try:
            status = client.post("/v1/vet", content=chunks()).status_code
        except Exception:  # the connection may be closed before the client has sent everything
            status = 413
        assert status == 413
        assert sent < 100_000_000

    def test_a_body_within_the_limit_arrives_whole(self, serve):
        body = {**record(), "rationale": "x" * 300_000}
        assert serve(max_body_bytes=1_000_000).post("/v1/vet", json=body).status_code == 200


def test_the_document_has_examples_and_error_schemas(serve):
    document = serve().get("/openapi.json").json()
    operation = document["paths"]["/v1/vet"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["examples"]["judgment"]["value"]["verdict"]
    for status in ("401", "413", "422", "500", "503"):
        assert "application/problem+json" in operation["responses"][status]["content"]
    assert "Problem" in document["components"]["schemas"]


def test_documented_examples_are_accepted(serve):
    client = serve()
    examples = client.get("/openapi.json").json()["paths"]["/v1/vet"]["post"]["requestBody"]["content"][
        "application/json"
    ]["examples"]
    for example in examples.values():
        assert client.post("/v1/vet", json=example["value"]).status_code == 200


def test_a_defect_is_a_500_without_its_details(serve, monkeypatch):
    panels = importlib.import_module("metajudge.api.panels")

    async def broken(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(panels.Panels, "vet", broken)
    response = serve().post("/v1/vet", json=record())
    assert response.status_code == 500
    assert "secret detail" not in response.text
    assert response.headers["content-type"] == "application/problem+json"
