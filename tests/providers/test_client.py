"""One client per endpoint and key: what leaves with a request, what is never followed or leaked."""

import asyncio
import gc
import gzip
import re
import warnings
from types import SimpleNamespace

import aiohttp
import httpx2
import orjson
import pytest

from metajudge.errors import BadReplyError, ConfigurationError, ConnectionFailedError, NotFoundError
from metajudge.providers.client import EndpointClient
from metajudge.providers.model import Endpoint, Parameters
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources
from tests.doubles.llm_server import LLMServer
from tests.doubles.model_requests import KEY, MemoryLedger, ask, completion, mocked, model_at

ELSEWHERE = Endpoint("openai", "https://gateway.example/v1")


def client(handler=None, endpoint=ELSEWHERE, key=KEY):
    factory = mocked(handler)["http_client"] if handler else None
    return EndpointClient(endpoint, key, "OPENAI_API_KEY", pool_size=4, http_client=factory)


async def sent_by(endpoint, key=KEY):
    seen = []

    def handler(request):
        seen.append(request)
        return httpx2.Response(200, json=completion())

    one = client(handler, endpoint, key)
    await one.post("/path", b"{}", one.asked("m"), Parameters(headers=(("x-own", "1"),)))
    await one.aclose()
    return seen[0]


async def test_account_headers_of_one_provider_never_go_to_another(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/elsewhere")
    sent = await sent_by(ELSEWHERE)
    assert "secret" not in str(sorted(sent.headers.multi_items()))
    assert str(sent.url) == "https://gateway.example/v1/path"
    assert sent.headers["x-own"] == "1"
    official = await sent_by(Endpoint("openai", "https://api.openai.com/v1"))
    assert official.headers["openai-organization"] == "org-secret"


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_without_a_key_none_of_the_environment_is_used(monkeypatch, protocol):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-env-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/elsewhere")
    sent = await sent_by(Endpoint(protocol, "http://127.0.0.1:8000"), key=None)
    assert "secret" not in str(sorted(sent.headers.multi_items()))
    assert sent.url.port == 8000


async def test_nothing_describes_this_machine():
    for protocol in ("openai", "anthropic"):
        sent = await sent_by(Endpoint(protocol, "http://127.0.0.1:8000"))
        assert [name for name in sent.headers if name.startswith("x-stainless")] in ([], ["x-stainless-retry-count"])


async def test_a_redirect_is_not_followed_and_the_key_stays_here():
    seen = []

    def handler(request):
        seen.append(request)
        return httpx2.Response(307, headers={"location": "https://evil.example/v1"})

    one = client(handler)
    with pytest.raises(NotFoundError, match=r"redirects to https://evil\.example/v1: use the base URL it names"):
        await one.post("/path", b"{}", one.asked("m"), Parameters())
    assert len(seen) == 1


async def test_an_html_page_with_status_200_is_a_bad_reply_that_asks_about_the_url():
    one = client(lambda request: httpx2.Response(200, html="<html><body>Welcome</body></html>"))
    with pytest.raises(BadReplyError, match=r"text/html.*Welcome.*Is the base URL that of an API\?"):
        await one.post("/path", b"{}", one.asked("m"), Parameters())


@pytest.mark.parametrize(
    ("raised", "sent"),
    [
        (aiohttp.ClientConnectorError(SimpleNamespace(host="h", port=1, ssl=None), OSError("refused")), False),
        (aiohttp.ServerDisconnectedError(), True),
    ],
)
async def test_a_broken_connection_says_whether_the_request_left(raised, sent):
    def handler(request):
        raise raised

    one = client(handler)
    with pytest.raises(ConnectionFailedError) as failed:
        await one.post("/path", b"{}", one.asked("m"), Parameters())
    assert failed.value.sent is sent


async def test_a_defect_is_not_hidden_as_a_network_failure():
    def handler(request):
        raise ZeroDivisionError("defect")

    one = client(handler)
    with pytest.raises(ZeroDivisionError):
        await one.post("/path", b"{}", one.asked("m"), Parameters())


async def test_agents_share_a_client_where_endpoint_and_key_are_the_same():
    keys, spec = iter("aab"), parse_agent_spec(f"openai:m@{ELSEWHERE.base_url}")
    async with Resources(key_for=lambda _spec: next(keys)) as resources:
        here, same, other = (resources.client(spec) for _ in range(3))
        resources.connect()
    assert same is here
    assert other is not here


@pytest.mark.slow
async def test_connections_are_kept_alive_and_closed_without_a_warning():
    with warnings.catch_warnings(), LLMServer() as server:
        warnings.simplefilter("error")
        async with Resources() as resources:
            for protocol in ("openai", "anthropic"):
                model = model_at(server.url, resources, protocol)
                for i in range(3):
                    await model.complete(ask(str(i)))
        ports = {request.headers["host"] for request in server.requests}
        assert len(ports) == 1
        gc.collect()
        await asyncio.sleep(0)


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_cancelling_a_call_under_way_is_recorded_and_leaves_the_client_usable(protocol):
    ledger = MemoryLedger()
    with LLMServer(faults=["slow"]) as server:
        async with Resources(ledger=ledger) as resources:
            model = model_at(server.url, resources, protocol)
            task = asyncio.create_task(model.complete(ask()))
            for _ in range(400):
                await asyncio.sleep(0.005)
                if server.count:
                    break
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await model.complete(ask())).text
        assert server.count == resources.meter.sent == len(ledger.calls) == 2
        assert [call.status for call in ledger.calls] == ["failed", "ok"]


