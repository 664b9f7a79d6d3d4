"""The measurement of outcomes in a large store, on a small one."""

import importlib
import os

import pytest

script = importlib.import_module("metajudge.benchmarks.outcome_events")


@pytest.mark.slow
@pytest.mark.parametrize("server", [None, os.environ.get("METAJUDGE_TEST_POSTGRES")], ids=["duckdb", "postgres"])
async def test_every_decision_of_the_made_store_becomes_an_outcome_and_each_step_is_measured(server, request):
    if server is None and "postgres" in request.node.name:
        pytest.skip("METAJUDGE_TEST_POSTGRES is not set")
    with script._place(server) as location:
        found = await script.measure(location, 30)
    assert found["first"]["decisions"] == 30
    assert found["database"] == ("DuckDB" if server is None else "PostgreSQL")
    for step in ("first", "event", "idle", "page", "counts", "start"):
        assert found[step]["wall_s"] >= 0
