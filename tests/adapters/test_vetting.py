"""What adapters share: an engine open while it is used, or a service asked."""

import asyncio

import pytest

from metajudge.adapters.vetting import Vetting
from metajudge.client import ServiceError
from metajudge.errors import ConfigurationError
from metajudge.providers.scripted import ScriptedModel
from metajudge.store import open_store
from tests.api.service_process import process
from tests.doubles.judgments import judgment, reply
from tests.doubles.llm_server import LLMServer

KEY = "k1-Vd8fJ2mQ7xW3pZ6r"


def model(score=5):
    return ScriptedModel(lambda _request: reply(score), name="meta")


async def test_judgments_under_way_share_an_engine_and_the_store_is_let_go(tmp_path):
    vetting = Vetting([model()], store=tmp_path / "store.duckdb")
    found = await asyncio.gather(*(vetting.vet(judgment(f"j{n}")) for n in range(5)))
    assert all(one.accepted for one in found)
    store = await open_store(tmp_path / "store.duckdb")  # nobody holds it
    assert len(await store.runs()) == 1
    await store.close()


async def test_a_failure_lets_the_store_go_too(tmp_path):
    vetting = Vetting([ScriptedModel([])], store=tmp_path / "store.duckdb")
    with pytest.raises(ConfigurationError, match="has only 0 answers"):
        await vetting.vet(judgment())
    await (await open_store(tmp_path / "store.duckdb")).close()


def test_one_vetting_serves_several_event_loops():
    vetting = Vetting([model()])
    assert asyncio.run(vetting.vet(judgment("a"))).accepted
    assert asyncio.run(vetting.vet(judgment("b"))).accepted


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agent": ["openai:a"]}, "has no option agent"),
        ({"agents": ["openai:a"], "service": "http://localhost:1"}, "a service has its own agents"),
        ({"service": "http://localhost:1", "threshold": 4}, "has no option threshold"),
        ({"service": "http://localhost:1", "service_key": "mj_1"}, "has no option service_key"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options, said):
    with pytest.raises(ConfigurationError, match=said):
        Vetting(**options)


@pytest.mark.slow
async def test_a_real_service_vets_with_the_key_of_the_environment(tmp_path, monkeypatch):
    with LLMServer() as server:
        agent = f"openai:gpt-4o-mini@{server.url}"
        with process(tmp_path, "--agent", agent, env={"METAJUDGE_API_KEY": KEY}) as (_, client):
            vetting = Vetting(service=str(client.base_url), rubric="short")
            monkeypatch.setenv("METAJUDGE_API_KEY", KEY)
            assert (await vetting.vet(judgment())).accepted
            monkeypatch.setenv("METAJUDGE_API_KEY", KEY[::-1])
            with pytest.raises(ServiceError, match="401"):
                await vetting.vet(judgment())