# What is sent is what the official SDKs would have sent, their description of the machine apart.
OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
GATEWAY = "https://gateway.example:8443/v1?region=eu"
OWN = (("X-Own", "1"), ("Authorization", "Bearer mine"), ("user-agent", "a proxy's"))
VERSION = re.compile(r"Python \d+(\.\d+)*")


def recording(seen):
    def handler(request):
        seen.append(request)
        return httpx2.Response(200, json={})

    return handler


async def sent_by_us(protocol, url, key, path, *, own=(), **content):
    seen = []
    client = EndpointClient(Endpoint(protocol, url), key, "K", pool_size=4, **mocked(recording(seen)))
    await client.exchange(path, client.asked("m"), timeout_s=7, headers=own, **content)
    return seen[0]


def sent_by_the_sdk(protocol, url, key, path, *, own=(), body=None, file=None):
    """What the SDK's generic methods send: without their telemetry, and to other hosts without the account."""
    seen = []
    http = httpx2.Client(transport=httpx2.MockTransport(recording(seen)))
    options = {"headers": dict(own)}
    if protocol == "openai":
        import openai

        left_out = () if url == OFFICIAL["openai"] else ("OpenAI-Organization", "OpenAI-Project")
        headers = dict.fromkeys(left_out, openai.omit)
        sdk = openai.OpenAI(api_key=key or "no-key", base_url=url, http_client=http, default_headers=headers)
    else:
        import anthropic

        headers = {} if url == OFFICIAL["anthropic"] else {"x-api-key": key or "no-key"}
        sdk = anthropic.Anthropic(api_key=key or "no-key", base_url=url, http_client=http, default_headers=headers)
    if file is not None:
        options["headers"]["Content-Type"] = "multipart/form-data"
        sent = {"body": {"purpose": "batch"}, "files": {"file": (*file, "application/jsonl")}}
        sdk.post(url + path, cast_to=httpx2.Response, options=options, **sent)
    elif body is not None:
        sdk.post(url + path, cast_to=httpx2.Response, options=options, content=body)
    else:
        sdk.get(url + path, cast_to=httpx2.Response, options=options)
    return seen[0]


def comparable(request):
    """Method, address, headers in order, body; versions of the SDKs and boundaries of forms replaced."""
    boundary = re.search(r"boundary=(\w+)", request.headers.get("content-type", ""))
    mark = boundary[1] if boundary else "no boundary"
    raw = [(name.decode().lower(), value.decode()) for name, value in request.headers.raw]
    headers = [
        (name, VERSION.sub("Python *", value.replace(mark, "*")))
        for name, value in raw
        if not name.startswith("x-stainless-")
    ]
    return request.method, str(request.url), headers, request.content.replace(mark.encode(), b"*")


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize("official", [True, False])
@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("own", [(), OWN])
async def test_every_request_is_the_one_the_sdk_builds(monkeypatch, protocol, official, key, own):
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    monkeypatch.setenv(f"{protocol.upper()}_CUSTOM_HEADERS", "x-gateway: 1\nno header\nx-tenant: t")
    url = OFFICIAL[protocol] if official else GATEWAY
    for path, content in (
        ("/messages", {"body": '{"n": "zwölf"}'.encode()}),
        ("/batches?limit=100&after=x", {}),
        ("/files", {"file": ("lines.jsonl", b'{"custom_id": 1}\n')}),
    ):
        ours = comparable(await sent_by_us(protocol, url, key, path, own=own, **content))
        theirs = comparable(sent_by_the_sdk(protocol, url, key, path, own=own, **content))
        assert ours == (theirs[0], theirs[1].replace("/v1?region=eu" + path, "/v1" + path + "?region=eu"), *theirs[2:])


