"""What the service says of itself where something it needs is missing."""

import importlib

import pytest

from metajudge.errors import StoreError


def test_what_needs_a_store_says_so_where_there_is_none(serve):
    client = serve()
    for method, path in [
        ("GET", "/v1/assessments"),
        ("GET", "/v1/reviews"),
        ("GET", "/v1/policies"),
        ("GET", "/v1/changes"),
    ]:
        answer = client.request(method, path)
        assert (answer.status_code, "--store" in answer.json()["detail"]) == (503, True)


@pytest.mark.slow
def test_readiness_tells_of_a_store_that_does_not_answer(serve, monkeypatch, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")
    store_class = importlib.import_module("metajudge.store.duckdb_store").DuckDBStore

    async def broken(*_):
        raise StoreError("the disk is full")

    monkeypatch.setattr(store_class, "runs", broken)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "checks": {"store": "the disk is full", "providers": "ok"}}


def test_readiness_tells_of_a_provider_without_a_key(serve, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert serve().get("/readyz").status_code == 200
