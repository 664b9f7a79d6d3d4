"""One client per endpoint and key: what leaves with a request, what is never followed or leaked."""

import asyncio
import gc
import warnings
from types import SimpleNamespace

import aiohttp
import httpx2
import pytest

from metajudge.errors import BadReplyError, ConnectionFailedError, NotFoundError
from metajudge.providers.client import ClientPool, EndpointClient
from metajudge.providers.model import Endpoint, Parameters
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
    pool = ClientPool(4)
    here = pool.client(ELSEWHERE, "a", "V")
    assert pool.client(ELSEWHERE, "a", "V") is here
    assert pool.client(ELSEWHERE, "b", "V") is not here
    await pool.aclose()  # nothing was opened, nothing to close
    pool.open()
    await pool.aclose()


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