async def test_settings_of_one_call_never_reach_another():
    seen = []
    one = EndpointClient(Endpoint("openai", GATEWAY), KEY, "K", pool_size=4, **mocked(recording(seen)))
    for header, timeout_s in ((("x-own", "1"), 5.0), (("x-own", "2"), 5.0), (None, 5.0), (None, 60.0)):
        headers = () if header is None else (header,)
        await one.post("/path", b"{}", one.asked("m"), Parameters(headers=headers, timeout_s=timeout_s))
    assert [request.headers.get("x-own") for request in seen] == ["1", "2", None, None]
    assert [request.extensions["timeout"].sock_connect for request in seen] == [2.5, 2.5, 2.5, 10.0]


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_servers_cookies_go_back_to_it_and_to_no_other(protocol):
    with LLMServer(headers={"set-cookie": "turn=1; Path=/"}) as server, LLMServer() as other:
        async with Resources() as resources:
            model, elsewhere = (model_at(one.url, resources, protocol) for one in (server, other))
            for text in "abc":
                await model.complete(ask(text))
            await elsewhere.complete(ask())
    assert [request.headers.get("cookie") for request in server.requests] == [None, "turn=1", "turn=1"]
    assert "cookie" not in other.requests[0].headers


async def test_a_large_compressed_answer_arrives_whole_and_one_that_is_not_compressed_as_it_says_is_bad():
    text = "x" * 3_000_000
    with LLMServer(headers={"content-encoding": "gzip"}, encode=gzip.compress) as server:
        async with Resources() as resources:
            reply = await model_at(server.url, resources).complete(ask(text))
    assert reply.text
    assert server.requests[0].headers["content-length"] == str(len(server.requests[0].raw))
    assert server.bodies[0]["messages"][-1]["content"] == text
    with LLMServer(headers={"content-encoding": "gzip"}) as server:
        async with Resources(retry=RetryPolicy(attempts=1)) as resources:
            with pytest.raises(BadReplyError, match="not valid HTTP"):
                await model_at(server.url, resources).complete(ask())


@pytest.mark.parametrize(
    ("proxies", "used"),
    [
        ({"HTTP_PROXY": "{proxy}"}, True),
        ({"all_proxy": "{proxy}"}, True),
        ({"HTTPS_PROXY": "{proxy}"}, False),
        ({"HTTP_PROXY": "{proxy}", "NO_PROXY": "models.example"}, False),
    ],
)
async def test_the_environments_proxy_is_asked_in_the_hosts_place(monkeypatch, proxies, used):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with LLMServer(answer=lambda body: "{}") as server:
        for name, value in proxies.items():
            monkeypatch.setenv(name, value.format(proxy=server.url.removeprefix("http://")))
        spec = parse_agent_spec("openai:m@http://models.example/v1")
        client = EndpointClient(spec.endpoint, KEY, "K", pool_size=1, **mocked(lambda _: httpx2.Response(200, json={})))
        if used:
            client = EndpointClient(spec.endpoint, KEY, "K", pool_size=1)
        await client.post("/path", orjson.dumps({"model": "m", "messages": []}), client.asked("m"), Parameters())
        await client.aclose()
    assert [request.path for request in server.requests] == (["http://models.example/v1/path"] if used else [])


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
async def test_a_socks_proxy_is_refused_in_a_sentence_that_says_what_to_set_and_shows_no_password(
    monkeypatch, variable
):
    for name in ("https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "socks5h://user:pass@proxy.example:1080")
    one = client()
    with pytest.raises(
        ConfigurationError, match=r"SOCKS proxy socks5h://proxy\.example:1080 .* set HTTPS_PROXY to an"
    ) as no:
        await one.post("/path", b"{}", one.asked("m"), Parameters())
    assert "pass" not in str(no.value)
    monkeypatch.setenv("NO_PROXY", "gateway.example")
    one.open()
    await one.aclose()
