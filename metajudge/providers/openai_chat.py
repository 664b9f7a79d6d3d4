"""OpenAI's chat completions, and the many servers that speak the same protocol.

Request and answer follow the reference of ``POST /v1/chat/completions``. The length limit is sent as
``max_completion_tokens`` to OpenAI itself and as ``max_tokens``, which every compatible server knows,
elsewhere; a server that wants the other name says so and gets it.
"""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson

from metajudge.errors import AuthError, BadReplyError, BadRequestError, NotFoundError
from metajudge.providers.client import Transport
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.logprobs import read_logprobs
from metajudge.providers.model import Endpoint, ModelRequest
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode, schema_instruction
from metajudge.providers.notices import Notices
from metajudge.types import FinishReason, Reply, TokenProbabilities, Usage, json_bytes

_PATH = "/chat/completions"
_NO_HEADERS: dict[str, str] = {}
_MODES = (OutputMode.JSON_SCHEMA, OutputMode.JSON_OBJECT, OutputMode.TEXT)
_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


def first_dialect(endpoint: Endpoint) -> Dialect:
    """What is tried first at an endpoint."""
    official = urlsplit(endpoint.base_url).hostname == "api.openai.com"
    return Dialect(max_tokens_name="max_completion_tokens" if official else "max_tokens")


def negotiation_for(model: str, endpoint: Endpoint, notices: Notices, grace_s: float) -> Negotiation:
    """A fresh negotiation with a model that speaks this protocol."""
    return Negotiation(model, first_dialect(endpoint), _MODES, notices, grace_s)


class OpenAIChatModel:
    """A model behind the chat completions protocol."""

    def __init__(self, name: str, client: Transport, negotiation: Negotiation) -> None:
        self._name = name
        self._client = client
        self._negotiation = negotiation
        self._asked = client.asked(name)

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
        structured = request.schema is not None
        negotiation = self._negotiation
        dialect = await negotiation.begin() if structured else negotiation.dialect
        accepted = False
        try:
            body = request_body(self._name, request, dialect)
            content = await self._client.post(_PATH, json_bytes(body), self._asked, request.parameters)
            accepted = True
        except (BadRequestError, AuthError) as error:  # some models answer 403 to a request for logprobs
            renegotiated = None
            if isinstance(error, BadRequestError) or request.logprobs:
                renegotiated = negotiation.rejected(dialect, body, error)
            if renegotiated is not None:
                raise renegotiated from None
            if isinstance(error, AuthError):
                negotiation.doom(error)
            raise
        except NotFoundError as error:
            negotiation.doom(error)
            raise
        finally:
            if structured:
                negotiation.end(accepted)
        reply = read_reply(content, self._asked)
        if not request.logprobs:
            return reply
        probabilities = _probabilities(content, reply, dialect)
        if probabilities.absent and reply.finish == "stop" and "logprobs" not in dialect.dropped:
            negotiation.note(f"logprobs were asked for, and {probabilities.absent}")
        return replace(reply, probabilities=probabilities)


def request_body(model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request, in this dialect."""
    schema = request.schema
    system = request.system
    if schema is not None and dialect.mode is not OutputMode.JSON_SCHEMA:
        system = f"{system}\n\n{schema_instruction(schema)}" if system else schema_instruction(schema)
    messages = [{"role": "system", "content": system}] if system else []
    messages.extend({"role": m.role, "content": m.text} for m in request.messages)
    body: dict[str, Any] = {"model": model, "messages": messages}
    if schema is not None:
        if dialect.mode is OutputMode.JSON_SCHEMA:
            described = {"name": schema.name, "schema": schema.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif dialect.mode is OutputMode.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
    p = request.parameters
    if p.max_tokens is not None:
        body[dialect.max_tokens_name] = p.max_tokens
    optional = {"temperature": p.temperature, "top_p": p.top_p, "seed": p.seed, "reasoning_effort": p.effort}
    body.update({k: v for k, v in optional.items() if v is not None and k not in dialect.dropped})
    if request.logprobs and "logprobs" not in dialect.dropped:
        body |= {"logprobs": True, "top_logprobs": dialect.top_logprobs}
    return body


def finish_of(reason: object) -> FinishReason:
    """Why an answer ended, in our words."""
    return _FINISH.get(str(reason), "other")


def read_reply(content: bytes, asked: Asked, *, allow_empty: bool = False) -> Reply:
    """Reads the body of a successful answer.

    Args:
        allow_empty: take an empty message as an answer.

    Raises:
        BadReplyError: no JSON, no choice, or a message without text.
        ProviderError: an error that a gateway wrapped into a success.
    """
    data = _object(content, asked)
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise _useless("without a message", data, content, asked)
    finish = finish_of(first.get("finish_reason"))
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text, finish = refusal, "refusal"
    if not text and finish in {"stop", "other"} and not allow_empty:
        raise _useless("with an empty message", data, content, asked)
    model = data.get("model")
    return Reply(text or "", finish, model if isinstance(model, str) else asked.model, read_usage(data.get("usage")))


def _useless(how: str, data: Any, content: bytes, asked: Asked) -> BadReplyError:
    """The error for an answer that is of no use, but may have been billed."""
    usage = read_usage(data.get("usage")) if isinstance(data, dict) else None
    return BadReplyError(f"{asked} answered {how}: {asked.excerpt(content)}", status=200, usage=usage)


def _probabilities(content: bytes, reply: Reply, dialect: Dialect) -> TokenProbabilities:
    """The token probabilities of an answer that could be read."""
    if "logprobs" in dialect.dropped:
        return TokenProbabilities(absent="the server does not support logprobs")
    return read_logprobs(orjson.loads(content)["choices"][0].get("logprobs"), reply.text)


def read_usage(usage: Any) -> Usage | None:
    """Tokens as reported; ``prompt_tokens`` already includes the cached ones. None without a usable report."""
    if not isinstance(usage, dict):
        return None
    prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(output, int):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    return Usage(prompt, cached if isinstance(cached, int) else 0, 0, output)


def _object(content: bytes, asked: Asked) -> dict[str, Any]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadReplyError(
            f"{asked} answered with broken JSON ({error}): {asked.excerpt(content)}", status=200
        ) from None
    if not isinstance(data, dict):
        raise BadReplyError(f"{asked} answered with no JSON object: {asked.excerpt(content)}", status=200)
    if data.get("error") and not data.get("choices"):
        code = data["error"].get("code") if isinstance(data["error"], dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 200
        raise error_from_response(status, _NO_HEADERS, content, asked)
    return data


def _text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(parts) if parts else None
    return None
