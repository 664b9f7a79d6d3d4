"""What adapters share: an engine open while it is used, or a service asked."""

import asyncio
import pickle
from typing import Any

import pytest

from metajudge.adapters.datasets import COLUMNS, vetted
from metajudge.adapters.vetting import Vetting
from metajudge.client import ServiceError
from metajudge.errors import ConfigurationError, InputError
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


# Functions for a dataset's map and filter, called as ``datasets`` calls them: with a batch of columns.
MAP = "question=prompt,responses.A=x,responses.B=y,verdict=winner,rationale=why"


def batch(**changes: Any) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "prompt": ["2 + 2?", "3 + 3?", "4 + 4?"],
        "x": ["4", "6", "8"],
        "y": ["5", "7", "9"],
        "winner": [1, 2, None],
        "why": ["Sum.", "Sum.", ""],
    }
    return {**columns, **changes}


def test_a_row_that_cannot_be_read_keeps_its_place_and_meaningless_verdicts_say_what_to_give() -> None:
    found = vetted(MAP, judge="gpt", values={1: "A", 2: "B"}, prefix="m_")(batch(prompt=["2 + 2?", None, "4 + 4?"]))
    assert found["m_decision"][1] is None
    assert found["m_reason"][1] == "not read: question: column 'prompt' is empty"
    assert found["m_decision"][0] is not None
    with pytest.raises(InputError, match="values=") as caught:
        vetted(MAP, judge="gpt")(batch())
    assert "--map" not in str(caught.value)


def test_equal_rows_are_one_judgment_and_the_function_can_be_sent_to_another_process() -> None:
    same = {name: [cells[0]] * 2 for name, cells in batch().items()}
    found = vetted(MAP, judge="gpt", values={1: "A"})(same)
    assert found["metajudge_reason"][0] == found["metajudge_reason"][1]
    assert vetted(MAP, judge="gpt")({name: [] for name in same}) == {f"metajudge_{name}": [] for name in COLUMNS}
    function = vetted(MAP, judge="gpt", values={1: "A", 2: "B"})
    assert pickle.loads(pickle.dumps(function))(batch()) == function(batch())
