"""One small call to each agent: what works is said, and what does not."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig, with_flags
from metajudge.vetting.agent_check import check_agents
from tests.doubles.llm_server import LLMServer, score_answer


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def test_each_agent_is_asked_alone_and_reports_for_itself():
    with LLMServer(answer=score_answer(5)) as server:
        agents = [f"a=openai:gpt-4o-mini@{server.url}", f"b=openai:no-such-price@{server.url}"]
        first, second = await check_agents(with_flags(PanelConfig(), agents))
    assert server.count == 2
    assert (first.answer.agent, first.ok, first.price_known) == ("a", True, True)
    assert (second.answer.agent, second.ok, second.price_known) == ("b", True, False)
    assert server.url in first.to_json()["endpoint"]


async def test_an_agent_that_cannot_be_reached_is_a_result_and_no_error():
    config = with_flags(PanelConfig(), ["openai:gpt-4o-mini@http://127.0.0.1:9"])
    config = config.model_copy(update={"retry": config.retry.model_copy(update={"attempts": 1})})
    (found,) = await check_agents(config)
    assert not found.ok
    assert found.to_json()["failure"]["kind"] == "connection"


async def test_without_agents_there_is_nothing_to_check():
    with pytest.raises(ConfigurationError, match="nothing to check"):
        await check_agents(PanelConfig())
