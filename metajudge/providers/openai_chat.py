"""OpenAI's chat completions, and the many servers that speak the same protocol.

Request and answer follow the reference of ``POST /v1/chat/completions``. The length limit is sent as
``max_completion_tokens`` to OpenAI itself and as ``max_tokens``, which every compatible server knows,
elsewhere; a server that wants the other name says so and gets it.
"""

from dataclasses import replace
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
from metajudge.providers.model import ModelRequest
from metajudge.providers.negotiation import Dialect, OutputMode
from metajudge.types import Reply, Usage

THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thought")
"""Fields of a message in which servers send what the model thought."""


def request_body(model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request, in this dialect."""
    schema = request.schema
    system, messages = opening(request, dialect)
    if system:
        messages.insert(0, {"role": "system", "content": system})
    body: dict[str, Any] = {"model": model, "messages": messages}
    if schema is not None:
        if dialect.mode is OutputMode.JSON_SCHEMA:
            described = {"name": schema.name, "schema": schema_for(schema, dialect), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif dialect.mode is OutputMode.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
    p = request.parameters
    if p.max_tokens is not None:
        body[dialect.max_tokens_name] = room(p.max_tokens, dialect)
    optional = {"temperature": p.temperature, "top_p": p.top_p, "seed": p.seed, "reasoning_effort": p.effort}
    body.update({k: v for k, v in optional.items() if v is not None and k not in dialect.dropped})
    return body


def read_reply(content: bytes, asked: Asked, *, allow_empty: bool = False, structured: bool = False) -> Reply:
    """See :class:`~metajudge.providers.http_model.ReadReply`."""
    data = answer_data(content, asked)
    if not isinstance(data, dict):
        raise useless("with no JSON object", content, asked, None)
    if data.get("error") and not data.get("choices"):
        raise error_from_response(code_of(data["error"], 200), {}, content, asked)
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
    reply = Reply(text or "", finish, text_or(data.get("model"), asked.model), usage, read_cost(data.get("usage")))
    reply = ended(reply, first.get("finish_reason"), asked, error_words(first.get("error")))
    if not reply.text.strip() and finish != "refusal":
        thoughts = next((said for name in THOUGHTS if (said := _text(message.get(name)))), "")
        if structured and finish == "stop" and thoughts.strip().startswith(("{", "```")):
            return replace(reply, text=thoughts)
        if finish == "stop" and not allow_empty:
            where = f"; its thoughts have {len(thoughts):,} characters" if thoughts else ""
            raise useless(f"with an empty message{where}", content, asked, usage, again=not thoughts)
    return reply


def code_of(error: Any, otherwise: int) -> int:
    """The status that an error inside an answer names."""
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isdecimal() else code
    return code if isinstance(code, int) and 400 <= code < 600 else otherwise


def error_words(error: Any) -> str:
    """The message of an error inside a choice; empty where there is none."""
    found = error.get("message", error) if isinstance(error, dict) else error
    return "" if not found else str(found)


def read_usage(usage: Any) -> Usage | None:
    """Tokens as billed; ``prompt_tokens`` already includes the cached ones. None without a usable report.

    Where the total is more than input and output, the rest was billed as output: what xAI calls reasoning and Gemini
    thoughts stands beside ``completion_tokens`` there.
    """
    if not isinstance(usage, dict):
        return None
    prompt, output = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    output = max(output, (tokens(usage.get("total_tokens")) or 0) - prompt)
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = tokens(details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))) or 0
    written = tokens(details.get("cache_write_tokens")) or 0
    return Usage(prompt, min(cached, prompt), min(written, prompt), output)


def read_cost(usage: Any) -> float | None:
    """Dollars that the provider says it charged; None where it does not say."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < float("inf"):
        return None
    return float(cost)


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
    body=request_body,
    stream_options={"stream": True, "stream_options": {"include_usage": True}},
    dropped=lambda _request: (),
    read_reply=read_reply,
)
