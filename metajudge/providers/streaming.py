"""Answers as a stream, so that the time to the first token is known: OpenAI's and Anthropic's server-sent events.

For free text only. An empty answer is an answer here: what a model has to say may be nothing. A server that does not
stream is asked, or read, in one piece; its reply says so by having no time to the first token.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from metajudge.errors import BadReplyError, BadRequestError, ConnectionFailedError
from metajudge.providers import anthropic_messages, openai_chat
from metajudge.providers.client import Answer, EndpointClient
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import Model, ModelRequest
from metajudge.providers.negotiation import Negotiation, RenegotiatedError
from metajudge.providers.prices import Price, find_price
from metajudge.providers.spec import AgentSpec
from metajudge.providers.stack import Resources, adapter_of, protocol_of, wrap_model
from metajudge.types import FinishReason, Reply, Usage, json_bytes


def build_streaming_model(spec: AgentSpec, *, resources: Resources, price: Price | None = None) -> Model:
    """A model that answers as a stream, with everything around it that :func:`build_model` puts there.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    client, _, _ = adapter_of(spec, resources)
    provider = StreamingModel(spec.model, client, resources.negotiation(spec))
    return wrap_model(provider, resources=resources, price=price or find_price(spec))


class StreamingModel:
    """A model that streams free text; where a server refuses to, it is asked for the whole answer from then on."""

    def __init__(self, name: str, client: EndpointClient, negotiation: Negotiation) -> None:
        self.name = name
        self.endpoint = client.endpoint
        self._client = client
        self._negotiation = negotiation
        self._asked = client.asked(name)
        self._protocol = protocol_of(self.endpoint)
        self._events = _AnthropicEvents if self.endpoint.protocol == "anthropic" else _OpenAIEvents
        self._streams = True

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        assert request.schema is None, "structured answers are not streamed"
        for name, reason in self._protocol.dropped(request):
            self._negotiation.drop(name, reason)
        dialect = self._negotiation.dialect
        body = self._protocol.body(self.name, request, dialect) | (
            self._protocol.stream_options if self._streams else {}
        )
        read = partial(self._read, started=time.monotonic())
        try:
            return await self._client.post_streamed(
                self._protocol.path, json_bytes(body), self._asked, request.parameters, read
            )
        except BadRequestError as error:
            if self._streams and "stream" in str(error).lower():
                self._streams = False
                message = f"{error} (asking again for the whole answer at once)"
                raise RenegotiatedError(message, status=error.status) from None
            raise (self._negotiation.rejected(dialect, body, error) or error) from None

    async def _read(self, response: Answer, *, started: float) -> Reply:
        if "event-stream" not in response.headers.get("content-type", ""):
            return self._protocol.read_reply(await response.read(), self._asked, allow_empty=True)
        reader = self._events(self._asked)
        async for event in _events(response, self._asked):
            if reader.take(event) and reader.first_token_s is None:
                reader.first_token_s = time.monotonic() - started
        return reader.reply()


async def _lines(response: Answer) -> AsyncIterator[bytes]:
    """The lines of a body as it arrives, of any length."""
    rest = b""
    async for part in response.content.iter_any():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line
    yield rest


async def _events(response: Answer, asked: Asked) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of a stream of server-sent events."""
    async for line in _lines(response):
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise BadReplyError(f"{asked} streamed broken JSON ({error}): {asked.excerpt(data)}", status=200) from None
        if isinstance(event, dict):
            if event.get("error"):
                raise _streamed_error(event, asked)
            yield event


def _streamed_error(event: dict[str, Any], asked: Asked) -> Exception:
    found = event["error"]
    code = found.get("code") if isinstance(found, dict) else None
    kind = found.get("type") if isinstance(found, dict) else None
    status = anthropic_messages.ERRORS.get(str(kind), 500)
    if isinstance(code, int) and 400 <= code < 600:
        status = code
    return error_from_response(status, {}, orjson.dumps(event), asked)


@dataclass(slots=True)
class _Gathered:
    """What has arrived of an answer."""

    asked: Asked
    parts: list[str] = field(default_factory=list)
    finish: FinishReason | None = None
    model: str | None = None
    usage: Usage | None = None
    first_token_s: float | None = None

    def reply(self) -> Reply:
        """The whole answer. Raises ConnectionFailedError: the stream ended before the answer did."""
        if self.finish is None:
            raise ConnectionFailedError(f"{self.asked}: the stream ended before the answer was complete", status=200)
        text, model = "".join(self.parts), self.model or self.asked.model
        return Reply(text, self.finish, model, self.usage, first_token_s=self.first_token_s)

    def _add(self, text: object) -> bool:
        if isinstance(text, str) and text:
            self.parts.append(text)
            return True
        return False


class _OpenAIEvents(_Gathered):
    """Chunks of ``POST /v1/chat/completions`` with ``stream``; the last one carries the usage."""

    def take(self, event: dict[str, Any]) -> bool:
        """Adds an event; whether it brought text."""
        if isinstance(event.get("model"), str):
            self.model = event["model"]
        self.usage = openai_chat.read_usage(event.get("usage")) or self.usage
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return False
        choice = choices[0]
        found = choice.get("delta")
        delta: dict[str, Any] = found if isinstance(found, dict) else {}
        refusal = delta.get("refusal")
        if isinstance(choice.get("finish_reason"), str):
            known = openai_chat.finish_of(choice["finish_reason"])
            self.finish = "refusal" if self.finish == "refusal" else known
        if isinstance(refusal, str) and refusal:
            self.finish = "refusal"
            return self._add(refusal)
        return self._add(delta.get("content"))


class _AnthropicEvents(_Gathered):
    """Events of ``POST /v1/messages`` with ``stream``: input tokens come first, output tokens at the end."""

    def take(self, event: dict[str, Any]) -> bool:
        """Adds an event; whether it brought text."""
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = event["message"]
            self.model = message.get("model") if isinstance(message.get("model"), str) else None
            self.usage = anthropic_messages.read_usage(message.get("usage"))
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            return self._add(event["delta"].get("text"))
        elif kind == "message_delta" and isinstance(event.get("delta"), dict):
            self.finish = anthropic_messages.finish_of(event["delta"].get("stop_reason"))
            output = (event.get("usage") or {}).get("output_tokens")
            if self.usage is not None and isinstance(output, int):
                known = self.usage
                self.usage = Usage(known.input_tokens, known.cached_tokens, known.cache_write_tokens, output)
        return False
