"""Anthropic's messages.

Request and answer follow the reference of ``POST /v1/messages``: the system prompt is a block with
``cache_control``, structured output goes through ``output_config.format``, and there is no temperature,
top_p or seed (dropped, with a notice).
"""

from collections.abc import Iterator
from typing import Any

from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.http_model import (
    ChatProtocol,
    answer_data,
    ended,
    finish_of,
    opening,
    room,
    schema_for,
    text_or,
    tokens,
    useless,
)
from metajudge.providers.model import Effort, ModelRequest, Parameters
from metajudge.providers.negotiation import Dialect, OutputMode
from metajudge.types import Reply, Usage

ERRORS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}
"""The status that an error inside a success would have had."""

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


def dropped(request: ModelRequest) -> Iterator[tuple[str, str]]:
    """The settings that are not sent, because the protocol has none such."""
    parameters = request.parameters
    for name in _NOT_IN_PROTOCOL:
        if getattr(parameters, name) is not None:
            yield name, "Anthropic's messages have no such setting"
    if parameters.effort is not None and parameters.effort not in _EFFORTS:
        yield f"effort {parameters.effort!r}", f"Anthropic's messages know {', '.join(sorted(_EFFORTS))}"


def request_body(model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request, in this dialect."""
    schema = request.schema
    system, messages = opening(request, dialect)
    body: dict[str, Any] = {"model": model, "max_tokens": room(max_tokens_for(request.parameters), dialect)}
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    body["messages"] = messages
    config: dict[str, Any] = {}
    effort: Effort | None = request.parameters.effort
    if effort in _EFFORTS and "effort" not in dialect.dropped:
        config["effort"] = effort
    if schema is not None and dialect.mode is OutputMode.JSON_SCHEMA:
        config["format"] = {"type": "json_schema", "schema": schema_for(schema, dialect)}
    if config:
        body["output_config"] = config
    return body


def read_reply(content: bytes, asked: Asked, *, allow_empty: bool = False, structured: bool = False) -> Reply:
    """See :class:`~metajudge.providers.http_model.ReadReply`."""
    found = answer_data(content, asked)
    data: dict[str, Any] = found if isinstance(found, dict) else {}
    if data.get("type") == "error":
        error = data.get("error")
        status = ERRORS.get(str(error.get("type")), 200) if isinstance(error, dict) else 200
        raise error_from_response(status, {}, content, asked)
    usage, blocks = read_usage(data.get("usage")), data.get("content")
    if not isinstance(blocks, list):
        raise useless("without a message", content, asked, usage)
    finish = finish_of(data.get("stop_reason"))
    texts = [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
    reply = Reply("".join(texts), finish, text_or(data.get("model"), asked.model), usage)
    reply = ended(reply, data.get("stop_reason"), asked)
    if not any(texts) and finish == "stop" and not allow_empty:
        raise useless("with an empty message", content, asked, usage)
    return reply


def read_usage(usage: Any) -> Usage | None:
    """Tokens as reported; cached and cache-writing tokens, which are reported apart, are added to the input."""
    if not isinstance(usage, dict):
        return None
    fresh, output = tokens(usage.get("input_tokens")), tokens(usage.get("output_tokens"))
    if fresh is None or output is None:
        return None
    read, written = (tokens(usage.get(f"cache_{name}_input_tokens")) or 0 for name in ("read", "creation"))
    return Usage(fresh + read + written, read, written, output)


PROTOCOL = ChatProtocol(
    path="/v1/messages",
    modes=(OutputMode.JSON_SCHEMA, OutputMode.TEXT),
    body=request_body,
    stream_options={"stream": True},
    dropped=dropped,
    read_reply=read_reply,
)
