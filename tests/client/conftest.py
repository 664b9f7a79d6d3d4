"""A service for the clients to ask."""

import importlib

import pytest

from metajudge.panels.config import panel_config
from tests.api.conftest import running
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

app_module = importlib.import_module("metajudge.api.app")

KEY = "k" * 32


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
