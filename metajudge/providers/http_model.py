"""A model asked over HTTP: what OpenAI's chat completions and Anthropic's messages have in common."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from metajudge.errors import BadReplyError, BadRequestError, ContextTooLongError, NotFoundError, ServerError
from metajudge.providers.client import EndpointClient, Post
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Endpoint, ModelRequest, OutputSchema
from metajudge.providers.negotiation import SYSTEM, Dialect, Negotiation, OutputMode, schema_instruction
from metajudge.providers.notices import Notices
from metajudge.providers.read_whole import ReadWhole
from metajudge.types import FinishReason, Reply, Usage, json_bytes

_FINISH: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "completed", "complete"), "stop"),
    **dict.fromkeys(("done", "finished", "stop_token", "normal", "finish"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "token_limit", "model_length"), "length"),
    **dict.fromkeys(("max_tokens_reached", "model_context_window_exceeded", "context_length"), "length"),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "sensitive", "recitation", "prohibited_content"), "refusal"
    ),
    **dict.fromkeys(("blocklist", "spii", "guardrail_intervened", "content_filtered", "blocked"), "refusal"),
}
"""Why an answer ended, by the words of servers; every other word ends no answer."""


def finish_of(reason: object) -> FinishReason:
    """Why an answer ended, in our words; ``other`` where it is no word for a complete, cut or refused answer."""
    return _FINISH.get(str(reason).lower(), "other")


def ended(reply: Reply, reason: object, asked: Asked, said: str = "") -> Reply:
    """A reply that ended; what ends in an error, or without a word, is none.

    Args:
        said: the server's own words about it.

    Raises:
        BadReplyError: it ended for another reason than being complete, cut or refused.
    """
    if reply.finish != "other":
        return reply
    how = "without saying why" if reason is None else f"with {str(reason)!r}"
    detail = f": {asked.excerpt(said)}" if said else ""
    raise BadReplyError(
        f"the answer of {asked} ended {how}, so it is not complete{detail}", status=200, usage=reply.usage
    )


def tokens(value: object) -> int | None:
    """A count of tokens as reported, whole numbers in other forms included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return None
    return int(value)


class ReadReply(Protocol):
    """Reads the body of a successful answer.

    Args:
        allow_empty: take an empty message as an answer.
        structured: an object was asked for: take one that stands in the field of the model's thoughts.

    Raises:
        BadReplyError: no JSON, or a message without text that was neither cut nor refused.
        ProviderError: an error that a gateway wrapped into a success.
    """

    def __call__(
        self, content: bytes, asked: Asked, *, allow_empty: bool = False, structured: bool = False
    ) -> Reply: ...


@dataclass(frozen=True, slots=True)
class ChatProtocol:
    """How a model is asked and answers.

    Attributes:
        modes: how structured output is asked for, best first.
        body: the JSON body of a request to a model.
        stream_options: what a body has besides to be answered as a stream.
        dropped: what the protocol has no word for in a request, each with the reason.
    """

    path: str
    modes: tuple[OutputMode, ...]
    body: Callable[[str, ModelRequest, Dialect], dict[str, Any]]
    stream_options: dict[str, Any]
    dropped: Callable[[ModelRequest], Iterable[tuple[str, str]]]
    read_reply: ReadReply

    def negotiation(self, model: str, endpoint: Endpoint, max_tokens_name: str, notices: Notices) -> Negotiation:
        """A fresh negotiation with a model that speaks this protocol."""
        versioned = endpoint.base_url.endswith("/v1")
        return Negotiation(model, Dialect(max_tokens_name=max_tokens_name), self.modes, notices, versioned=versioned)


class HttpModel:
    """A model behind a protocol; ``post`` carries its requests in place of the client."""

    def __init__(
        self,
        name: str,
        client: EndpointClient,
        negotiation: Negotiation,
        protocol: ChatProtocol,
        post: Post | None = None,
    ) -> None:
        self.name = name
        self.endpoint = client.endpoint
        self._client = client
        self._post = post or client.post
        self._negotiation = negotiation
        self._protocol = protocol
        self._asked = client.asked(name)
        self._checked: object = None
        self._read_whole = ReadWhole()

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        negotiation, protocol = self._negotiation, self._protocol
        if self._checked is not request.parameters:
            self._checked = request.parameters
            for name, reason in protocol.dropped(request):
                negotiation.drop(name, reason)
        structured = request.schema is not None
        dialect = negotiation.begin()
        body = protocol.body(self.name, request, dialect) | request.parameters.extra
        try:
            reply = await self._answered(body, request, dialect)
        except (BadRequestError, NotFoundError, ServerError, ContextTooLongError) as error:
            raise (negotiation.rejected(dialect, body, error) or error) from None
        negotiation.accepted(dialect, structured=structured)
        negotiation.answered_by(reply.model)
        if reply.usage is not None:
            self._read_whole.check(request, reply.usage, self._asked)
        return reply

    async def _answered(self, body: dict[str, Any], request: ModelRequest, dialect: Dialect) -> Reply:
        protocol, structured = self._protocol, request.schema is not None
        if dialect.stream:
            from metajudge.providers.streaming import streamed  # few servers answer by streams alone

            return await streamed(self._client, protocol, body, self._asked, request, structured=structured)
        path = f"..{protocol.path}" if dialect.bare else protocol.path
        content = await self._post(path, json_bytes(body), self._asked, request.parameters)
        return protocol.read_reply(content, self._asked, structured=structured)


def instructed(request: ModelRequest, enforced: bool) -> str:
    """A request's system prompt; with the schema where the server does not enforce it."""
    if request.schema is None or enforced:
        return request.system
    return "\n\n".join(filter(None, (request.system, schema_instruction(request.schema))))


def opening(request: ModelRequest, dialect: Dialect) -> tuple[str, list[dict[str, Any]]]:
    """The system prompt and the messages; where a server takes no system prompt, it opens the first message."""
    system = instructed(request, dialect.mode is OutputMode.JSON_SCHEMA)
    messages = [{"role": m.role, "content": m.text} for m in request.messages]
    if system and SYSTEM in dialect.dropped:
        messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        system = ""
    return system, messages


def schema_for(schema: OutputSchema, dialect: Dialect) -> Any:
    """The schema as a server takes it."""
    return _with_string_enums(schema.schema) if dialect.string_enums else schema.schema


def _with_string_enums(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        if "enum" in schema and not all(isinstance(one, str) for one in schema["enum"]):
            return {**schema, "type": "string", "enum": [f"{one:g}" for one in schema["enum"]]}
        return {name: _with_string_enums(part) for name, part in schema.items()}
    return [_with_string_enums(part) for part in schema] if isinstance(schema, list) else schema


def room(limit: int | None, dialect: Dialect) -> int | None:
    """The limit of output tokens, within what the server allows."""
    return limit if limit is None or dialect.limit is None else min(limit, dialect.limit)


def answer_data(content: bytes, asked: Asked) -> Any:
    """An answer as data.

    Raises:
        BadReplyError: it is no JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        message = f"{asked} answered with broken JSON ({error}): {asked.excerpt(content)}"
        raise BadReplyError(message, status=200) from None


def useless(how: str, content: bytes, asked: Asked, usage: Usage | None, *, again: bool = True) -> BadReplyError:
    """The error for an unusable answer that may have been billed; ``again``: another try may give another one."""
    error = BadReplyError(f"{asked} answered {how}: {asked.excerpt(content)}", status=200, usage=usage)
    error.retryable = again
    return error


def text_or(value: object, other: str) -> str:
    """A text as reported, or a default if missing."""
    return value if isinstance(value, str) else other
