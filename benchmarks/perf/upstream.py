"""A server of models to measure against: OpenAI's and Anthropic's protocols, every answer held back for a fixed time.

    python -m metajudge.benchmarks.perf.upstream PORT LATENCY_MS

Answers an instance of the requested JSON Schema, the same for every request. A timer, not a task, delays
an answer back, so that thousands can wait at once and the measured side gets the processors. ``GET /stats`` tells how
many requests came.
"""

import asyncio
import contextlib
import sys
from typing import Any

import orjson
import uvloop

SCORE = 5


class Exchange(asyncio.Protocol):
    """One connection; requests on it are answered in order."""

    def __init__(self, server: "Upstream") -> None:
        self._server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:  # uvloop's is no asyncio.Transport
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end]).lower()
            _, stated, rest = head.partition(b"\r\ncontent-length:")
            size = int(rest.partition(b"\r\n")[0]) if stated else 0
            if len(self._buffer) < end + 4 + size:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]
            if head.startswith(b"get "):
                self._send(orjson.dumps({"requests": self._server.requests}))
            else:
                self._server.requests += 1
                build = message if b"/messages " in head.partition(b"\r\n")[0] else completion
                asyncio.get_running_loop().call_later(self._server.latency_s, self._send, build(orjson.loads(body)))

    def _send(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            self._transport.write(head + body)


class Upstream:
    """What all connections share.

    Args:
        latency_s: every answer is held back this long.
    """

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.requests = 0

    async def serve(self, port: int) -> None:
        """Serves until it is cancelled."""
        server = await asyncio.get_running_loop().create_server(lambda: Exchange(self), "127.0.0.1", port, backlog=1024)
        async with server:
            await server.serve_forever()


def agreeing(request: dict[str, Any]) -> str:
    """An instance of the requested schema with good scores."""
    form = (request.get("response_format") or {}).get("json_schema") or (request.get("output_config") or {}).get(
        "format"
    )
    return orjson.dumps(instance(form["schema"])).decode() if form else "All is well."


def completion(request: dict[str, Any]) -> bytes:
    """A whole answer to a request."""
    text = agreeing(request)
    prompt = sum(len(str(message["content"])) for message in request["messages"]) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4, "total_tokens": prompt + len(text) // 4}
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    known = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": request["model"]}
    return orjson.dumps({**known, "choices": [choice], "usage": usage})


def message(request: dict[str, Any]) -> bytes:
    """A whole answer to a request in Anthropic's protocol."""
    text = agreeing(request)
    prompt = sum(len(str(part["content"])) for part in request["messages"]) // 4
    known = {"id": "msg_0", "type": "message", "role": "assistant", "model": request["model"]}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    usage = {"input_tokens": prompt, "output_tokens": len(text) // 4}
    return orjson.dumps({**known, **ended, "content": [{"type": "text", "text": text}], "usage": usage})


def instance(schema: dict[str, Any], chosen: int | None = None) -> Any:
    """A value that a schema allows: with good scores, or with values of enumerations that depend on a number."""
    if "enum" in schema:
        points = schema["enum"]
        return points[chosen % len(points)] if chosen is not None else SCORE if SCORE in points else points[0]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], chosen)
    match schema.get("type"):
        case "object":
            parts = enumerate(schema["properties"].items(), start=1)
            return {name: instance(part, None if chosen is None else chosen // at) for at, (name, part) in parts}
        case "array":
            return [instance(schema["items"], chosen)]
        case "integer" | "number":
            return SCORE if chosen is None else 1
        case "boolean":
            return True
        case _:
            return "It holds up."


def main(port: int, latency_s: float) -> None:
    """Serves until it is interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(Upstream(latency_s).serve(port))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) / 1000)
