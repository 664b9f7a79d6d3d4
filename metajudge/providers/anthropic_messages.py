"""Anthropic's messages.

Request and answer follow the reference of ``POST /v1/messages``: the system prompt is a block with
``cache_control``, structured output goes through ``output_config.format``, and there is no temperature,
top_p or seed (dropped, and said).
"""

from dataclasses import replace
from typing import Any

import orjson

from metajudge.errors import AuthError, BadReplyError, BadRequestError, NotFoundError
from metajudge.providers.client import Transport
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import Effort, Endpoint, ModelRequest, Parameters
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode, schema_instruction
from metajudge.providers.notices import NO_LOGPROBS, Notices
from metajudge.types import FinishReason, Reply, TokenProbabilities, Usage, json_bytes

_PATH = "/v1/messages"
_MODES = (OutputMode.JSON_SCHEMA, OutputMode.TEXT)
_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
_NOT_IN_PROTOCOL = ("temperature", "top_p", "seed")

DEFAULT_MAX_TOKENS = 4096
"""Sent where none is given, because the protocol requires one; four times as much with an effort of
medium or more, since thinking counts towards it."""


def max_tokens_for(parameters: Parameters) -> int:
    """The limit that is sent."""
    if parameters.max_tokens is not None:
        return parameters.max_tokens
    return DEFAULT_MAX_TOKENS * (4 if parameters.effort in _EFFORTS - {"low"} else 1)


def negotiation_for(model: str, notices: Notices, grace_s: float) -> Negotiation:
    """A fresh negotiation with a model that speaks this protocol."""
    return Negotiation(model, Dialect(), _MODES, notices, grace_s)


class AnthropicMessagesModel:
    """A model behind the messages protocol."""

    def __init__(self, name: str, client: Transport, negotiation: Negotiation) -> None:
        self._name = name
        self._client = client
        self._negotiation = negotiation
        self._asked = client.asked(name)
        self._checked: Parameters | None = None

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
        self._say_dropped(request.parameters)
        if request.logprobs:
            self._negotiation.drop("logprobs", NO_LOGPROBS)
        structured = request.schema is not None
        negotiation = self._negotiation
        dialect = await negotiation.begin() if structured else negotiation.dialect
        accepted = False
        try:
            body = request_body(self._name, request, dialect)
            content = await self._client.post(_PATH, json_bytes(body), self._asked, request.parameters)
            accepted = True
        except BadRequestError as error:
            renegotiated = negotiation.rejected(dialect, body, error)
            if renegotiated is None:
                raise
            raise renegotiated from None
        except (AuthError, NotFoundError) as error:
            negotiation.doom(error)
            raise
        finally:
            if structured:
                negotiation.end(accepted)
        reply = read_reply(content, self._asked)
        return replace(reply, probabilities=TokenProbabilities(absent=NO_LOGPROBS)) if request.logprobs else reply

    def _say_dropped(self, parameters: Parameters) -> None:
        if parameters is self._checked:
            return
        self._checked = parameters
        say_dropped(parameters, self._negotiation)


def say_dropped(parameters: Parameters, negotiation: Negotiation) -> None:
    """Says which settings are not sent, because the protocol has none such."""
    for name in _NOT_IN_PROTOCOL:
        if getattr(parameters, name) is not None:
            negotiation.drop(name, "Anthropic's messages have no such setting")
    if parameters.effort is not None and parameters.effort not in _EFFORTS:
        negotiation.drop(f"effort {parameters.effort!r}", f"Anthropic's messages know {', '.join(sorted(_EFFORTS))}")


def request_body(model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request, in this dialect."""
    schema = request.schema
    system = request.system
    if schema is not None and dialect.mode is OutputMode.TEXT:
        system = f"{system}\n\n{schema_instruction(schema)}" if system else schema_instruction(schema)
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens_for(request.parameters)}
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    body["messages"] = [{"role": m.role, "content": m.text} for m in request.messages]
    config: dict[str, Any] = {}
    effort: Effort | None = request.parameters.effort
    if effort in _EFFORTS and "effort" not in dialect.dropped:
        config["effort"] = effort
    if schema is not None and dialect.mode is OutputMode.JSON_SCHEMA:
        config["format"] = {"type": "json_schema", "schema": schema.schema}
    if config:
        body["output_config"] = config
    return body


def finish_of(reason: object) -> FinishReason:
    """Why an answer ended, in our words."""
    return _FINISH.get(str(reason), "other")


def read_reply(content: bytes, asked: Asked, *, allow_empty: bool = False) -> Reply:
    """Reads the body of a successful answer.

    Args:
        allow_empty: take an empty message as an answer.

    Raises:
        BadReplyError: no JSON, or a message without text that was neither cut nor refused.
    """
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadReplyError(
            f"{asked} answered with broken JSON ({error}): {asked.excerpt(content)}", status=200
        ) from None
    if isinstance(data, dict) and data.get("type") == "error":
        raise error_from_response(_error_status(data.get("error")), {}, content, asked)
    blocks = data.get("content") if isinstance(data, dict) else None
    if not isinstance(blocks, list):
        raise _useless("without a message", data, content, asked)
    finish = finish_of(data.get("stop_reason"))
    texts = [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
    if not any(texts) and finish in {"stop", "other"} and not allow_empty:
        raise _useless("with an empty message", data, content, asked)
    model = data.get("model")
    reported = model if isinstance(model, str) else asked.model
    return Reply("".join(texts), finish, reported, read_usage(data.get("usage")))


def _useless(how: str, data: Any, content: bytes, asked: Asked) -> BadReplyError:
    """The error for an answer that is of no use, but may have been billed."""
    usage = read_usage(data.get("usage")) if isinstance(data, dict) else None
    return BadReplyError(f"{asked} answered {how}: {asked.excerpt(content)}", status=200, usage=usage)


def _error_status(error: Any) -> int:
    """The status that an error inside a success would have had."""
    kind = error.get("type") if isinstance(error, dict) else None
    return {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}.get(str(kind), 200)


def read_usage(usage: Any) -> Usage | None:
    """Tokens as reported; cached and cache-writing tokens, which are reported apart, are added to the input."""
    if not isinstance(usage, dict):
        return None
    fresh, output = usage.get("input_tokens"), usage.get("output_tokens")
    if not isinstance(fresh, int) or not isinstance(output, int):
        return None
    read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    return Usage(fresh + read + written, read, written, output)
