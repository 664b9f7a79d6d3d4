"""A service that watches a system: what arrives is vetted, put back, visible, and goes on after a restart."""

import asyncio
import importlib
import time

import pytest

from metajudge.errors import ConfigurationError
from metajudge.types.location import store_location
from tests.api.conftest import app_module, panel_of, running
from tests.doubles.hosted_systems import LangfuseServer
from tests.doubles.llm_server import score_answer
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.verdict_systems import MLflowServer

config = importlib.import_module("metajudge.api.config")
watches_module = importlib.import_module("metajudge.api.watches")
tables = importlib.import_module("metajudge.api.watch_tables")
TABLE = {"every_s": 0.01, "items_per_minute": 1e6, "requests_per_second": 1e6, "since": "all", "push": True}


def table(server, system="mlflow", **more):
    return tables.WatchTable(**{"system": system, "url": server.url, "project": server.project, **TABLE, **more})


def until(client, met):
    """The state of the only watch once it is met."""
    deadline = time.monotonic() + 30
    while True:
        (state,) = client.get("/v1/watches").json()["watches"]
        if met(state):
            return state
        assert time.monotonic() < deadline, state
        time.sleep(0.01)


def options(tmp_path, *watches, **more):
    return app_module.ServiceOptions(store=tmp_path / "s.duckdb", watches=watches, **more)


@pytest.mark.slow
def test_what_arrives_is_asked_about_once_put_back_and_counted_over_restarts(tmp_path, models):
    llm = models(answer=score_answer(5))
    with MLflowServer() as server:
        given = options(tmp_path, table(server), panels={"default": panel_of(llm)})
        with running(given) as client:
            state = until(client, lambda one: one["rounds"] > 1)
            assert (state["vetted"], state["put"], state["error"]) == (3, 3, None)
            assert state["source"] == f"{server.url} (experiment interop)"
            assert state["spent_usd"] > 0
            text = client.get("/metrics").text
            assert 'metajudge_watch_vetted_total{watch="mlflow/interop"} 3.0' in text
            assert 'metajudge_watch_failing{watch="mlflow/interop"} 0.0' in text
        asked = len(llm.requests)
        ours = [one for trace in server.traces.values() for one in trace["assessments"][1:]]
        assert [one["source"]["source_type"] for one in ours] == ["LLM_JUDGE"] * 3
        with running(given) as client:
            again = until(client, lambda one: one["rounds"] > 1)
            assert (again["vetted"], again["put"], again["position"]) == (3, 3, state["position"])
            assert client.get("/v1/assessments").json()["assessments"]
        assert len(llm.requests) == asked


@pytest.mark.slow
def test_a_source_that_is_away_is_visible_and_stops_nothing_else(tmp_path):
    server = LangfuseServer()
    with server:
        server.faults = [(401, {}, "bad sk-lf-1")] * 1000
        with running(options(tmp_path, table(server, "langfuse"), environ=server.keys)) as client:
            state = until(client, lambda one: one["error"])
            assert "check the key" in state["error"]
            assert "sk-lf-1" not in client.get("/v1/watches").text
            assert 'metajudge_watch_failing{watch="langfuse"} 1.0' in client.get("/metrics").text
            assert client.get("/readyz").json()["ready"]
            server.faults.clear()
            assert until(client, lambda one: one["position"])["vetted"] == 3


@pytest.mark.slow
def test_of_replicas_one_watches_and_another_goes_on_when_it_leaves(models, tmp_path, monkeypatch):
    pytest.importorskip("psycopg_pool", reason="extra postgres is not installed")
    monkeypatch.setattr(watches_module, "LOCK_PAUSE_S", 0.05)
    with stores_on_postgres() as make, MLflowServer() as server:
        given = app_module.ServiceOptions(
            store=store_location(make()),
            state=tmp_path / "own",
            watches=(table(server),),
            panels={"default": panel_of(models())},
        )
        with running(given) as second:
            with running(given) as first:
                both = [first, second]
                until(first, lambda one: one["position"] or one["waits_for"])
                until(second, lambda one: one["position"] or one["waits_for"])
                states = [client.get("/v1/watches").json()["watches"][0] for client in both]
                assert sorted(str(one["waits_for"]) for one in states) == ["None", "replica"]
                position = next(one["position"] for one in states if one["waits_for"] is None)
            state = until(second, lambda one: one["rounds"] > 0 and one["waits_for"] is None)
            assert (state["position"], state["vetted"]) == (position, 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"system": "wandb"}, "service.watches.0: Value error, there is no system 'wandb'"),
        ({"system": "mlflow", "every_s": 0}, "service.watches.0.every_s"),
        ({"system": "mlflow", "token": "secret"}, "service.watches.0.token: Extra inputs"),
        ({"system": "mlflow", "link": "https://x"}, "link needs {judgment_id}"),
    ],
)
def test_a_table_that_is_wrong_says_where(tmp_path, given, said):
    lines = "\n".join(f"{name} = {value!r}" for name, value in given.items())
    path = tmp_path / "service.toml"
    path.write_text(f"[[service.watches]]\n{lines}\n")
    with pytest.raises(ConfigurationError) as raised:
        config.load_service_file(path)
    assert said in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"watches": ({"name": "x"}, {"name": "x"})}, "two are named 'x'"),
        ({"watches": ({},), "store": None}, "give the service a store"),
        ({"watches": ({"panel": "other"},)}, "unknown panel 'other'"),
        ({"watches": ({"since": "soon"},)}, "--since soon"),
        ({"watches": ({"url": "mlflow.example"},)}, "needs http:// or https://"),
    ],
)
def test_what_cannot_be_watched_stops_the_start(tmp_path, more, said):
    failures = []
    watches = tuple(tables.WatchTable(**{"system": "mlflow", **one}) for one in more["watches"])
    given = app_module.ServiceOptions(**{"store": tmp_path / "s.duckdb", **more, "watches": watches})
    app = app_module.create_app(given, failed=failures.append)

    async def start():
        async with app.router.lifespan_context(app):
            pass

    with pytest.raises(ConfigurationError):
        asyncio.run(start())
    assert said in str(failures[0])
