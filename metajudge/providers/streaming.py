"""Answers as a stream, so that the time to the first token is known: OpenAI's and Anthropic's server-sent events.

For free text only. An empty answer is an answer here: what a model has to say may be nothing. A server that does not
stream is asked, or read, in one piece; its reply says so by having no time to the first token.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from metajudge.errors import BadReplyError, BadRequestError, ConnectionFailedError
from metajudge.providers import anthropic_messages, openai_chat
from metajudge.providers.client import Answer, EndpointClient
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.http_model import ChatProtocol, ended, finish_of, tokens
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
        self._streams = True

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        assert request.schema is None, "structured answers are not streamed"
        for name, reason in self._protocol.dropped(request):
            self._negotiation.drop(name, reason)
        dialect = self._negotiation.begin()
        body = self._protocol.body(self.name, request, dialect) | request.parameters.extra
        try:
            reply = await streamed(self._client, self._protocol, body, self._asked, request, stream=self._streams)
        except BadRequestError as error:
            if self._streams and not dialect.stream and "stream" in (error.words or str(error)).lower():
                self._streams = False
                message = f"{error} (asking again for the whole answer at once)"
                raise RenegotiatedError(message, status=error.status) from None
            raise (self._negotiation.rejected(dialect, body, error) or error) from None
        self._negotiation.accepted(dialect, structured=False)
        return reply


async def streamed(
    client: EndpointClient,
    protocol: ChatProtocol,
    body: dict[str, Any],
    asked: Asked,
    request: ModelRequest,
    *,
    structured: bool = False,
    stream: bool = True,
) -> Reply:
    """Sends a request and reads its answer as it arrives.

    Args:
        structured: an object is asked for: an empty answer is none.
        stream: False to ask for the whole answer at once.

    Raises:
        ProviderError: typed.
    """
    started = time.monotonic()

    async def read(response: Answer) -> Reply:
        if "event-stream" not in response.headers.get("content-type", ""):
            return protocol.read_reply(await response.read(), asked, allow_empty=not structured, structured=structured)
        reader = (_AnthropicEvents if client.endpoint.protocol == "anthropic" else _OpenAIEvents)(asked)
        async for event in _events(response, asked):
            if reader.take(event) and reader.first_token_s is None:
                reader.first_token_s = time.monotonic() - started
        reply = reader.reply()
        if structured and not reply.text.strip() and reply.finish == "stop":
            raise BadReplyError(f"{asked} streamed an empty message", status=200, usage=reply.usage)
        return reply

    whole = body | (protocol.stream_options if stream else {})
    return await client.post_streamed(protocol.path, json_bytes(whole), asked, request.parameters, read)


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
    kind = found.get("type") if isinstance(found, dict) else None
    status = openai_chat.code_of(found, anthropic_messages.ERRORS.get(str(kind), 500))
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
    reason: object = None
    cost_usd: float | None = None

    def reply(self) -> Reply:
        """The whole answer. Raises ConnectionFailedError: the stream ended before the answer did."""
        if self.finish is None:
            raise ConnectionFailedError(f"{self.asked}: the stream ended before the answer was complete", status=200)
        text, model = "".join(self.parts), self.model or self.asked.model
        found = Reply(text, self.finish, model, self.usage, self.cost_usd, first_token_s=self.first_token_s)
        return ended(found, self.reason, self.asked)

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
        self.cost_usd = openai_chat.read_cost(event.get("usage")) or self.cost_usd
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return False
        choice = choices[0]
        if choice.get("error"):
            raise _streamed_error(choice, self.asked)
        found = choice.get("delta")
        delta: dict[str, Any] = found if isinstance(found, dict) else {}
        refusal = delta.get("refusal")
        if isinstance(choice.get("finish_reason"), str):
            self.reason = choice["finish_reason"]
            known = finish_of(self.reason)
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
            self.reason = event["delta"].get("stop_reason")
            self.finish = finish_of(self.reason)
            output = tokens((event.get("usage") or {}).get("output_tokens"))
            if self.usage is not None and output is not None:
                known = self.usage
                self.usage = Usage(known.input_tokens, known.cached_tokens, known.cache_write_tokens, output)
        return False
