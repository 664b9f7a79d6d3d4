"""A real service on a real socket, and models behind it that outlive it."""

import contextlib
import importlib

import httpx2
import pytest

from metajudge.panels.config import panel_config
from metajudge.types.location import PostgresUrl
from tests.api.nouns import KEY
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.quick_server import serving

app_module = importlib.import_module("metajudge.api.app")
server_module = importlib.import_module("metajudge.api.server")


@contextlib.contextmanager
def running(options):
    """Serves on a free port in a thread, as ``metajudge serve`` does; hands out a client."""
    app = app_module.create_app(options)
    server = server_module.graceful_server(server_module.server_config(app, options, "127.0.0.1", 0), app)
    with serving(server) as url, httpx2.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.fixture
def models():
    """Starts a server of models with the given options; it goes away after the services that ask it."""
    with contextlib.ExitStack() as stack:
        yield lambda *given, **options: stack.enter_context(LLMServer(*given, **options))


@pytest.fixture
def serve(models):
    """Starts a service with the given options and hands out a client for it."""
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(app_module.ServiceOptions(**options)))


def _stored(kind, folder):
    if kind == "file":
        yield folder / "s.db"
        return
    with stores_on_postgres() as make:
        yield PostgresUrl(make())


@pytest.fixture(params=["file", "postgres"])
def location(request, tmp_path):
    """Where a store is that processes share."""
    yield from _stored(request.param, tmp_path)


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request, tmp_path):
    """Named before ``serve`` in the tests, so that the service ends before its schema is dropped."""
    yield from _stored(request.param, tmp_path)


def panel_of(server, names="ab", **options):
    """A panel of agents that ask a server of models; tokens have a price."""
    agents = [{"name": n, "model": f"openai:{n}@{server.url}", "price": {"input": 1, "output": 1}} for n in names]
    return panel_config({"agents": agents, "rubric": "baseline", **options})


KEYS = importlib.import_module("metajudge.api.keys")


@pytest.fixture(scope="module")
def models_server():
    with LLMServer(answer=score_answer(5)) as server:
        yield server


@pytest.fixture(scope="module")
def client(models_server, tmp_path_factory):
    """A service with a store, a key called ci that may do everything, and panels of one and of two agents.

    All tests of a file share it, so each makes records of its own.
    """
    options = app_module.ServiceOptions(
        panels={"one": panel_of(models_server, "a"), "two": panel_of(models_server)},
        store=tmp_path_factory.mktemp("s") / "s.duckdb",
        keys=(KEYS.ApiKey("ci", KEYS.hashed(KEY)),),
    )
    with running(options) as one:
        one.headers["authorization"] = f"Bearer {KEY}"
        yield one
