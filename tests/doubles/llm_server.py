"""A small HTTP server that answers like OpenAI's chat completions and Anthropic's messages, faults included.

It runs in a thread with an event loop of its own, so that asynchronous and synchronous tests can use it::

    with LLMServer(answer=score_answer(5), faults=["429", None, "drop"]) as server:
        ...  # ask openai:any-model@{server.url}
        assert server.count == 3

Error bodies are those the two providers send. What it cannot know (prices, tokenisation) it makes up.
"""

import asyncio
import itertools
import json
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.doubles.event_streams import anthropic_events, openai_events
from tests.doubles.provider_bodies import (
    RecordedRequest,
    anthropic_error,
    anthropic_message,
    openai_completion,
    openai_error,
    rejection,
)

Answer = Callable[[dict[str, Any]], str]
MIXED_FAULTS = ("429", "500", "503", "drop", "truncated_body", "malformed_content", "refusal")
FAULTS = (
    *("429", "429-no-header", "429-quota", "400-credit", "500", "502-html", "503", "529"),
    *("401", "403", "404", "400", "400-context", "413", "302", "drop", "slow", "truncated_body"),
    *("truncated_content", "malformed_content", "refusal", "filtered", "empty_content", "no_usage"),
    *("html", "not_json", "empty_body", "error_in_success", "no_json_schema", "no_json_object"),
    "no_stream",
)
"""Also ``unsupported:NAME``, which rejects requests that hold a field of this name, as strict servers do."""


class LLMServer:
    """The server.

    Args:
        answer: from a request's body to the text of the answer; None for an instance of its schema with top scores.
        latency_s: every answer is held back this long.
        faults: one entry a request in order of arrival (None for no fault; none after the last), or a function of it.
        retry_after: value of the header that comes with "429".
        slow_s: what "slow" adds to the latency.
        headers: sent with every answer.
        encode: applied to every answer's body.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        *,
        latency_s: float = 0.0,
        faults: Iterable[str | None] | Callable[[RecordedRequest], str | None] = (),
        retry_after: str = "0",
        slow_s: float = 30.0,
        headers: Mapping[str, str] | None = None,
        encode: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.requests: list[RecordedRequest] = []
        self.injected: list[str] = []
        self.max_in_flight = 0
        self.url = ""
        self._headers, self._encode = headers or {}, encode
        self._answer = answer or score_answer()
        self._latency_s, self._slow_s, self._retry_after = latency_s, slow_s, retry_after
        planned = iter(()) if callable(faults) else iter(faults)
        self._fault_of = faults if callable(faults) else lambda _request: next(planned, None)
        self.in_flight = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="llm-server", daemon=True)

    @property
    def count(self) -> int:
        """Requests that arrived."""
        return len(self.requests)

    @property
    def connections(self) -> int:
        """Connections that clients hold open."""
        return len(self._tasks)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def __enter__(self) -> "LLMServer":
        self._thread.start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serves one request; False where the connection ends with it."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        request = RecordedRequest(len(self.requests), first.split()[1], headers, json.loads(raw or b"{}"), raw)
        self.requests.append(request)
        fault = self._fault_of(request)
        if fault:
            assert fault in FAULTS or fault.startswith("unsupported:"), f"no such fault: {fault}"
            self.injected.append(fault)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self._latency_s + (self._slow_s if fault == "slow" else 0))
        finally:
            self.in_flight -= 1
        if fault == "drop":
            writer.transport.abort()
            return False
        status, extra, content = self._reply(request, fault)
        content = self._encode(content)
        head = {"content-type": "application/json", "x-request-id": f"req_{request.index}", **self._headers, **extra}
        head["content-length"] = str(len(content))
        text = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n"
        writer.write(text.encode() + content[: len(content) // 2 if fault == "truncated_body" else None])
        await writer.drain()
        return fault != "truncated_body"

    def _reply(self, request: RecordedRequest, fault: str | None) -> tuple[int, dict[str, str], bytes]:
        rejected = rejection(request, fault)
        if rejected:
            return rejected[0], {}, json.dumps(rejected[1]).encode()
        if fault in {"html", "502-html"}:
            page = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>proxy says no</body></html>"
            return (502 if fault == "502-html" else 200), {"content-type": "text/html"}, page
        if fault == "302":
            return 302, {"location": "https://elsewhere.example/v1"}, b""
        if fault in {"not_json", "empty_body"}:
            return 200, {}, b'{"choices": [' if fault == "not_json" else b""
        status = int(fault.partition("-")[0]) if fault and fault[:3].isdigit() else 0
        if status or fault == "error_in_success":
            headers = {"retry-after": self._retry_after} if fault == "429" else {}
            body = anthropic_error(request, fault) if request.anthropic else openai_error(request, fault)
            return status or 200, headers, json.dumps(body).encode()
        text = self._answer(request.body)
        if fault in {"truncated_content", "malformed_content"}:
            text = text[: len(text) // 2] if fault == "truncated_content" else text.replace('":', '" ', 1)
        build = anthropic_message if request.anthropic else openai_completion
        body = build(request, text, fault)
        if request.body.get("stream") and fault != "no_stream":
            stream = anthropic_events(body) if request.anthropic else openai_events(body)
            return 200, {"content-type": "text/event-stream"}, stream
        return 200, {}, json.dumps(body).encode()


def random_faults(
    rate: float, kinds: tuple[str, ...] = MIXED_FAULTS, seed: int = 0
) -> Callable[[RecordedRequest], str | None]:
    """Injects faults at random, in an order that depends on the seed alone."""
    rng = random.Random(seed)
    return lambda _request: rng.choice(kinds) if rng.random() < rate else None


def score_answer(score: float | None = None) -> Answer:
    """Answers with an instance of the request's schema; every score is this one (None: the largest allowed)."""

    def answer(body: dict[str, Any]) -> str:
        schema = requested_schema(body)
        return "All is well." if schema is None else json.dumps(_instance(schema, score))

    return answer


def requested_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a request, wherever it stands: in the format, in the system prompt, or before the first message."""
    form = (body.get("response_format") or {}).get("json_schema") or (body.get("output_config") or {}).get("format")
    if form:
        return dict(form["schema"])
    system = body.get("system") or [m["content"] for m in body["messages"]][:1]
    text = system if isinstance(system, str) else "".join(b if isinstance(b, str) else b["text"] for b in system)
    _, found, schema = text.rpartition("JSON Schema:\n")
    return dict(json.JSONDecoder().raw_decode(schema)[0]) if found else None


def _instance(schema: dict[str, Any], score: float | None) -> Any:
    if "anyOf" in schema:
        return _instance(schema["anyOf"][0], score)
    if "enum" in schema:
        points = schema["enum"]
        if isinstance(points[0], str):
            return points[0]
        return max(points) if score is None else score
    if schema.get("type") == "object":
        return {name: _instance(part, score) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_instance(schema["items"], score)]
    return {"string": "It holds up.", "integer": 1, "number": 1.0, "boolean": True}[schema.get("type", "string")]


def repeat(*faults: str | None) -> Iterable[str | None]:
    """The same faults over and over."""
    return itertools.cycle(faults)
