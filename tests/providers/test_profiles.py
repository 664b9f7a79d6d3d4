"""Every profile: a recorded request and a reply of the provider's documented shape, or the mark that it is untested."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from metajudge.panels.config import panel_config
from metajudge.providers.model import Message, ModelRequest, OutputSchema, Parameters
from metajudge.providers.prices import find_price
from metajudge.providers.protocols import PROTOCOLS
from metajudge.providers.spec import PROVIDERS, parse_agent_spec
from metajudge.providers.stack import Resources, build_model
from metajudge.types import Usage
from metajudge.vetting.agent_check import check_agents
from tests.doubles.model_requests import mocked

REPLIES = {file.stem: file for file in (Path(__file__).parent / "replies").glob("*.json")}
ENVIRONMENT = {
    "AWS_REGION": "eu-west-1",
    "AZURE_OPENAI_RESOURCE": "team",
    "DATABRICKS_HOST": "team.cloud.databricks.com",
    "VERTEX_LOCATION": "europe-west1",
    "VERTEX_PROJECT": "project-1",
}
SCHEMA = OutputSchema("verdict", {"type": "object", "properties": {"score": {"type": "integer"}}})
PARAMETERS = Parameters(temperature=0.0, max_tokens=500, seed=7)
REQUEST = ModelRequest("You vet.", (Message("user", "Is it right?"),), SCHEMA, PARAMETERS)


async def asked(name, reply):
    """What is sent to a provider's own example model, and what is read of a reply; as plain data."""
    seen = []

    def answer(request):
        seen.append(request)
        return httpx2.Response(200, json=reply)

    async with Resources(key_for=lambda _: "secret", **mocked(answer)) as resources:
        spec = parse_agent_spec(f"{name}:{PROVIDERS[name].model}")
        found = await build_model(spec, resources=resources).complete(REQUEST)
    (sent,) = seen
    headers = {key: re.sub(r"Python [\d.]+", "Python *", value) for key, value in sent.headers.items()}
    exchange = {"method": sent.method, "url": str(sent.url), "headers": headers, "body": sent.content.decode()}
    usage = found.usage
    tokens = [usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens]
    read = {"text": found.text, "finish": found.finish, "model": found.model, "tokens": tokens, "usd": found.cost_usd}
    return exchange, read


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for one in PROVIDERS.values():
        for variable in (*one.base_url_variables, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
            monkeypatch.delenv(variable, raising=False)
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)


@pytest.mark.parametrize("name", sorted(REPLIES))
async def test_a_provider_is_sent_what_was_recorded_and_its_documented_reply_is_read(name):
    recorded = json.loads(REPLIES[name].read_text("utf-8"))
    sent, read = await asked(name, recorded["reply"])
    price, stated = find_price(parse_agent_spec(f"{name}:{PROVIDERS[name].model}")), recorded["read"].pop("usd")
    usd = stated if stated or price is None else price.cost(Usage(*read["tokens"]))
    assert (sent, read) == (recorded["sent"], recorded["read"] | {"usd": usd})


async def test_a_profile_is_marked_as_tested_where_its_exchange_is_recorded_and_check_says_so_of_others():
    assert {name for name, one in PROVIDERS.items() if one.tested} == REPLIES.keys()
    agents = [{"model": "sglang:m"}, {"model": "vllm:m"}, {"model": "sglang:m@http://127.0.0.1:9/v1", "name": "n"}]
    found = await check_agents(panel_config({"agents": agents, "retry": {"attempts": 1}}))
    assert [any("untested" in notice for notice in one.notices) for one in found] == [True, False, False]


@pytest.mark.parametrize("name", ["bedrock-anthropic", "vertex-anthropic"])
def test_claude_on_a_platform_is_asked_as_its_sdk_asks(name):
    import anthropic

    seen = []
    http = httpx2.Client(transport=httpx2.MockTransport(lambda one: seen.append(one) or httpx2.Response(200, json={})))
    if name == "bedrock-anthropic":
        sdk = anthropic.AnthropicBedrock(api_key="secret", aws_region="eu-west-1", http_client=http)
    else:
        sdk = anthropic.AnthropicVertex(
            access_token="secret", region="europe-west1", project_id="project-1", http_client=http
        )
    ours = json.loads(REPLIES[name].read_text("utf-8"))["sent"]
    body = json.loads(ours["body"])
    del body["anthropic_version"]
    sdk.post("/v1/messages", body={"model": PROVIDERS[name].model, **body}, cast_to=httpx2.Response)
    assert (seen[0].method, str(seen[0].url), seen[0].content.decode()) == (ours["method"], ours["url"], ours["body"])
    theirs = {key: re.sub(r"Python [\d.]+", "Python *", value) for key, value in seen[0].headers.items()}
    assert {key: one for key, one in theirs.items() if "stainless" not in key} == ours["headers"]


def test_bedrock_answers_in_one_piece_and_vertex_as_a_stream():
    bedrock, vertex = PROTOCOLS["bedrock"], PROTOCOLS["vertex"]
    assert not bedrock.stream_options
    assert bedrock.path("a/b:1", stream=False) == "/model/a%2Fb:1/invoke"
    assert vertex.path("m", stream=True) == "/publishers/anthropic/models/m:streamRawPredict"
