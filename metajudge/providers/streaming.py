"""Answers as a stream, so that the time to the first token is known: OpenAI's and Anthropic's server-sent events.

For free text only. An empty answer is an answer here: what a model has to say may be nothing. A server that does not
stream is asked, or read, in one piece; its reply says so by having no time to the first token.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import orjson

from metajudge.errors import BadReplyError, BadRequestError, ConnectionFailedError
from metajudge.providers import anthropic_messages, openai_chat
from metajudge.providers.client import EndpointClient
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import Endpoint, Model, ModelRequest
from metajudge.providers.negotiation import Negotiation, RenegotiatedError
from metajudge.providers.prices import Price, find_price
from metajudge.providers.spec import LOCAL, PROVIDERS, AgentSpec
from metajudge.providers.stack import Resources, build_provider, wrap_model
from metajudge.types import FinishReason, Reply, Usage, json_bytes

if TYPE_CHECKING:
    import httpx2

Protocol = Literal["openai", "anthropic"]


def build_streaming_model(spec: AgentSpec, *, resources: Resources, price: Price | None = None) -> Model:
    """A model that answers as a stream, with everything around it that :func:`build_model` puts there.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    build_provider(spec, resources)  # makes client and negotiation, and refuses what cannot be asked
    if spec.provider == LOCAL:  # its reply is read in one piece
        return wrap_model(build_provider(spec, resources)[0], resources=resources, price=price or find_price(spec))
    endpoint = spec.endpoint
    key_variable = PROVIDERS[spec.provider].key_variable
    client = resources.clients.client(endpoint, resources.key_for(spec), key_variable)
    negotiation = resources.negotiation(endpoint, spec.model, partial(_never, spec))
    provider = StreamingModel(spec.model, client, negotiation)
    return wrap_model(provider, resources=resources, price=price or find_price(spec))


def _never(spec: AgentSpec) -> Negotiation:
    raise AssertionError(f"{spec} has no negotiation, although its provider was built")


class StreamingModel:
    """A model that streams free text; where a server refuses to, it is asked for the whole answer from then on."""

    def __init__(self, name: str, client: EndpointClient, negotiation: Negotiation) -> None:
        self._name = name
        self._client = client
        self._negotiation = negotiation
        self._asked = client.asked(name)
        self._anthropic = client.endpoint.protocol == "anthropic"
        self._streams = True

    @property
    def name(self) -> str:
        return self._name

    @property
    def endpoint(self) -> Endpoint:
        return self._client.endpoint

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        assert request.schema is None, "structured answers are not streamed"
        if self._anthropic:
            anthropic_messages.say_dropped(request.parameters, self._negotiation)
        dialect = self._negotiation.dialect
        body = self._body(request)
        path = "/v1/messages" if self._anthropic else "/chat/completions"
        read = partial(self._read, started=time.monotonic())
        try:
            return await self._client.post_streamed(path, json_bytes(body), self._asked, request.parameters, read)
        except BadRequestError as error:
            if self._streams and "stream" in str(error).lower():
                self._streams = False
                said = f"{error} (asking again for the whole answer at once)"
                raise RenegotiatedError(said, status=error.status) from None
            renegotiated = self._negotiation.rejected(dialect, body, error)
            if renegotiated is None:
                raise
            raise renegotiated from None

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        module: Any = anthropic_messages if self._anthropic else openai_chat
        body: dict[str, Any] = module.request_body(self._name, request, self._negotiation.dialect)
        if self._streams:
            body["stream"] = True
            if not self._anthropic:
                body["stream_options"] = {"include_usage": True}
        return body

    async def _read(self, response: "httpx2.Response", *, started: float) -> Reply:
        if "event-stream" not in response.headers.get("content-type", ""):
            module: Any = anthropic_messages if self._anthropic else openai_chat
            whole: Reply = module.read_reply(await response.aread(), self._asked, allow_empty=True)
            return whole
        reader = _AnthropicEvents(self._asked) if self._anthropic else _OpenAIEvents(self._asked)
        async for event in _events(response, self._asked):
            if reader.take(event) and reader.first_token_s is None:
                reader.first_token_s = time.monotonic() - started
        return reader.reply()


async def _events(response: "httpx2.Response", asked: Asked) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of a stream of server-sent events."""
    async for line in response.aiter_lines():
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise BadReplyError(
                f"{asked} streamed broken JSON ({error}): {asked.excerpt(data.encode())}", status=200
            ) from None
        if isinstance(event, dict):
            if event.get("error"):
                raise _streamed_error(event, asked)
            yield event


def _streamed_error(event: dict[str, Any], asked: Asked) -> Exception:
    found = event["error"]
    code = found.get("code") if isinstance(found, dict) else None
    kind = found.get("type") if isinstance(found, dict) else None
    status = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}.get(str(kind), 500)
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
        """The whole answer.

        Raises:
            ConnectionFailedError: the stream ended before the answer did.
        """
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
