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


async def test_each_agent_is_asked_alone_an_unreachable_one_is_a_result_and_none_is_an_error():
    with LLMServer(answer=score_answer(5)) as server:
        agents = [f"a=openai:gpt-4o-mini@{server.url}", f"b=openai:no-such-price@{server.url}"]
        first, second = await check_agents(with_flags(PanelConfig(), agents))
    assert server.count == 2
    assert (first.answer.agent, first.ok, first.price_known) == ("a", True, True)
    assert (second.answer.agent, second.ok, second.price_known) == ("b", True, False)
    assert server.url in first.to_json()["endpoint"]
    config = with_flags(PanelConfig(), ["openai:gpt-4o-mini@http://127.0.0.1:9"])
    config = config.model_copy(update={"retry": config.retry.model_copy(update={"attempts": 1})})
    (found,) = await check_agents(config)
    assert not found.ok
    assert found.to_json()["failure"]["kind"] == "connection"
    with pytest.raises(ConfigurationError, match="nothing to check"):
        await check_agents(PanelConfig())
