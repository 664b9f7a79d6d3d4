"""What is spoken to models: OpenAI's chat completions, with the many servers that know them, and Anthropic's messages.

Requests and answers follow the references of ``POST /v1/chat/completions`` and ``POST /v1/messages``. Of the first, the
length limit is sent as ``max_completion_tokens`` to OpenAI itself and as ``max_tokens`` elsewhere; a server that wants
the other name says so and gets it. Of the second, the system prompt is a block with ``cache_control``, structured
output goes through ``output_config.format``, and there is no temperature, top_p or seed (dropped, with a notice).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from metajudge.errors import BadReplyError
from metajudge.providers.http_errors import Asked, error_from_response, says
from metajudge.providers.model import ModelRequest, OutputSchema, Parameters
from metajudge.providers.negotiation import SYSTEM, THINKING, Dialect, OutputMode
from metajudge.types import FinishReason, Reply, Usage, json_bytes

_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thought")
"""Fields of a message in which servers send what the model thought."""
ERROR_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Types of errors, as Anthropic names them, and the status that goes with each."""
_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
_PLATFORM_VERSION = "2026-10-21"
"""Of Anthropic's messages on Bedrock and Vertex AI, as the SDK sends it."""
_DEFAULT_MAX_TOKENS = 4096
"""Sent to Anthropic where none is given, because the protocol requires one; four times as much with an effort of
medium or more, since thinking counts towards it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer's message says, and the words for why it ended; ``detail`` is the server's own about that."""

    text: str
    reason: object
    refused: bool = False
    thoughts: str = ""
    detail: object = None


