"""OpenAI's chat completions, and the many servers that speak the same protocol.

Request and answer follow the reference of ``POST /v1/chat/completions``. The length limit is sent as
``max_completion_tokens`` to OpenAI itself and as ``max_tokens``, which every compatible server knows,
elsewhere; a server that wants the other name says so and gets it.
"""

from typing import Any
from urllib.parse import urlsplit

from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.http_model import ChatProtocol, answer_data, instructed, text_or, useless
from metajudge.providers.model import Endpoint, ModelRequest
from metajudge.providers.negotiation import Dialect, OutputMode
from metajudge.types import FinishReason, Reply, Usage

_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


def first_dialect(endpoint: Endpoint) -> Dialect:
    """What is tried first at an endpoint."""
    official = urlsplit(endpoint.base_url).hostname == "api.openai.com"
    return Dialect(max_tokens_name="max_completion_tokens" if official else "max_tokens")


def request_body(model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request, in this dialect."""
    schema = request.schema
    system = instructed(request, dialect.mode is OutputMode.JSON_SCHEMA)
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
    return body


def finish_of(reason: object) -> FinishReason:
    """Why an answer ended, in our words."""
    return _FINISH.get(str(reason), "other")


def read_reply(content: bytes, asked: Asked, *, allow_empty: bool = False) -> Reply:
    """See :class:`~metajudge.providers.http_model.ReadReply`."""
    data = answer_data(content, asked)
    if not isinstance(data, dict):
        raise useless("with no JSON object", content, asked, None)
    if data.get("error") and not data.get("choices"):
        code = data["error"].get("code") if isinstance(data["error"], dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 200
        raise error_from_response(status, {}, content, asked)
    usage, choices = read_usage(data.get("usage")), data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise useless("without a message", content, asked, usage)
    finish = finish_of(first.get("finish_reason"))
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text, finish = refusal, "refusal"
    if not text and finish in {"stop", "other"} and not allow_empty:
        raise useless("with an empty message", content, asked, usage)
    return Reply(text or "", finish, text_or(data.get("model"), asked.model), usage)


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


def _text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(parts) if parts else None
    return None


PROTOCOL = ChatProtocol(
    path="/chat/completions",
    modes=(OutputMode.JSON_SCHEMA, OutputMode.JSON_OBJECT, OutputMode.TEXT),
    first_dialect=first_dialect,
    body=request_body,
    stream_options={"stream": True, "stream_options": {"include_usage": True}},
    dropped=lambda _request: (),
    read_reply=read_reply,
)
