"""Small requests to models, and a ledger and a cache that remember in memory."""

from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from metajudge.providers.model import Message, ModelRequest, OutputSchema, Parameters
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources, build_model
from metajudge.types import CallRecord

KEY = "sk-proj-TopSecret0123456789"
SCHEMA = OutputSchema(
    "meta_judgment",
    {
        "type": "object",
        "properties": {"explanation": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
        "required": ["explanation", "score"],
        "additionalProperties": False,
    },
)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def ask(text: str = "Is it right?", *, schema: OutputSchema | None = SCHEMA, system: str = "You vet.", **options: Any):
    """A request of one turn; ``draw`` and ``fresh`` apart, options are parameters."""
    outer = {name: options.pop(name) for name in ("draw", "fresh") if name in options}
    return ModelRequest(system, (Message("user", text),), schema, Parameters(**options), **outer)


def model_at(url: str, resources: Resources, provider: str = "openai", name: str = "m", **options: Any):
    """The whole stack around a model behind a URL."""
    return build_model(parse_agent_spec(f"{provider}:{name}@{url}"), resources=resources, **options)


class MockedClient:
    """An HTTP client without a network: ``handler`` maps a request to a response, or raises."""

    def __init__(self, handler: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self._handler = handler

    @asynccontextmanager
    async def request(self, method: str, url: Any, /, *, headers: Any, data: bytes | None = None, **options: Any):
        found = self._handler(httpx2.Request(method, str(url), headers=headers, content=data, extensions=options))
        yield MockedAnswer(found.status_code, found.headers, found.content)

    async def close(self) -> None:
        pass


@dataclass(frozen=True)
class MockedAnswer:
    """An answer that has arrived as a whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    content = None

    async def read(self) -> bytes:
        return self.body


def mocked(handler) -> dict[str, Any]:
    """Resources' arguments for answers without a network; the handler maps a request to a response."""
    return {"http_client": lambda endpoint: MockedClient(handler)}


def completion(text: str | None = '{"score": 5}', **changes: Any) -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish", "stop")}
    return {"id": "c", "object": "chat.completion", "model": "m-0613", "choices": [choice], "usage": USAGE, **changes}


def anthropic_message(text: str = '{"score": 5}', **changes: Any) -> dict[str, Any]:
    """An Anthropic message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-20250929",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        **changes,
    }


class MemoryLedger:
    """Keeps call records in a list."""

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    def record_call(self, call: CallRecord) -> None:
        self.calls.append(call)

    async def flush(self) -> None:
        """Everything is kept."""
