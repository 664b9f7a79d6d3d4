"""What is sent is, byte for byte, what the SDK itself would have sent."""

import asyncio

import httpx2
import pytest

from metajudge.providers.client import EndpointClient
from metajudge.providers.drafts import Drafts, RequestKind
from metajudge.providers.model import Endpoint, Parameters
from tests.doubles.model_requests import KEY

BODIES = (b'{"n": 1}', '{"n": "zwölf"}'.encode(), b'{"n": "' + b"x" * 100_000 + b'"}')


def recording(seen, **options):
    def handler(request):
        seen.append(request)
        return httpx2.Response(200, json={}, headers={"set-cookie": f"turn={len(seen)}; Path=/"})

    return httpx2.AsyncClient(transport=httpx2.MockTransport(handler), **options)


def bytes_of(request):
    return request.method, str(request.url), request.headers.raw, request.content, request.extensions["timeout"]


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize("headers", [(), (("X-Own", "1"), ("Authorization", "Bearer mine"))])
async def test_a_copied_request_is_the_one_the_sdk_builds_cookies_included(protocol, headers):
    ours, theirs = [], []
    endpoint = Endpoint(protocol, "https://gateway.example/v1?region=eu")
    clients = [
        EndpointClient(
            endpoint,
            KEY,
            "K",
            pool_size=4,
            http_client=lambda _, seen=seen: recording(seen, headers={"x-proxy": "p"}, params={"tenant": "t"}),
        )
        for seen in (ours, theirs)
    ]
    for body in BODIES:
        await clients[0].post("/path", body, clients[0].asked("m"), Parameters(headers=headers, timeout_s=7))
        await clients[1].exchange("/path", clients[1].asked("m"), timeout_s=7, body=body, headers=headers)
    assert len(ours) == len(BODIES)
    assert list(map(bytes_of, ours)) == list(map(bytes_of, theirs))
    assert "turn=2" in ours[2].headers["cookie"]
    assert ours[2].headers["content-length"] == str(len(BODIES[2]))
    assert ours[0].headers["x-proxy"] == "p"


async def test_settings_of_one_call_never_reach_another():
    seen = []
    one = EndpointClient(
        Endpoint("openai", "https://gateway.example/v1"),
        KEY,
        "K",
        pool_size=4,
        http_client=lambda _: recording(seen),
    )
    for header, timeout_s in ((("x-own", "1"), 5.0), (("x-own", "2"), 5.0), (None, 5.0), (None, 60.0)):
        headers = () if header is None else (header,)
        await one.post("/path", b"{}", one.asked("m"), Parameters(headers=headers, timeout_s=timeout_s))
    assert [request.headers.get("x-own") for request in seen] == ["1", "2", None, None]
    assert [request.extensions["timeout"]["connect"] for request in seen] == [2.5, 2.5, 2.5, 10.0]


async def test_calls_that_start_together_wait_for_one_draft_and_nothing_is_sent_for_it():
    built, seen = [], []

    class CountingSdk:
        def __init__(self, http):
            self.http = http

        async def post(self, url, *, content, cast_to, options):
            built.append(url)
            await asyncio.sleep(0)
            return await self.http.post(url, content=content)

    drafts = Drafts(recording(seen), CountingSdk, httpx2.Timeout)
    kinds = [RequestKind("https://gateway.example/a", (), 5.0), RequestKind("https://gateway.example/b", (), 5.0)]
    requests = await asyncio.gather(*(drafts.request(kinds[i % 2], b"%d" % i) for i in range(20)))
    assert sorted(built) == [kind.url for kind in kinds]
    assert seen == []
    assert [request.content for request in requests] == [b"%d" % i for i in range(20)]
    assert {request.headers["content-length"] for request in requests} == {"1", "2"}


async def test_a_request_the_sdk_cannot_build_is_tried_again_with_the_next_call():
    attempts = []

    class BrokenOnce:
        def __init__(self, http):
            self.http = http

        async def post(self, url, *, content, cast_to, options):
            attempts.append(url)
            if len(attempts) == 1:
                raise ConnectionError("lost its way")
            return await self.http.post(url, content=content)

    drafts = Drafts(recording([]), BrokenOnce, httpx2.Timeout)
    kind = RequestKind("https://gateway.example/a", (), 5.0)
    with pytest.raises(ConnectionError):
        await drafts.request(kind, b"{}")
    assert (await drafts.request(kind, b"{}")).url == kind.url
    assert len(attempts) == 2
