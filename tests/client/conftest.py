"""A service for the clients to ask."""

import importlib

import pytest

from tests.api.conftest import panel_of, running
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

app_module = importlib.import_module("metajudge.api.app")

KEY = "k" * 32


@pytest.fixture
def service(tmp_path):
    """The URL of a service with a panel of two agents, a store and a key; and the models' server."""
    with LLMServer(answer=score_answer(5)) as server:
        panels = {"default": panel_of(server), "one": panel_of(server, "a")}
        options = app_module.ServiceOptions(panels=panels, store=tmp_path / "s.duckdb", api_key=KEY)
        with running(options) as plain:
            yield str(plain.base_url), server


def records(count):
    return [judgment(id=f"j{n}", rationale=f"Reason {n}.") for n in range(count)]