class ChatProtocol(ABC):
    """How a model is asked and answers.

    Attributes:
        modes: how structured output is asked for, best first.
        stream_options: what a body has besides to be answered as a stream; empty where none is read.
    """

    modes: ClassVar[tuple[OutputMode, ...]]
    stream_options: ClassVar[dict[str, Any]] = {"stream": True}

    @abstractmethod
    def path(self, model: str, *, stream: bool) -> str:
        """The path of the call, behind the base URL."""

    @abstractmethod
    def body(self, model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
        """The JSON body of a request, in this dialect."""

    def dropped(self, request: ModelRequest, dialect: Dialect) -> Iterator[tuple[str, str]]:
        """What the protocol has no word for in a request, each with the reason."""
        return iter(())

    def limit(self, parameters: Parameters) -> int | None:
        """The limit of output tokens that is sent; None for none."""
        return parameters.max_tokens

    @abstractmethod
    def usage(self, found: Mapping[str, Any]) -> Usage | None:
        """Tokens as billed; None without a usable report."""

    @abstractmethod
    def said(self, answer: Mapping[str, Any]) -> Said | None:
        """What an answer's message says; None where it has none."""

    @abstractmethod
    def failed(self, answer: Mapping[str, Any]) -> bool:
        """Whether an answer is an error that a gateway wrapped into a success."""

    @abstractmethod
    def gather(self, answer: dict[str, Any], event: dict[str, Any]) -> str:
        """Adds an event of a stream to the answer as it would be in one piece; returns the text that it brought."""

    def read_reply(self, content: bytes, asked: Asked, *, allow_empty: bool = False, structured: bool = False) -> Reply:
        """Reads the body of a successful answer.

        Args:
            allow_empty: take an empty message as an answer.
            structured: an object was asked for: take one that stands in the field of the model's thoughts.

        Raises:
            BadReplyError: no JSON, or a message that is not complete, or one without text that was not refused.
            ProviderError: an error that a gateway wrapped into a success.
        """
        try:
            data = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            message = f"{asked} answered with broken JSON ({error}): {asked.excerpt(content)}"
            raise BadReplyError(message, status=200) from None
        if not isinstance(data, dict):
            raise _useless("with no JSON object", content, asked, None)
        if self.failed(data):
            raise error_from_response(status_of(data.get("error"), 200), {}, content, asked)
        found = data.get("usage")
        usage, cost = (self.usage(found), read_cost(found)) if isinstance(found, dict) else (None, None)
        said = self.said(data)
        if said is None:
            raise _useless("without a message", content, asked, usage)
        finish = "refusal" if said.refused else finish_of(said.reason)
        if finish == "other":
            how = "without saying why" if said.reason is None else f"with {str(said.reason)!r}"
            detail = f": {asked.excerpt(str(said.detail))}" if said.detail else ""
            message = f"the answer of {asked} ended {how}, so it is not complete{detail}"
            raise BadReplyError(message, status=200, usage=usage)
        model = data["model"] if isinstance(data.get("model"), str) else asked.model
        reply = Reply(said.text, finish, model, usage, cost)
        if said.text.strip() or finish != "stop":
            return reply
        if structured and said.thoughts.strip().startswith(("{", "```")):
            return replace(reply, text=said.thoughts)
        if allow_empty:
            return reply
        where = f"; its thoughts have {len(said.thoughts):,} characters" if said.thoughts else ""
        raise _useless(f"with an empty message{where}", content, asked, usage, again=not said.thoughts)


class OpenAIChat(ChatProtocol):
    """OpenAI's chat completions."""

    modes = (OutputMode.JSON_SCHEMA, OutputMode.JSON_OBJECT, OutputMode.TEXT)
    stream_options: ClassVar = {"stream": True, "stream_options": {"include_usage": True}}

    def path(self, model: str, *, stream: bool) -> str:
        return "/chat/completions"

    def body(self, model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
        schema = request.schema
        system, messages = _opening(request, dialect)
        if system:
            messages.insert(0, {"role": "system", "content": system})
        body: dict[str, Any] = {"model": model, "messages": messages}
        if schema is not None:
            if dialect.mode is OutputMode.JSON_SCHEMA:
                described = {"name": schema.name, "schema": _schema_for(schema, dialect), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": described}
            elif dialect.mode is OutputMode.JSON_OBJECT:
                body["response_format"] = {"type": "json_object"}
        p = request.parameters
        if (limit := self.limit(p)) is not None:
            body[dialect.max_tokens_name] = _room(limit, dialect)
        optional = {"temperature": p.temperature, "top_p": p.top_p, "seed": p.seed, "reasoning_effort": p.effort}
        body.update({k: v for k, v in optional.items() if v is not None and k not in dialect.dropped})
        if p.thinking_budget and dialect.thinking and THINKING not in dialect.dropped:
            *path, last = dialect.thinking.split(".")
            inner = body
            for name in path:
                inner = inner.setdefault(name, {})
            inner[last] = p.thinking_budget
        return body

    def dropped(self, request: ModelRequest, dialect: Dialect) -> Iterator[tuple[str, str]]:
        """The protocol has no word for tokens of thoughts; some providers' profiles do."""
        if request.parameters.thinking_budget and not dialect.thinking:
            yield THINKING, "the provider has no such setting; effort may do"

    def usage(self, found: Mapping[str, Any]) -> Usage | None:
        """``prompt_tokens`` already includes the cached ones.

        Where the total is more than input and output, the rest was billed as output: what xAI calls reasoning and
        Gemini thoughts stands beside ``completion_tokens`` there.
        """
        prompt, output = _tokens(found.get("prompt_tokens")), _tokens(found.get("completion_tokens"))
        if prompt is None or output is None:
            return None
        output = max(output, (_tokens(found.get("total_tokens")) or 0) - prompt)
        details = _dict(found.get("prompt_tokens_details"))
        kept = (details.get("cached_tokens"), found.get("prompt_cache_hit_tokens"), found.get("cached_tokens"))
        cached = next((count for one in kept if (count := _tokens(one)) is not None), 0)
        written = _tokens(details.get("cache_write_tokens")) or 0
        return Usage(prompt, min(cached, prompt), min(written, prompt), output)

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        choice = _first(answer)
        message = choice.get("message")
        if not isinstance(message, dict):
            return None
        refusal, error = message.get("refusal"), choice.get("error")
        refused = isinstance(refusal, str) and bool(refusal)
        text = refusal if isinstance(refusal, str) and refusal else _text(message.get("content"))
        thoughts = next((said for name in _THOUGHTS if (said := _text(message.get(name)))), "")
        detail = error.get("message", error) if isinstance(error, dict) else error
        return Said(text, choice.get("finish_reason"), refused, thoughts, detail)

    def failed(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer.get("error") and not answer.get("choices"))

    def gather(self, answer: dict[str, Any], event: dict[str, Any]) -> str:
        """Chunks; the last one carries the usage."""
        choice = answer.setdefault("choices", [{"finish_reason": None, "message": {"content": ""}}])[0]
        if isinstance(event.get("model"), str):
            answer["model"] = event["model"]
        answer["usage"] = answer.get("usage", {}) | _dict(event.get("usage"))
        chunk, message = _first(event), choice["message"]
        delta, added = _dict(chunk.get("delta")), ""
        if isinstance(chunk.get("finish_reason"), str):
            choice["finish_reason"] = chunk["finish_reason"]
        for name in ("content", "refusal"):
            if isinstance(text := delta.get(name), str) and text:
                message[name], added = message.get(name, "") + text, added + text
        return added


class AnthropicMessages(ChatProtocol):
    """Anthropic's messages."""

    modes = (OutputMode.JSON_SCHEMA, OutputMode.TEXT)

    def path(self, model: str, *, stream: bool) -> str:
        return "/v1/messages"

    def body(self, model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
        schema, effort = request.schema, request.parameters.effort
        system, messages = _opening(request, dialect)
        body: dict[str, Any] = {"model": model, "max_tokens": _room(self.limit(request.parameters), dialect)}
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        body["messages"] = messages
        config: dict[str, Any] = {}
        if effort in _EFFORTS and "effort" not in dialect.dropped:
            config["effort"] = effort
        if schema is not None and dialect.mode is OutputMode.JSON_SCHEMA:
            config["format"] = {"type": "json_schema", "schema": _schema_for(schema, dialect)}
        if config:
            body["output_config"] = config
        if request.parameters.thinking_budget and THINKING not in dialect.dropped:
            body["thinking"] = {"type": "enabled", "budget_tokens": request.parameters.thinking_budget}
        return body

    def limit(self, parameters: Parameters) -> int:
        if parameters.max_tokens is not None:
            return parameters.max_tokens
        least = _DEFAULT_MAX_TOKENS * (4 if parameters.effort in _EFFORTS - {"low"} else 1)
        return least + (parameters.thinking_budget or 0)

    def dropped(self, request: ModelRequest, dialect: Dialect) -> Iterator[tuple[str, str]]:
        parameters = request.parameters
        for name in ("temperature", "top_p", "seed"):
            if getattr(parameters, name) is not None:
                yield name, "Anthropic's messages have no such setting"
        if parameters.effort is not None and parameters.effort not in _EFFORTS:
            yield f"effort {parameters.effort!r}", f"Anthropic's messages know {', '.join(sorted(_EFFORTS))}"

    def usage(self, found: Mapping[str, Any]) -> Usage | None:
        """Cached and cache-writing tokens, which are reported apart, are added to the input."""
        fresh, output = _tokens(found.get("input_tokens")), _tokens(found.get("output_tokens"))
        if fresh is None or output is None:
            return None
        read, written = (_tokens(found.get(f"cache_{name}_input_tokens")) or 0 for name in ("read", "creation"))
        return Usage(fresh + read + written, read, written, output)

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        blocks = answer.get("content")
        return Said(_text(blocks), answer.get("stop_reason")) if isinstance(blocks, list) else None

    def failed(self, answer: Mapping[str, Any]) -> bool:
        return answer.get("type") == "error"

    def gather(self, answer: dict[str, Any], event: dict[str, Any]) -> str:
        """Input tokens come first, output tokens at the end."""
        delta, text = _dict(event.get("delta")), ""
        match event.get("type"):
            case "message_start":
                answer |= {**_dict(event.get("message")), "content": [{"text": ""}]}
            case "content_block_delta" if isinstance(delta.get("text"), str):
                text = delta["text"]
                answer.setdefault("content", [{"text": ""}])[0]["text"] += text
            case "message_delta":
                answer["stop_reason"] = delta.get("stop_reason")
                answer["usage"] = _dict(answer.get("usage")) | _dict(event.get("usage"))
        return text


class BedrockMessages(AnthropicMessages):
    """Anthropic's messages on Amazon Bedrock; its streams, which are of another form, are not asked for."""

    stream_options: ClassVar = {}

    def path(self, model: str, *, stream: bool) -> str:
        return f"/model/{quote(model, safe=':;')}/invoke"

    def body(self, model: str, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
        body = super().body(model, request, dialect)
        del body["model"]
        return body | {"anthropic_version": _PLATFORM_VERSION}


class VertexMessages(BedrockMessages):
    """Anthropic's messages on Google's Vertex AI."""

    stream_options: ClassVar = {"stream": True}

    def path(self, model: str, *, stream: bool) -> str:
        return f"/publishers/anthropic/models/{quote(model, safe='@')}:{'streamRawPredict' if stream else 'rawPredict'}"


PROTOCOLS: dict[str, ChatProtocol] = {
    "openai": OpenAIChat(),
    "anthropic": AnthropicMessages(),
    "bedrock": BedrockMessages(),
    "vertex": VertexMessages(),
}
"""By the name that an :class:`~metajudge.providers.model.Endpoint` has for it."""


def finish_of(reason: object) -> FinishReason:
    """Why an answer ended, by the words of servers; ``other`` where that ends no answer."""
    known: tuple[FinishReason, ...] = ("stop", "length", "refusal")
    return next((one for one in known if says(f"ended_{one}", str(reason))), "other")


def status_of(error: Any, otherwise: int) -> int:
    """The status that an error inside an answer names."""
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isdecimal() else code
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return ERROR_STATUS.get(str(error.get("type")), otherwise) if isinstance(error, dict) else otherwise


def read_cost(usage: Mapping[str, Any]) -> float | None:
    """Dollars that the provider says it charged; None where it does not say."""
    cost = usage.get("cost")
    cost = cost.get("total_cost") if isinstance(cost, dict) else cost
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < float("inf"):
        return None
    return float(cost)


def _opening(request: ModelRequest, dialect: Dialect) -> tuple[str, list[dict[str, Any]]]:
    """The system prompt, with the schema where the server does not enforce it, and the messages.

    Where a server takes no system prompt, it opens the first message.
    """
    system = request.system
    if request.schema is not None and dialect.mode is not OutputMode.JSON_SCHEMA:
        wanted = "Answer with one JSON object and nothing else. It must be valid against this JSON Schema:"
        instruction = f"{wanted}\n{json_bytes(request.schema.schema).decode()}"
        system = "\n\n".join(filter(None, (system, instruction)))
    messages = [{"role": m.role, "content": m.text} for m in request.messages]
    if system and SYSTEM in dialect.dropped:
        messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        system = ""
    return system, messages


def _schema_for(schema: OutputSchema, dialect: Dialect) -> Any:
    """The schema as a server takes it."""
    return _with_string_enums(schema.schema) if dialect.string_enums else schema.schema


def _with_string_enums(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        if "enum" in schema and not all(isinstance(one, str) for one in schema["enum"]):
            return {**schema, "type": "string", "enum": [f"{one:g}" for one in schema["enum"]]}
        return {name: _with_string_enums(part) for name, part in schema.items()}
    return [_with_string_enums(part) for part in schema] if isinstance(schema, list) else schema


def _room(limit: int, dialect: Dialect) -> int:
    """The limit of output tokens, within what the server allows."""
    return limit if dialect.limit is None else min(limit, dialect.limit)


def _useless(how: str, content: bytes, asked: Asked, usage: Usage | None, *, again: bool = True) -> BadReplyError:
    """The error for an unusable answer that may have been billed; ``again``: another try may give another one."""
    error = BadReplyError(f"{asked} answered {how}: {asked.excerpt(content)}", status=200, usage=usage)
    error.retryable = again
    return error


def _dict(found: Any) -> dict[str, Any]:
    """What an object says that is not null; nothing where it is no object."""
    return {name: one for name, one in found.items() if one is not None} if isinstance(found, dict) else {}


def _first(answer: Mapping[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    return _dict(choices[0]) if isinstance(choices, list) and choices else {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str))
    return content if isinstance(content, str) else ""


def _tokens(value: object) -> int | None:
    """A count of tokens as reported, whole numbers in other forms included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return None
    return int(value)
